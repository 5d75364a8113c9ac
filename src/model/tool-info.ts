/** A tool as users and models see it. */
import type { ListedTool } from "./listed-tool.js";
import type { ToolUi } from "./tool-ui.js";

/** One tool of one server. */
export interface ToolInfo extends Omit<ListedTool, "name"> {
  /** The unique name for models and for `callTool`; valid for every provider. */
  readonly name: string;
  /** Name of the server, as configured. */
  readonly server: string;
  /** Name of the tool on that server. */
  readonly sourceName: string;
  /**
   * The fallback server that this definition comes from, because `server` has been unreachable since the port was created.
   * @default undefined: the definition comes from `server`
   */
  readonly definedBy?: string | undefined;
  /** The user interface of the tool that a host can render (MCP Apps), read from `_meta`. */
  readonly ui?: ToolUi | undefined;
}

/** A listed tool that cannot be offered, and the reason. */
export interface WithheldTool {
  readonly server: string;
  /** Name of the tool, or what the server sent instead. */
  readonly name: string;
  readonly reason: string;
  /** Withheld by pins or the scan; the definition itself is valid. */
  readonly isRefused?: true;
}
