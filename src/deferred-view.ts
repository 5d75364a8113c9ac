/** With `deferTools`: what a model is shown instead of every definition, and what happens when it uses it. */
import {
  CALL_TOOL_NAME,
  deferredTools,
  readCallArguments,
  readSearchArguments,
  SEARCH_TOOLS_NAME,
  searchAnswer,
} from "./catalog/deferred-tools.js";
import { compileNames } from "./catalog/glob.js";
import type { ToolInfo } from "./catalog/tool-info.js";
import { ToolportError } from "./errors/toolport-error.js";
import type { CallToolOptions } from "./execution/tool-call.js";
import { type ToolResult, toToolResult } from "./execution/tool-result.js";
import type { Port } from "./port.js";

/** What a model can mend by itself. */
const SLIPS: readonly string[] = ["TOOL_NOT_FOUND", "TOOL_WITHHELD", "INVALID_ARGUMENTS"];

/** Whose tools they are, in place of a server. */
const OWN = "toolport";

export interface DeferredView {
  /** The two tools that stand for all others. */
  own(servers?: readonly string[]): ToolInfo[];
  /** Whether a tool is shown beside them. */
  isVisible(tool: ToolInfo): boolean;
  /** Answers a call of one of the two tools; undefined for any other. */
  call(
    name: string,
    args: Readonly<Record<string, unknown>>,
    options: CallToolOptions,
  ): Promise<ToolResult | undefined>;
}

/** Undefined when every tool is shown. */
export function createDeferredView(port: Port): DeferredView | undefined {
  const { deferTools } = port.parts.settings;
  if (deferTools === undefined || deferTools === false) return undefined;
  const visible = compileNames(deferTools === true ? [] : (deferTools.alwaysVisible ?? []));
  const { catalog } = port;
  const answer = (text: string, isError = false) =>
    toToolResult({ content: [{ type: "text", text }], isError }, OWN);
  return {
    own: (servers = port.pool.names) =>
      deferredTools(servers).map((tool) => Object.freeze({ ...tool, server: OWN, sourceName: tool.name })),
    isVisible: (tool) => visible(tool.name) || visible(tool.sourceName),
    async call(name, args, options) {
      if (name === SEARCH_TOOLS_NAME) {
        await port.bringUp(port.pool.all(), options);
        const { query, limit } = readSearchArguments(args);
        return answer(searchAnswer(catalog.search(query, limit)));
      }
      if (name !== CALL_TOOL_NAME) return undefined;
      const call = readCallArguments(args);
      // A model's slip is told to the model, not thrown at the program.
      if ("problem" in call) return answer(call.problem, true);
      try {
        return await port.callTool(call.name, call.args, options);
      } catch (error) {
        if (!ToolportError.isInstance(error) || !SLIPS.includes(error.code)) throw error;
        return answer(error.message, true);
      }
    },
  };
}
