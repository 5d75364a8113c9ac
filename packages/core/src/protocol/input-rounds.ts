/**
 * The results of requests: complete, a task, or rounds of input. In such rounds the server responds with `input_required`, and the
 * client collects the input and repeats the request with it, or suspends the request.
 *
 * @see https://modelcontextprotocol.io/specification/2026-07-28/basic/patterns/mrtr
 */
import {
  afterUnknown,
  isRecord,
  onSharedAbort,
  pause,
  ToolCallError,
  timerMs,
  utf8Length,
} from "@toolport/base";
import type { ChannelRequestOptions } from "./request-channel.js";
import { declinedUrl, type ElicitationRequest, readElicitation } from "./server-requests/elicitation.js";
import type { RequestResponder, ServerRequest } from "./server-requests/request-responder.js";

const INVALID_PARAMS = -32602;

/** The state has expired, or the key of the server has changed. */
export function isRefusedState(error: unknown): error is ToolCallError {
  if (!(error instanceof ToolCallError) || error.rpcCode !== INVALID_PARAMS) return false;
  return (error.data as { reason?: unknown } | null | undefined)?.reason === "invalid_request_state";
}

/** A server checks the state before it runs anything. */
export function throwUnsentIfRefused(error: unknown): never {
  throw isRefusedState(error) ? error.withOutcome("unsent") : error;
}

/** The state of a request that waits for input. Plain JSON, so that it can be saved. */
export interface InputPause {
  /** What the user is asked, by the key of the answer. */
  readonly requests: Readonly<Record<string, ElicitationRequest>>;
  /** Answers that need no person (sampling, roots), to be sent with those of the user. */
  readonly responses: Readonly<Record<string, unknown>>;
  /** Opaque state of the server, to be returned unchanged. */
  readonly requestState?: string | undefined;
  /** Number of this round, from 1. */
  readonly round: number;
  /**
   * How the answers reach the server: as `inputResponses` of the next request, by repeating the request after the user has
   * visited the pages (revision 2025-11-25), or as input of a task.
   */
  readonly by: "responses" | "repetition" | "task";
  /** The task that waits; only with `by: "task"`. */
  readonly taskId?: string | undefined;
}

/** The next round of a request. */
export interface ResumedInput {
  readonly round: number;
  readonly by: InputPause["by"];
  readonly inputResponses: Readonly<Record<string, unknown>>;
  readonly requestState?: string | undefined;
}

/** Set for a request that may be suspended. */
export interface SuspendableRequest {
  /** Continue with this round instead of beginning anew. */
  readonly resumed?: ResumedInput | undefined;
  /** Receives refused questions, which the user never sees. */
  readonly report: (error: unknown) => void;
}

const pauses = new WeakMap<object, InputPause>();

/** Takes the place of the result of a request that waits for input. */
export function toPausedRaw(pause: InputPause): Record<string, unknown> {
  const raw = {};
  pauses.set(raw, pause);
  return raw;
}

/** Undefined for a real result. A server cannot forge it. */
export const inputPauseOf = (raw: object): InputPause | undefined => pauses.get(raw);

/** Maximum number of rounds per request. */
export const MAX_ROUNDS = 10;
/** Pause before the next round if the server requested no input, only another attempt. */
const STATE_ONLY_PAUSE_MS = 250;
export const MAX_STATE_BYTES = 1024 * 1024;

const METHODS = new Set(["tools/call", "prompts/get", "resources/read"]);

/** True if the server requests input before it completes the request. */
export const needsInput = (method: string, result: unknown): boolean =>
  METHODS.has(method) && (result as { resultType?: unknown } | null)?.resultType === "input_required";

export interface InputRoundsParts {
  readonly server: string;
  readonly method: string;
  readonly params: Readonly<Record<string, unknown>>;
  /** Options of the caller. The limits apply to all rounds together. */
  readonly options: ChannelRequestOptions;
  /** When the first round began (`performance.now()`). */
  readonly startedAt: number;
  readonly responder: Pick<RequestResponder, "respondAll">;
  /** Aborts, with the error to throw, when the connection closes. */
  readonly closed: AbortSignal;
  /** Set if the request may be suspended instead of asking the user now. */
  readonly suspendable?: SuspendableRequest | undefined;
  /** Sends the request of one round. */
  readonly send: (params: Record<string, unknown>, options: ChannelRequestOptions) => Promise<unknown>;
}

/**
 * Repeats the request until its result no longer requires input. A suspendable request that requires input of a person ends
 * with the mark of {@link toPausedRaw}.
 */
export async function runInputRounds(first: unknown, parts: InputRoundsParts): Promise<unknown> {
  const controller = new AbortController();
  const release = abortWith(controller, parts);
  let result = first;
  try {
    const firstRound = (parts.suspendable?.resumed?.round ?? 0) + 1;
    for (let round = firstRound; needsInput(parts.method, result); round += 1) {
      if (round > MAX_ROUNDS) throw fault(parts, `still requested input after ${MAX_ROUNDS} rounds`, result);
      const { requests, requestState } = readInput(result, parts);
      const collected = requests.length === 0 ? undefined : await collect(requests, parts, controller.signal);
      if (collected !== undefined && Object.keys(collected.requests).length > 0)
        return toPausedRaw({ ...collected, requestState, round, by: "responses" });
      const inputResponses = collected?.responses;
      if (inputResponses === undefined) await pause(STATE_ONLY_PAUSE_MS, controller.signal);
      controller.signal.throwIfAborted();
      if (timeLeft(parts) <= 0) throw timedOut(parts);
      result = await parts.send(
        {
          ...parts.params,
          ...(inputResponses !== undefined && { inputResponses }),
          // Opaque to the client, which must return it unchanged.
          ...(requestState !== undefined && { requestState }),
        },
        { ...parts.options, maxTimeoutMs: timeLeft(parts) },
      );
    }
    return result;
  } catch (error) {
    throw parts.options.signal?.aborted ? parts.options.signal.reason : afterUnknown(error);
  } finally {
    release();
  }
}

const timeLeft = ({ startedAt, options }: InputRoundsParts): number =>
  startedAt + options.maxTimeoutMs - performance.now();

/** Aborts on the caller's signal, a closed connection or the timeout; returns a function that stops watching them. */
function abortWith(controller: AbortController, parts: InputRoundsParts): () => void {
  const { closed, options } = parts;
  const signals = options.signal === undefined ? [closed] : [options.signal, closed];
  const listeners = signals.map((signal) => {
    const listener = () => controller.abort(signal.reason);
    if (signal.aborted) listener();
    return onSharedAbort(signal, listener);
  });
  let timer: ReturnType<typeof setTimeout>;
  const check = () => {
    const left = timeLeft(parts);
    if (left > 0) timer = setTimeout(check, timerMs(left));
    else controller.abort(timedOut(parts));
  };
  check();
  return () => {
    clearTimeout(timer);
    for (const stop of listeners) stop();
  };
}

interface Input {
  readonly requests: readonly (readonly [name: string, request: ServerRequest])[];
  readonly requestState: string | undefined;
}

type Asked = Pick<InputRoundsParts, "server" | "method">;

/** Throws if the result does not say what input it needs. */
export function readInput(result: unknown, parts: Asked): Input {
  const { inputRequests = {}, requestState } = result as { inputRequests?: unknown; requestState?: unknown };
  if (requestState !== undefined && typeof requestState !== "string")
    throw fault(parts, "sent a requestState that is not a string", result);
  if (requestState !== undefined && utf8Length(requestState) > MAX_STATE_BYTES)
    throw fault(parts, `sent a requestState of more than ${MAX_STATE_BYTES} bytes`);
  if (!isRecord(inputRequests)) throw fault(parts, "sent inputRequests that are not an object", result);
  const requests = Object.entries(inputRequests).map(([name, request]) => {
    if (isRequest(request)) return [name, request] as const;
    throw fault(parts, "sent inputRequests that are not requests", result);
  });
  if (requests.length === 0 && requestState === undefined)
    throw fault(parts, "requested input without naming any", result);
  return { requests, requestState };
}

const isRequest = (value: unknown): value is ServerRequest =>
  isRecord(value) &&
  typeof value["method"] === "string" &&
  (value["params"] === undefined || Object(value["params"]) === value["params"]);

/** The requests are those that only a person can answer; empty unless the request is suspendable. */
type CollectedInput = Pick<InputPause, "requests" | "responses">;

async function collect(
  requests: Input["requests"],
  { server, responder, method, params, suspendable }: InputRoundsParts,
  signal: AbortSignal,
): Promise<CollectedInput> {
  const tool = method === "tools/call" ? String(params["name"]) : undefined;
  if (suspendable === undefined)
    return { requests: {}, responses: await responder.respondAll(requests, { tool, signal }) };
  return splitInput(requests, {
    where: { server, tool },
    report: suspendable.report,
    respond: (live) => responder.respondAll(live, { tool, signal }),
  });
}

/** Answers what needs no person, and returns the questions for the user. URLs that users must not see are declined. */
export async function splitInput(
  requests: Input["requests"],
  {
    where,
    report,
    respond,
  }: {
    readonly where: { readonly server: string; readonly tool: string | undefined };
    readonly report: (error: unknown) => void;
    /** Answers the requests that need no person. */
    readonly respond: (live: Input["requests"]) => Promise<Record<string, unknown>>;
  },
): Promise<CollectedInput> {
  const asked: [string, ElicitationRequest][] = [];
  const declined: [string, unknown][] = [];
  const live: (readonly [string, ServerRequest])[] = [];
  for (const [name, request] of requests) {
    const read =
      request.method === "elicitation/create" ? readElicitation(request.params ?? {}, where) : undefined;
    if (read === undefined) live.push([name, request]);
    else if (read.mode !== "blocked-url") asked.push([name, read]);
    else {
      report(declinedUrl(read.why, where));
      declined.push([name, { action: "decline" }]);
    }
  }
  const answered = live.length === 0 ? {} : await respond(live);
  return {
    requests: Object.fromEntries(asked),
    responses: { ...answered, ...Object.fromEntries(declined) },
  };
}

function fault({ server, method }: Asked, what: string, result?: unknown): ToolCallError {
  return new ToolCallError({
    code: "PROTOCOL",
    server,
    what: `The server ${what} (${method})`,
    next: "Report this to the author of the server",
    result,
  });
}

function timedOut({ server, method, options }: InputRoundsParts): ToolCallError {
  return new ToolCallError({
    code: "TIMEOUT",
    server,
    what: `${method} was still waiting for input after ${options.maxTimeoutMs} ms`,
    next: "Raise maxTimeoutMs if users need longer to answer",
    retryable: false,
    phase: "input",
  });
}
