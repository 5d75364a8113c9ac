/** Calls, results and failures for tests of single pipeline steps. */
import { ConnectionError, ToolCallError } from "../../packages/base/src/errors/toolport-error.js";
import type {
  CallHandler,
  CallStep,
  CallTarget,
  ResolvedCall,
  ToolCall,
} from "../../packages/core/src/execution/tool-call.js";
import type { ToolResult } from "../../packages/core/src/execution/tool-result.js";

/** A target with the members that a single step reads. */
export const targetOf = (changes: Partial<CallTarget> = {}): CallTarget =>
  ({
    isTrusted: false,
    guards: { breaker: undefined, limiter: undefined, retryBudget: undefined },
    ...changes,
  }) as CallTarget;

/** A call of `a__echo`, the tool `echo` on server `a`. */
export function callOf(changes: Partial<ResolvedCall> = {}): ResolvedCall {
  return {
    tool: { name: "a__echo", server: "a", sourceName: "echo", inputSchema: {} },
    args: {},
    options: {},
    attempts: [],
    startedAt: performance.now(),
    deadline: Number.POSITIVE_INFINITY,
    patient: true,
    budget: { leftMs: 200 },
    target: targetOf(),
    ...changes,
  };
}

/** The same call on another server. */
export function callOn(server: string, changes: Partial<ResolvedCall> = {}): ResolvedCall {
  const call = callOf(changes);
  return { ...call, tool: { ...call.tool, server } };
}

export function resultOf(text: string, changes: Partial<ToolResult> = {}): ToolResult {
  const content = [{ type: "text", text }] as const;
  return { text, content, isError: false, server: "a", attempts: 1, durationMs: 1, ...changes };
}

/** Returns the outcomes in order and repeats the last one; throws errors. */
export function inTurn(...outcomes: (ToolResult | Error)[]): CallHandler & { calls: ToolCall[] } {
  const calls: ToolCall[] = [];
  const handler: CallHandler = async (call) => {
    calls.push(call);
    const outcome = outcomes[Math.min(calls.length, outcomes.length) - 1];
    if (outcome instanceof Error) throw outcome;
    return outcome ?? resultOf("ok");
  };
  return Object.assign(handler, { calls });
}

/** The step as an interceptor: the next one answers with results. */
export const asInterceptor =
  <Call extends ToolCall>(step: CallStep<Call>) =>
  (next: CallHandler) =>
  async (call: Call): Promise<ToolResult> =>
    (await step(async (sent) => ({ result: await next(sent) }))(call)).result;

/** The server was unreachable: nothing was sent. */
export const unreachable = (changes: { retryAfterMs?: number; status?: number } = {}): ConnectionError =>
  new ConnectionError({
    code: changes.status === undefined ? "UNREACHABLE" : "HTTP_STATUS",
    what: "The server cannot be reached",
    retryable: true,
    outcome: "unsent",
    ...changes,
  });

/** The server may have run the call. */
export const timedOut = (): ToolCallError =>
  new ToolCallError({ code: "TIMEOUT", what: "No answer in time", retryable: true });

/** A promise that the test settles. */
export function deferred<T>(): {
  promise: Promise<T>;
  resolve(value: T): void;
  reject(error: unknown): void;
} {
  let resolve!: (value: T) => void;
  let reject!: (error: unknown) => void;
  const promise = new Promise<T>((onValue, onError) => {
    resolve = onValue;
    reject = onError;
  });
  return { promise, resolve, reject };
}
