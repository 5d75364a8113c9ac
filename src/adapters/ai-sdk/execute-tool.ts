/** Runs a call of a model and returns its output. */
import { ToolCallError } from "../../errors/toolport-error.js";
import { isSuspended, type Suspended } from "../../execution/suspend/suspension.js";
import type { CallToolOptions } from "../../execution/tool-call.js";
import type { ToolResult } from "../../execution/tool-result.js";
import type { Progress } from "../../protocol/pending-request.js";
import { MAX_WAITING_CALLS } from "../../util/callbacks.js";
import { LinkedQueue } from "../../util/collections.js";
import { READ_ARTIFACT_NAME } from "../../util/outline/cut-note.js";
import { onSharedAbort } from "../../util/timers.js";
import { calledTool, createFitter } from "../for-model.js";
import { isLeftOutWatched } from "../model-content.js";
import type { OfferedTool } from "../offered-tools.js";
import { toCallOptions } from "../run-calls.js";
import type { ToolSource } from "../tool-source.js";
import {
  type AiSdkCall,
  type AiSdkSuspendOptions,
  BoundApprovals,
  type BoundCall,
} from "./bound-approvals.js";
import { modelOutputOptions, toModelOutput, toSuspendedOutput, versionOf } from "./content.js";
import type { AiSdkSchema, AiSdkToolResult, AiSdkToolSchemas, AiSdkToolsOptions } from "./tools-options.js";

export interface ToolSetParts {
  readonly toolport: ToolSource;
  readonly ai: typeof import("ai");
  readonly options: AiSdkToolsOptions;
  readonly schemas?: AiSdkToolSchemas | undefined;
}

/** What the tools of one set share. */
export interface ToolParts extends ToolSetParts {
  /** Set for `needsApproval: "toolport"`. */
  readonly approvals: BoundApprovals | undefined;
}

/** Options of an execution in every version; `context` since 7, `experimental_context` before. */
export interface ExecutionOptions {
  readonly toolCallId: string;
  readonly messages: readonly unknown[];
  readonly abortSignal?: AbortSignal | undefined;
  readonly experimental_context?: unknown;
  readonly context?: unknown;
}

export const toCall = ({
  toolCallId,
  messages,
  context,
  experimental_context,
}: ExecutionOptions): AiSdkCall => ({
  toolCallId,
  messages: messages ?? [],
  context: context ?? experimental_context,
});

export function boundApprovals(offered: readonly OfferedTool[], parts: ToolSetParts): BoundApprovals {
  const { toolport, options } = parts;
  const byName = new Map(offered.map((each) => [each.tool.name, each]));
  return new BoundApprovals({
    toolport,
    suspend: options.suspend as AiSdkSuspendOptions,
    callOf(toolName, input, execution) {
      const offer = byName.get(toolName);
      return offer && boundCall(offer, parts, { input, execution });
    },
  });
}

export const boundCall = (
  offered: OfferedTool,
  { options, schemas }: ToolSetParts,
  { input, execution }: { input: unknown; execution: Omit<ExecutionOptions, "abortSignal"> },
) => ({
  name: offered.tool.name,
  args: argumentsOf(offered, schemas, input),
  options: callOptions(options, execution),
});

/** The arguments with the names of the server, unless the caller's schema has described them. */
function argumentsOf(
  { tool, derived }: OfferedTool,
  schemas: AiSdkToolSchemas | undefined,
  input: unknown,
): Record<string, unknown> {
  const sent = (input ?? {}) as Record<string, unknown>;
  return schemas?.[tool.name] === undefined ? derived.unwrap(sent) : sent;
}

/** Throws if the call fails; the AI SDK reports that to the model. A result with `isError` is returned like any other. */
export function createExecute(offered: OfferedTool, parts: ToolParts) {
  return (input: unknown, execution: ExecutionOptions) => {
    const { options } = parts;
    const call = callOptions(options, execution);
    const signal = execution.abortSignal;
    const run = (more: CallToolOptions) =>
      callTool(offered, parts, { input, execution, call: { ...call, ...more } });
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
  parts: ToolParts,
  { input, execution, call }: { input: unknown; execution: ExecutionOptions; call: CallToolOptions },
): Promise<ToolResult | Suspended> {
  const { ai, options, schemas } = parts;
  const { tool } = offered;
  const args = argumentsOf(offered, schemas, input);
  const result = await sendCall(parts, { name: tool.name, args, options: call }, execution);
  if (isSuspended(result)) return result;
  // Report left-out content once, here: the AI SDK converts the output again in every step.
  if (isLeftOutWatched(options))
    toModelOutput(result, modelOutputOptions(options, versionOf(ai)), {
      strict: options.strictContent === true,
      server: result.server,
      tool: tool.sourceName,
      onLeftOut: options.onLeftOut,
    });
  const own = schemas?.[tool.name];
  return own?.outputSchema === undefined ? result : checked(result, own.outputSchema, ai);
}

/** An approved call is not made from the messages, but from what was saved when its approval was requested. */
async function sendCall(
  { toolport, options: { suspend }, approvals }: ToolParts,
  call: BoundCall,
  execution: ExecutionOptions,
): Promise<ToolResult | Suspended> {
  const { name, args, options } = call;
  if (!suspend) return toolport.callTool(name, args, options);
  const asked = toCall(execution);
  await approvals?.settleDenied(asked);
  const key = await approvals?.approvedKey(asked);
  if (approvals !== undefined && key !== undefined) return approvals.run(call, key);
  const { key: _, ...limits } = suspend === true ? {} : suspend;
  return toolport.callTool(name, args, { ...options, suspend: limits });
}

function callOptions(
  options: AiSdkToolsOptions,
  execution: Omit<ExecutionOptions, "abortSignal">,
): CallToolOptions {
  const context = options.context ?? execution.context ?? execution.experimental_context;
  const own = { context, signal: undefined, onProgress: undefined };
  return toCallOptions({ ...options, ...own }, execution.toolCallId);
}

/** The output schema does not apply to results with `isError`. */
async function checked(result: ToolResult, schema: AiSdkSchema, ai: ToolSetParts["ai"]): Promise<ToolResult> {
  if (result.isError) return result;
  const verdict = await ai.asSchema(schema).validate?.(result.structuredContent);
  if (verdict === undefined) return result;
  if (verdict.success) return { ...result, structuredContent: verdict.value };
  throw new ToolCallError({
    code: "INVALID_OUTPUT",
    server: result.server,
    what: "The structured content of the result does not match the schema given for it",
    next: "See `result` and `cause` of this error",
    result,
    cause: verdict.error,
  });
}

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

interface ProgressCall {
  readonly server: string;
  readonly signal: AbortSignal | undefined;
  readonly run: (
    onProgress: (progress: Progress) => void,
    signal: AbortSignal,
  ) => Promise<ToolResult | Suspended>;
}

/** Aborts the call when the consumer stops reading. */
export async function* progressResults({
  server,
  signal,
  run,
}: ProgressCall): AsyncGenerator<AiSdkToolResult | Suspended> {
  const stop = new AbortController();
  const forget = signal === undefined ? () => {} : onSharedAbort(signal, () => stop.abort(signal.reason));
  if (signal?.aborted) stop.abort(signal.reason);
  const news = new LinkedQueue<Progress>();
  let isOver = false;
  let wake = () => {};
  const running = run((progress) => {
    news.push(progress);
    // The latest progress replaces earlier ones: a slow consumer does not see every notification.
    if (news.size > MAX_WAITING_CALLS) news.shift();
    wake();
  }, stop.signal);
  const end = () => {
    isOver = true;
    wake();
  };
  running.then(end, end);
  try {
    while (!isOver) {
      await new Promise<void>((resolve) => {
        wake = resolve;
        if (news.size > 0 || isOver) resolve();
      });
      for (let next = news.shift(); next !== undefined; next = news.shift()) yield preliminary(next, server);
    }
    yield await running;
  } finally {
    forget();
    if (!isOver) stop.abort();
  }
}

function preliminary(progress: Progress, server: string): AiSdkToolResult {
  const { progress: done, total, message } = progress;
  const text = message ?? (total === undefined ? String(done) : `${done} of ${total}`);
  return {
    text,
    content: [{ type: "text", text }],
    isError: false,
    server,
    attempts: 1,
    durationMs: 0,
    progress,
  };
}
