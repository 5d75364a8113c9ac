/** A tool as users and models see it. */
import type { ListedTool } from "./listed-tool.js";
import type { ToolUi } from "./tool-ui.js";

/** One tool of one server. */
export interface ToolInfo extends Omit<ListedTool, "name"> {
  /** The name to give to a model and to `callTool`: valid for every provider and unlike any other. */
  readonly name: string;
  /** The server it belongs to, as configured. */
  readonly server: string;
  /** Its name on that server. */
  readonly sourceName: string;
  /**
   * The fallback server whose definition this is, because `server` could not be reached since the port was created.
   * @default undefined: the definition is the server's own
   */
  readonly definedBy?: string | undefined;
  /** The tool has a user interface that a host can render (MCP Apps). Read from `_meta`, which is there as it came. */
  readonly ui?: ToolUi | undefined;
}

/** A tool that was listed but cannot be offered, and why. */
export interface WithheldTool {
  readonly server: string;
  /** Its name, or what stood in its place. */
  readonly name: string;
  readonly reason: string;
  /** Pins or the scan refuse it; its definition could be offered. */
  readonly isRefused?: true;
}
