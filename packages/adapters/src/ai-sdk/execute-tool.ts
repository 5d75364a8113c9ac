/** Runs a call of a model and returns its output. */
import {
  LinkedQueue,
  MAX_WAITING_CALLS,
  onSharedAbort,
  READ_ARTIFACT_NAME,
  SuspensionError,
  sha256,
  ToolCallError,
} from "@toolport/base";
import {
  type CallToolOptions,
  isSuspended,
  type Progress,
  type Suspended,
  type ToolResult,
} from "@toolport/core";
import type { OfferedTool } from "@toolport/schemas/internal";
import { calledTool, createFitter } from "../for-model.js";
import { isLeftOutWatched } from "../model-content.js";
import { toCallOptions } from "../run-calls.js";
import { resumeTool, type SuspendOptions, type ToolSource } from "../tool-source.js";
import {
  type AiSdkMessage,
  type MessagePart,
  messageParts,
  toModelOutput,
  toSuspendedOutput,
  versionOf,
} from "./content.js";
import type {
  AiSdkCall,
  AiSdkSchema,
  AiSdkSuspendOptions,
  AiSdkToolResult,
  AiSdkToolSchemas,
  AiSdkToolsOptions,
} from "./tools-options.js";

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

export const toCall = (execution: ExecutionOptions): AiSdkCall => ({
  toolCallId: execution.toolCallId,
  messages: execution.messages ?? [],
  context: execution.context ?? execution.experimental_context,
});

/** A call of a tool of Toolport. */
interface BoundCall {
  readonly name: string;
  readonly args: Readonly<Record<string, unknown>>;
  readonly options: CallToolOptions;
}

export const boundCall = (
  offered: OfferedTool,
  { options, schemas }: ToolSetParts,
  { input, execution }: { input: unknown; execution: Omit<ExecutionOptions, "abortSignal"> },
): BoundCall => ({
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
    toModelOutput(
      result,
      { media: options.media, audience: options.audience, version: versionOf(ai) },
      {
        strict: options.strictContent === true,
        server: result.server,
        tool: tool.sourceName,
        onLeftOut: options.onLeftOut,
      },
    );
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
  const approved = await approvals?.run(toCall(execution), call);
  if (approved !== undefined) return approved;
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

/**
 * Returns the function for each tool. The AI SDK converts every output again in every step, from copies: equal outputs give equal texts
 * and ids, so the conversation stays in the cache of the provider.
 */
export function createModelOutputs(
  { toolport, ai, options }: ToolSetParts,
  canRead: boolean,
): (tool: string) => (given: never) => unknown {
  const version = versionOf(ai);
  const { media, audience, forModel } = options;
  const fitter = createFitter(toolport, forModel, canRead);
  const create = (tool: string) => (given: never) => {
    // Version 5 passes the output itself, later versions wrap it.
    const call: { input?: unknown; output: ToolResult | Suspended } =
      version === 5 ? { output: given } : given;
    const { input, output } = call;
    if (isSuspended(output)) return toSuspendedOutput(output);
    const facts = { tool: calledTool(tool, input), server: output.server, result: output };
    return toModelOutput(output, { version, media, audience, fitParts: (parts) => fitter(parts, facts) });
  };
  const shared = create("");
  const hasLimits = forModel !== false && forModel?.tools !== undefined;
  // Shared by most tools: there may be thousands.
  return (tool) => (hasLimits || tool === READ_ARTIFACT_NAME ? create(tool) : shared);
}

/** Aborts the call when the consumer stops reading. */
export async function* progressResults({
  server,
  signal,
  run,
}: {
  readonly server: string;
  readonly signal: AbortSignal | undefined;
  run(onProgress: (progress: Progress) => void, signal: AbortSignal): Promise<ToolResult | Suspended>;
}): AsyncGenerator<AiSdkToolResult | Suspended> {
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

const MAX_SETTLED = 1_000;
const MAX_TRIES = 3;

/**
 * Approvals of the AI SDK that are bound to suspended calls. The AI SDK keeps an approval in messages, which a client may send twice
 * or change. Here the call is saved when approval is requested, and the messages can only release that call, once.
 */
export class BoundApprovals {
  readonly #key: AiSdkSuspendOptions["key"];
  readonly #limits: SuspendOptions;
  readonly #offered: ReadonlyMap<string, OfferedTool>;
  /** Ids of denied approvals that need no further work. */
  readonly #settled = new Set<string>();

  constructor(
    offered: readonly OfferedTool[],
    private readonly parts: ToolSetParts,
  ) {
    const { key, ...limits } = parts.options.suspend as AiSdkSuspendOptions;
    this.#key = key;
    this.#limits = limits;
    this.#offered = new Map(offered.map((each) => [each.tool.name, each]));
  }

  /**
   * Whether a person has to approve the call; it is saved then. If that fails, the answer is no: the execution of the call asks the
   * port's `approve` too, and reports the problem.
   */
  async isNeeded(call: AiSdkCall, { name, args, options }: BoundCall): Promise<boolean> {
    await this.#settleDenied(call);
    if (isAnswered(call)) return true;
    const key = await this.#keyOf(call);
    if (key === undefined) return false;
    try {
      const suspend = { ...this.#limits, key };
      return (await this.parts.toolport.requestApproval?.(name, args, { ...options, suspend })) !== undefined;
    } catch {
      return false;
    }
  }

  /**
   * Runs a call whose approval is in the messages, as it was saved when approval was requested. A second time, it returns the saved
   * result. Undefined for all other calls.
   */
  async run(
    call: AiSdkCall,
    { name, args, options }: BoundCall,
  ): Promise<ToolResult | Suspended | undefined> {
    await this.#settleDenied(call);
    const key = isAnswered(call) ? await this.#keyOf(call) : undefined;
    if (key === undefined) return undefined;
    const suspend = { ...this.#limits, key, create: false };
    for (let tries = 1; ; tries += 1) {
      const outcome = await this.parts.toolport.callTool(name, args, { ...options, suspend });
      if (!isSuspended(outcome) || outcome.reason !== "approval") return outcome;
      try {
        return await resumeTool(this.parts.toolport, outcome.token, { approve: true }, options);
      } catch (error) {
        // Another process was faster: its result is saved.
        const isLost = SuspensionError.isInstance(error) && error.code === "SUSPENSION_UNKNOWN";
        if (!isLost || tries === MAX_TRIES) throw error;
      }
    }
  }

  /** Refuses the calls that were denied in the messages, for good. */
  async #settleDenied({ messages, context }: AiSdkCall): Promise<void> {
    const denied = deniedCalls(messages).filter(({ approvalId }) => !this.#settled.has(approvalId));
    if (this.#settled.size > MAX_SETTLED) this.#settled.clear();
    for (const { approvalId, toolName, input, ...rest } of denied) {
      this.#settled.add(approvalId);
      const execution = { ...rest, context };
      const offered = this.#offered.get(toolName);
      // The call may be refused already, or its approval may have expired.
      if (offered !== undefined)
        await this.#refuse(boundCall(offered, this.parts, { input, execution }), execution).catch(() => {});
    }
  }

  async #refuse({ name, args, options }: BoundCall, call: AiSdkCall): Promise<void> {
    const key = await this.#keyOf(call);
    if (key === undefined) return;
    const outcome = await this.parts.toolport.callTool(name, args, {
      ...options,
      suspend: { key, create: false },
    });
    if (isSuspended(outcome) && outcome.reason === "approval")
      await resumeTool(this.parts.toolport, outcome.token, { approve: false });
  }

  /** The key contains how often the conversation used the id before: some models count their calls from one in every response. */
  async #keyOf(call: AiSdkCall): Promise<string | undefined> {
    const conversation = typeof this.#key === "function" ? this.#key(call) : this.#key;
    if (conversation === undefined || conversation === "") return undefined;
    const { toolCallId, messages } = call;
    const uses = partsOf(messages, "assistant").filter(
      (part) => part.type === "tool-call" && part.toolCallId === toolCallId,
    ).length;
    const earlier = isAnswered(call) ? uses - 1 : uses;
    return `ai-sdk ${await sha256(JSON.stringify([conversation, toolCallId, earlier]))}`;
  }
}

const partsOf = (messages: readonly unknown[], role: "assistant" | "tool"): readonly MessagePart[] =>
  (messages as readonly AiSdkMessage[]).filter((message) => message.role === role).flatMap(messageParts);

/** True if the last message contains the decision about this call: the AI SDK is about to run it, or not. */
function isAnswered({ messages, toolCallId }: AiSdkCall): boolean {
  const answers = partsOf(messages.slice(-1), "tool").filter(({ type }) => type === "tool-approval-response");
  if (answers.length === 0) return false;
  const asked = partsOf(messages, "assistant").filter(
    (part) => part.type === "tool-approval-request" && part.toolCallId === toolCallId,
  );
  return answers.some(({ approvalId }) => asked.some((request) => request.approvalId === approvalId));
}

interface DeniedCall extends AiSdkCall {
  readonly approvalId: string;
  readonly toolName: string;
  readonly input: unknown;
}

function deniedCalls(messages: readonly unknown[]): DeniedCall[] {
  return messages.flatMap((message, index) =>
    partsOf([message], "tool").flatMap(({ type, approved, approvalId }): DeniedCall[] => {
      if (type !== "tool-approval-response" || approved !== false || approvalId === undefined) return [];
      const until = messages.slice(0, index + 1);
      const before = partsOf(until, "assistant");
      const request = before.find(
        (part) => part.type === "tool-approval-request" && part.approvalId === approvalId,
      );
      const call = before.findLast(
        (part) => part.type === "tool-call" && part.toolCallId === request?.toolCallId,
      );
      if (call?.toolCallId === undefined || call.toolName === undefined) return [];
      const { toolCallId, toolName, input } = call;
      return [{ approvalId, toolCallId, toolName, input, messages: until }];
    }),
  );
}
