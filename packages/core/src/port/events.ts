/** The events of a port. */
import type { ChangedTool } from "../catalog/safety/pins.js";
import type { StateChange } from "../connection/connection-state.js";
import type { CallNews, CallProgressNews } from "../execution/listeners.js";
import type { ListName } from "../protocol/change-watch.js";

/** A notification as the server sent it. Its data are not checked. */
export interface ServerNotification {
  readonly server: string;
  /** E.g. `notifications/resources/updated`. */
  readonly method: string;
  readonly params: Readonly<Record<string, unknown>>;
  readonly principal?: string | undefined;
}

/** A call was suspended, resumed or discarded. Contains no token. */
export interface SuspensionNews {
  readonly phase: "suspended" | "resumed" | "discarded";
  readonly server: string;
  /** Public name of the tool. */
  readonly tool: string;
  /** What the call waits or waited for. */
  readonly reason: "input" | "approval" | "login";
  readonly principal?: string | undefined;
  /** Who answered; `answeredBy` of `resume()`. */
  readonly answeredBy?: string | undefined;
}

/** A message between Toolport and a server, as it is sent. */
export interface ServerMessage {
  readonly server: string;
  readonly direction: "sent" | "received";
  /** The JSON-RPC message, secrets included. It must not be changed. */
  readonly message: unknown;
  /** Removes the configured secrets of the server from a text. */
  readonly redact: (text: string) => string;
  readonly principal?: string | undefined;
}

/**
 * A request of a login, a refresh or a logout, with secrets redacted: the one that the MCP server rejected, or one to an authorization
 * server.
 */
export interface AuthRequest {
  readonly server: string;
  /** What the request is for, such as `Client registration`. */
  readonly step: string;
  readonly method: string;
  /** Without secrets in the query. */
  readonly url: string;
  /** Form fields or JSON of the request. */
  readonly body?: Readonly<Record<string, unknown>> | undefined;
  /** HTTP status; undefined if no response arrived. */
  readonly status?: number | undefined;
  /** The JSON of the response, if it is an object; with the step `Challenge of the server`, the field `www-authenticate`. */
  readonly response?: Readonly<Record<string, unknown>> | undefined;
  readonly durationMs: number;
  readonly principal?: string | undefined;
}

/** Events of {@link Toolport.on}, by name. */
export interface ToolportEvents {
  /** The state of a connection changed. */
  state: StateChange;
  /** The lists of a server were read, changed or removed. */
  tools: { readonly server: string; readonly principal?: string | undefined };
  /**
   * A server notified Toolport of changed lists, and they have been read again; or lists were read again because a change may
   * have been missed, and they differ; or changed tools were approved.
   */
  listsChanged: {
    readonly server: string;
    readonly lists: readonly ListName[];
    readonly principal?: string | undefined;
  };
  /** The definition of a tool differs from the pinned one. */
  toolChanged: ChangedTool & { readonly principal?: string | undefined };
  /** A server sent a notification: a log message, a changed list, a changed resource. Progress is not included. */
  notification: ServerNotification;
  /**
   * A tool call, prompt, resource access or completion of any user starts or ends. Arguments and results are included
   * unchanged, secrets too.
   */
  call: CallNews;
  /** A tool call of any user reports progress. Messages are included unchanged. Only while there is a listener. */
  progress: CallProgressNews;
  /**
   * A message was sent to a server or received from it. Only while there is a listener are messages passed on; calls are slower
   * then.
   */
  message: ServerMessage;
  /** A server process wrote a line to stderr. Configured secrets of the server are redacted. */
  stderr: { readonly server: string; readonly line: string; readonly principal?: string | undefined };
  /** Toolport sent a request to an authorization server, or the MCP server demanded a login. */
  authRequest: AuthRequest;
  /** A call waits for a person, continues, or was discarded. */
  suspension: SuspensionNews;
  /** A problem that people should know about: a withheld tool, a truncated list, a listener that threw. */
  warning: {
    readonly server?: string | undefined;
    readonly message: string;
    /**
     * Set for two kinds of warnings: `SCHEMA_CONTRADICTS`, once for each tool whose schema contradicts itself or cannot be checked in full; `BAD_RESPONSE`, once for each server that
     * writes something other than messages (a banner on stdout).
     */
    readonly code?: "SCHEMA_CONTRADICTS" | "BAD_RESPONSE" | undefined;
    /** Name of the tool on its server, if the warning concerns one. */
    readonly tool?: string | undefined;
  };
}
