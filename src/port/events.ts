/** What a port tells those who listen. */
import type { ChangedTool } from "../catalog/safety/pins.js";
import type { StateChange } from "../connection/connection-state.js";
import type { CallNews } from "../execution/listeners.js";
import type { ListName } from "../protocol/change-watch.js";

/** A notification of a server's, as it came. Its data come from outside: use them with care. */
export interface ServerNotification {
  readonly server: string;
  /** E.g. `notifications/resources/updated`. */
  readonly method: string;
  readonly params: Readonly<Record<string, unknown>>;
  readonly principal?: string | undefined;
}

/** Events of {@link Toolport.on}, by name. */
export interface ToolportEvents {
  /** A server moved from one state to another. */
  state: StateChange;
  /** The lists of a server were read, changed or removed. */
  tools: { readonly server: string; readonly principal?: string | undefined };
  /** A server said that lists of its changed, and they have been read again. */
  listsChanged: {
    readonly server: string;
    readonly lists: readonly ListName[];
    readonly principal?: string | undefined;
  };
  /** The definition of a tool is not the one that was pinned. */
  toolChanged: ChangedTool & { readonly principal?: string | undefined };
  /** A server told something by itself: a log message, a changed list, a changed resource. Progress is not among it. */
  notification: ServerNotification;
  /**
   * A tool call, prompt, resource access or completion begins or ends; of everybody's. Arguments and results are in it as
   * they are, secrets too.
   */
  call: CallNews;
  /** Something a person should know: a withheld tool, a list that was cut, a listener that threw. */
  warning: {
    readonly server?: string | undefined;
    readonly message: string;
    /**
     * What kind of warning it is, where programs may want to know: `SCHEMA_CONTRADICTS`, once a tool; `BAD_RESPONSE`, the server wrote
     * something that is not a message (a banner on stdout), once a server.
     */
    readonly code?: "SCHEMA_CONTRADICTS" | "BAD_RESPONSE" | undefined;
    /** The tool's name on its server, if it is about one. */
    readonly tool?: string | undefined;
  };
}
