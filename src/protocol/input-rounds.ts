/**
 * Requests that need several rounds: the server answers `input_required`, gets what it asked for, and is asked again.
 *
 * @see https://modelcontextprotocol.io/specification/2026-07-28/basic/patterns/mrtr
 */
import { ToolCallError } from "../errors/tool-call-error.js";
import { afterUnknown } from "../errors/toolport-error.js";
import { onSharedAbort } from "../util/shared-abort.js";
import { pause } from "../util/sleep.js";
import type { LaneRequestOptions } from "./request-channel.js";
import { answerTogether, type RequestDesk, type ServerRequest } from "./server-requests/request-responder.js";

/** A server that has not made up its mind by then never will. */
export const MAX_ROUNDS = 10;
/** Between rounds in which the server asks for nothing but time. */
const STATE_ONLY_PAUSE_MS = 250;
export const MAX_STATE_BYTES = 1024 * 1024;

const METHODS = new Set(["tools/call", "prompts/get", "resources/read"]);
/** Timers hold 31 bits. */
const MAX_TIMER_MS = 2 ** 31 - 1;

const fromRounds = new WeakSet<object>();

/** True for a result that took several rounds. What a user said went into it, so it must never be cached. */
export const isFromRounds = (result: object): boolean => fromRounds.has(result);

/** Marks a result as one that must not be cached. */
export function markFromRounds<Result extends object>(result: Result): Result {
  fromRounds.add(result);
  return result;
}

/** True if the server wants something before it answers. */
export const needsInput = (method: string, result: unknown): boolean =>
  METHODS.has(method) && (result as { resultType?: unknown } | null)?.resultType === "input_required";

/** One request that takes several rounds. */
export interface RoundsFlow {
  readonly server: string;
  readonly method: string;
  readonly params: Readonly<Record<string, unknown>>;
  /** As the caller gave them: the limits hold for all rounds together. */
  readonly options: LaneRequestOptions;
  /** When the first round began (`performance.now()`). */
  readonly startedAt: number;
  readonly desk: RequestDesk;
  /** Aborted, with the error to throw, when the connection is gone. */
  readonly gone: AbortSignal;
  /** Sends the request of one round. */
  readonly send: (params: Record<string, unknown>, options: LaneRequestOptions) => Promise<unknown>;
}

/** Goes on from the first `input_required` to the result that no longer is one. */
export async function answerRounds(first: unknown, flow: RoundsFlow): Promise<unknown> {
  const over = new AbortController();
  const release = endWith(over, flow);
  let result = first;
  try {
    for (let round = 1; needsInput(flow.method, result); round += 1) {
      if (round > MAX_ROUNDS) throw fault(flow, `still wanted input after ${MAX_ROUNDS} rounds`, result);
      const { requests, requestState } = readInput(result, flow);
      const inputResponses = requests.length === 0 ? undefined : await answerAll(requests, flow, over.signal);
      if (inputResponses === undefined) await pause(STATE_ONLY_PAUSE_MS, over.signal);
      over.signal.throwIfAborted();
      if (timeLeft(flow) <= 0) throw timedOut(flow);
      result = await flow.send(
        {
          ...flow.params,
          ...(inputResponses !== undefined && { inputResponses }),
          // Opaque, and given back as it came; where there is none, none is sent.
          ...(requestState !== undefined && { requestState }),
        },
        { ...flow.options, maxTimeoutMs: timeLeft(flow) },
      );
    }
    return result;
  } catch (error) {
    throw flow.options.signal?.aborted ? flow.options.signal.reason : afterUnknown(error);
  } finally {
    release();
  }
}

const timeLeft = ({ startedAt, options }: RoundsFlow): number =>
  startedAt + options.maxTimeoutMs - performance.now();

/** Ends the flow with the caller's signal, the connection or the time; returns what lets go of all three. */
function endWith(over: AbortController, flow: RoundsFlow): () => void {
  const { gone, options } = flow;
  const signals = options.signal === undefined ? [gone] : [options.signal, gone];
  const listeners = signals.map((signal) => {
    const listener = () => over.abort(signal.reason);
    if (signal.aborted) listener();
    return onSharedAbort(signal, listener);
  });
  let timer: ReturnType<typeof setTimeout>;
  const look = () => {
    const left = timeLeft(flow);
    if (left > 0) timer = setTimeout(look, Math.min(left, MAX_TIMER_MS));
    else over.abort(timedOut(flow));
  };
  look();
  return () => {
    clearTimeout(timer);
    for (const stop of listeners) stop();
  };
}

interface Input {
  readonly requests: readonly (readonly [name: string, request: ServerRequest])[];
  readonly requestState: string | undefined;
}

function readInput(result: unknown, flow: RoundsFlow): Input {
  const { inputRequests = {}, requestState } = result as { inputRequests?: unknown; requestState?: unknown };
  if (requestState !== undefined && typeof requestState !== "string")
    throw fault(flow, "gave a requestState that is not a text", result);
  if (requestState !== undefined && byteLength(requestState) > MAX_STATE_BYTES)
    throw fault(flow, `gave a requestState of more than ${MAX_STATE_BYTES} bytes`);
  if (typeof inputRequests !== "object" || inputRequests === null || Array.isArray(inputRequests))
    throw fault(flow, "gave inputRequests that are not an object", result);
  const requests = Object.entries(inputRequests as Record<string, unknown>).map(([name, request]) => {
    if (isRequest(request)) return [name, request] as const;
    throw fault(flow, "gave inputRequests that are not requests", result);
  });
  if (requests.length === 0 && requestState === undefined)
    throw fault(flow, "wanted input without saying which", result);
  return { requests, requestState };
}

function isRequest(value: unknown): value is ServerRequest {
  if (typeof value !== "object" || value === null) return false;
  const { method, params } = value as { method?: unknown; params?: unknown };
  return (
    typeof method === "string" && (params === undefined || (typeof params === "object" && params !== null))
  );
}

/** A text is never shorter in bytes than in characters, nor longer than three times that. */
const byteLength = (text: string): number =>
  text.length * 3 <= MAX_STATE_BYTES ? text.length : new TextEncoder().encode(text).length;

function answerAll(
  requests: Input["requests"],
  { desk, method, params }: RoundsFlow,
  signal: AbortSignal,
): Promise<Record<string, unknown>> {
  const tool = method === "tools/call" ? String(params["name"]) : undefined;
  return answerTogether(desk, requests, { tool, signal });
}

function fault({ server, method }: RoundsFlow, what: string, result?: unknown): ToolCallError {
  return new ToolCallError({
    code: "PROTOCOL",
    server,
    what: `The server ${what} (${method})`,
    next: "Report this to the maker of the server",
    result,
  });
}

function timedOut({ server, method, options }: RoundsFlow): ToolCallError {
  return new ToolCallError({
    code: "TIMEOUT",
    server,
    what: `${method} was still waiting for input after ${options.maxTimeoutMs} ms`,
    next: "Raise maxTimeoutMs if answers take longer",
    retryable: false,
    phase: "input",
  });
}
