/** With `deferTools`: the two tools that a model is shown instead of every definition. */

import { compileNames } from "../../catalog/filters/glob.js";
import {
  CALL_TOOL_NAME,
  deferredTools,
  readCallArguments,
  readSearchArguments,
  SEARCH_TOOLS_NAME,
  searchAnswer,
} from "../../catalog/search/deferred-tools.js";
import type { ToolInfo } from "../../model/tool-info.js";
import { isForModel } from "../../model/tool-ui.js";
import type { Port } from "../port.js";
import { type OwnTool, textResult } from "./own-tools.js";

export interface DeferredView {
  /** The two tools that stand for all others. */
  tools(servers?: readonly string[]): OwnTool[];
  /** Whether a tool is shown beside them. */
  isVisible(tool: ToolInfo): boolean;
}

/** Undefined when every tool is shown. */
export function createDeferredView(port: Port): DeferredView | undefined {
  const { deferTools } = port.parts.settings;
  if (deferTools === undefined || deferTools === false) return undefined;
  const visible = compileNames(deferTools === true ? [] : (deferTools.alwaysVisible ?? []));
  const calls: Record<string, OwnTool["call"]> = {
    [SEARCH_TOOLS_NAME]: async (args, options) => {
      await port.bringUp(port.pool.all(), options);
      const { query, limit } = readSearchArguments(args);
      return searchAnswer(port.catalog.search(query, limit));
    },
    [CALL_TOOL_NAME]: async (args, options) => {
      const call = readCallArguments(args);
      if ("problem" in call) return textResult(call.problem, true);
      const found = port.catalog.entry(call.name)?.info;
      if (found !== undefined && !isForModel(found))
        return textResult(`There is no tool named ${JSON.stringify(call.name)}`, true);
      return port.callTool(call.name, call.args, options);
    },
  };
  return {
    tools: (servers = port.pool.names) =>
      deferredTools(servers).map((tool) => ({ ...tool, call: calls[tool.name]! })),
    isVisible: (tool) => visible(tool.name) || visible(tool.sourceName),
  };
}
