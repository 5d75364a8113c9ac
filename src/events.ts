/** What a port tells those who listen. */
import type { ChangedTool } from "./catalog/pins.js";
import type { StateChange } from "./connection/connection-state.js";

/** Events of {@link Toolport.on}, by name. */
export interface ToolportEvents {
  /** A server moved from one state to another. */
  state: StateChange;
  /** The lists of a server were read, changed or removed. */
  tools: { readonly server: string; readonly principal?: string | undefined };
  /** The definition of a tool is not the one that was pinned. */
  toolChanged: ChangedTool & { readonly principal?: string | undefined };
  /** Something a person should know: a withheld tool, a list that was cut, a listener that threw. */
  warning: { readonly server?: string | undefined; readonly message: string };
}
