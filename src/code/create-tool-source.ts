/** The side of a code mode that models and adapters see: `search` and `execute` as tools that can be listed and called. */
import { compileFilter } from "../catalog/filters/filters.js";
import { readSearchArguments } from "../catalog/search/deferred-tools.js";
import { CatalogError } from "../errors/catalog-error.js";
import { READ_ARTIFACT_NAME } from "../execution/artifacts/artifact-store.js";
import { isSuspended, type Suspended } from "../execution/suspend/suspension.js";
import type { CallToolOptions, SuspendCallOptions } from "../execution/tool-call.js";
import type { ToolResult } from "../execution/tool-result.js";
import type { ToolInfo } from "../model/tool-info.js";
import { textResult } from "../port/own-tools/own-tools.js";
import type { Toolport, ToolsOptions } from "../toolport.js";
import type { CodeMode, CodeOutcome, ExecuteOptions } from "./code-mode.js";
import {
  type Discovery,
  describeTools,
  EXECUTE_NAME,
  modelTools,
  readProgram,
  SEARCH_NAME,
  type ToldLimits,
  toModelResult,
} from "./model-tools.js";
import type { ProgramApi } from "./program-api.js";

export interface ToolSourceParts extends Pick<CodeMode, "execute" | "resume">, Discovery {
  readonly toolport: Pick<Toolport, "searchTools" | "callTool">;
  readonly limits: ToldLimits;
  /** The tools that programs may call now. */
  openApi(options: Pick<ToolsOptions, "signal" | "timeoutMs">): Promise<ProgramApi>;
}

type Arguments = Readonly<Record<string, unknown>>;

/** Default number of matches of `describe()`. */
const DEFAULT_LIMIT = 5;

export function createToolSource(
  parts: ToolSourceParts,
): Pick<CodeMode, "tools" | "describe" | "callTool" | "resumeTool"> {
  const { toolport, openApi } = parts;

  async function tools(options: ToolsOptions = {}): Promise<ToolInfo[]> {
    const { servers, only, except, filter, deferred, signal, timeoutMs } = options;
    // Nothing is deferred here, and the two tools belong to no server.
    if (deferred === true || servers !== undefined) return [];
    const wait = { ...(signal && { signal }), ...(timeoutMs !== undefined && { timeoutMs }) };
    const isWanted = compileFilter({ only, except, filter });
    return modelTools(await openApi(wait), parts).filter(
      (tool) => isWanted({ name: tool.server }, tool) === undefined,
    );
  }

  async function describe(
    query: string,
    { limit = DEFAULT_LIMIT, signal }: { limit?: number | undefined; signal?: AbortSignal | undefined } = {},
  ): Promise<string> {
    const wait = signal ? { signal } : {};
    return describeTools(await openApi(wait), toolport, { query, limit, ...wait });
  }

  async function callTool(
    name: string,
    args: Arguments = {},
    options: CallToolOptions | SuspendCallOptions = {},
  ): Promise<ToolResult | Suspended> {
    const startedAt = performance.now();
    if (name === READ_ARTIFACT_NAME) return toolport.callTool(name, args, { ...options, suspend: false });
    const timed = (result: ToolResult) => ({ ...result, durationMs: performance.now() - startedAt });
    if (name === SEARCH_NAME)
      return timed(textResult(await describe(...searchArguments(args, options.signal))));
    if (name !== EXECUTE_NAME) throw unknownTool(name);
    const program = readProgram(args);
    if (program === undefined)
      return timed(textResult("code is missing: it must be the text of a program.", true));
    const outcome = await parts.execute(program, executeOptions(options));
    return isSuspended(outcome) ? outcome : timed(toModelResult(outcome));
  }

  return {
    tools,
    describe,
    callTool: callTool as CodeMode["callTool"],
    async resumeTool(...given) {
      const outcome: CodeOutcome = await parts.resume(...given);
      return isSuspended(outcome) ? outcome : toModelResult(outcome);
    },
  };
}

function searchArguments(
  args: Arguments,
  signal: AbortSignal | undefined,
): [query: string, options: { limit: number; signal?: AbortSignal }] {
  const { query, limit } = readSearchArguments(args);
  return [query, { limit, ...(signal && { signal }) }];
}

function executeOptions({
  signal,
  onProgress,
  context,
  headers,
  timeoutMs,
  suspend,
}: CallToolOptions | SuspendCallOptions): ExecuteOptions {
  return {
    ...(signal && { signal }),
    ...(onProgress && { onProgress }),
    ...(context !== undefined && { context }),
    ...(headers && { headers }),
    ...(timeoutMs !== undefined && { limits: { timeMs: timeoutMs } }),
    ...(suspend && { suspend }),
  };
}

const unknownTool = (name: string): CatalogError =>
  new CatalogError({
    code: "TOOL_NOT_FOUND",
    tool: name,
    what: `There is no tool named ${JSON.stringify(name)}`,
    next: `Programs of ${EXECUTE_NAME} call tools; ${SEARCH_NAME} finds them`,
  });
