/** The functions `toModelOutput` of tools: what a model gets of their outputs. */

import { READ_ARTIFACT_NAME } from "../../execution/artifacts/artifact-store.js";
import { isSuspended, type Suspended } from "../../execution/suspend/suspension.js";
import type { ToolResult } from "../../execution/tool-result.js";
import { calledTool, createFitter } from "../for-model.js";
import { modelOutputOptions, toModelOutput, versionOf } from "./content.js";
import type { ToolSetParts } from "./execute-tool.js";
import { toSuspendedOutput } from "./suspended-output.js";

/** The argument of `toModelOutput` since version 6. */
interface OutputCall {
  readonly input?: unknown;
  readonly output: ToolResult | Suspended;
}

/**
 * Returns the function for each tool. The AI SDK converts every output again in every step, from copies: equal outputs give equal texts
 * and ids, so the conversation stays in the cache of the provider.
 */
export function createModelOutputs(
  { toolport, ai, options }: ToolSetParts,
  canRead: boolean,
): (tool: string) => (given: never) => unknown {
  const version = versionOf(ai);
  const format = modelOutputOptions(options, version);
  const fitter = createFitter(toolport, options.forModel, canRead);
  const create = (tool: string) => (given: never) => {
    // Version 5 passes the output itself, later versions wrap it.
    const { input, output } = (version === 5 ? { output: given } : given) as OutputCall;
    if (isSuspended(output)) return toSuspendedOutput(output);
    const facts = { tool: calledTool(tool, input), server: output.server, result: output };
    return toModelOutput(output, { ...format, fitParts: (parts) => fitter(parts, facts) });
  };
  const shared = create("");
  const hasLimits = options.forModel !== false && options.forModel?.tools !== undefined;
  // Shared by most tools: there may be thousands.
  return (tool) => (hasLimits || tool === READ_ARTIFACT_NAME ? create(tool) : shared);
}
