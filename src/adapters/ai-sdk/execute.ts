/** `execute` of a tool of the AI SDK. */
import { ToolCallError } from "../../errors/tool-call-error.js";
import type { CallToolOptions } from "../../execution/tool-call.js";
import type { ToolResult } from "../../execution/tool-result.js";
import { TOOL_CALL_ID_META_KEY } from "../answer-calls.js";
import { isLeftOutWatched } from "../content-options.js";
import type { OfferedTool } from "../offered-tools.js";
import { modelOutputOptions, PROVIDER_NAME, toModelOutput, versionOf } from "./content.js";
import { progressResults } from "./progress-results.js";
import type { AiSdkToolsOptions, ToolSetParts } from "./to-tools.js";
import type { AiSdkSchema } from "./tool-schemas.js";

/** What every version says about an execution; `context` is from 7 on, `experimental_context` what it was before. */
interface ExecutionOptions {
  readonly toolCallId: string;
  readonly abortSignal?: AbortSignal | undefined;
  readonly experimental_context?: unknown;
  readonly context?: unknown;
}

/** A failure to call is thrown: the AI SDK tells the model. A tool that reports failure is an answer like others. */
export function createExecute(offered: OfferedTool, parts: ToolSetParts) {
  return (input: unknown, execution: ExecutionOptions) => {
    const { options } = parts;
    const call = callOptions(options, execution);
    const signal = execution.abortSignal;
    const run = (more: CallToolOptions) => callTool(offered, parts, { input, call: { ...call, ...more } });
    if (options.progress !== true) return run(signal === undefined ? {} : { signal });
    return progressResults({
      server: offered.tool.server,
      signal,
      run: (onProgress, stop) => run({ onProgress, signal: stop }),
    });
  };
}

async function callTool(
  offered: OfferedTool,
  { toolport, ai, options, schemas }: ToolSetParts,
  { input, call }: { input: unknown; call: CallToolOptions },
): Promise<ToolResult> {
  const { tool } = offered;
  const given = schemas?.[tool.name];
  const sent = (input ?? {}) as Record<string, unknown>;
  const args = given === undefined ? offered.derived.unwrap(sent) : sent;
  const result = await toolport.callTool(tool.name, args, call);
  // Here, once: the AI SDK asks for the model's output again with every step.
  if (isLeftOutWatched(options))
    toModelOutput(result, modelOutputOptions(options, versionOf(ai)), {
      provider: PROVIDER_NAME,
      strict: options.strictContent === true,
      server: result.server,
      tool: tool.sourceName,
      onLeftOut: options.onLeftOut,
    });
  return given?.outputSchema === undefined ? result : checked(result, given.outputSchema, ai);
}

function callOptions(options: AiSdkToolsOptions, execution: ExecutionOptions): CallToolOptions {
  const { timeoutMs, idempotent, headers, applyDefaults, checkArguments, added } = options;
  const meta = { [TOOL_CALL_ID_META_KEY]: execution.toolCallId, ...options.meta };
  const context = options.context ?? execution.context ?? execution.experimental_context;
  const given = { timeoutMs, idempotent, headers, applyDefaults, checkArguments, added, meta, context };
  return Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined));
}

/** An answer that reports failure is not held to the schema of success. */
async function checked(result: ToolResult, schema: AiSdkSchema, ai: ToolSetParts["ai"]): Promise<ToolResult> {
  if (result.isError) return result;
  const verdict = await ai.asSchema(schema).validate?.(result.structuredContent);
  if (verdict === undefined) return result;
  if (verdict.success) return { ...result, structuredContent: verdict.value };
  throw new ToolCallError({
    code: "INVALID_OUTPUT",
    server: result.server,
    what: "The structured content of the answer does not fit the schema given for it",
    next: "Look at `result` and `cause` of this error",
    result,
    cause: verdict.error,
  });
}
