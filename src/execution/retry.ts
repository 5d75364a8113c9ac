/** Tries again on the same server: only what may run twice or has not run, only a few times, only while it helps. */
import type { FailurePredicate } from "../config/failure-predicate.js";
import { AuthError } from "../errors/auth-error.js";
import { ConnectionError } from "../errors/connection-error.js";
import type { ToolCallError } from "../errors/tool-call-error.js";
import { afterUnknown, ToolportError } from "../errors/toolport-error.js";
import { Resends } from "../transports/resends.js";
import { sleep as sleepInCall } from "../util/sleep.js";
import { TokenBucket } from "../util/token-bucket.js";
import { askPredicate } from "./ask-predicate.js";
import type { CallInterceptor, ToolCall } from "./tool-call.js";
import type { ToolResult } from "./tool-result.js";

/**
 * When and how often a failed call is tried again on the same server. `false`: never; only a lost session or refused
 * credentials are still healed, once. A function is short for `{ when }`.
 *
 * @example
 * ```ts
 * const retry: RetryOptions = {
 *   maxAttempts: 5,
 *   when: (error) => (error instanceof ToolCallError && error.rpcCode === -32050 ? true : undefined),
 * };
 * ```
 */
export type RetryOptions =
  | false
  | FailurePredicate
  | {
      /** How often a call is sent in all, the first time and every healing included. @default 3 */
      maxAttempts?: number;
      /**
       * Upper bound of the first wait; it doubles with every further one, and the wait itself is random below it.
       * @default 50, or 1000 where the server says that it is busy (HTTP 429, 503)
       */
      baseMs?: number;
      /** Longest such wait. A `Retry-After` of the server's may be longer (30 s at most). @default 20000 */
      maxMs?: number;
      /**
       * Which failures can pass. It says "transient", never "safe": a call that may have run is still repeated only if it is
       * idempotent. Not asked about aborts, authorization, refusals and wrong arguments.
       * @default the failures of the connection, HTTP 408, 425, 429, 5xx, and JSON-RPC -32603
       */
      when?: FailurePredicate;
    };

/** What a server's failures may cost before its calls are no longer repeated. */
export interface RetryBudget {
  /** Takes tokens, or none and says false. */
  take(cost: number): boolean;
  /** Puts tokens back. */
  give(amount: number): void;
}

const BUDGET_TOKENS = 500;
const TRANSIENT = { cost: 14, baseMs: 50 };
const THROTTLED = { cost: 5, baseMs: 1_000 };
const PLAIN_SUCCESS_REFUND = 1;
const MAX_ATTEMPTS = 3;
/** Without retries: the first send, and one more after a new session or new credentials. */
const HEALED_SENDS = 2;
const MAX_WAIT_MS = 20_000;
const MAX_RETRY_AFTER_MS = 30_000;

/** The figures of AWS's standard mode, one budget per server: a server that is down is not hammered by its clients. */
export const createRetryBudget = (): RetryBudget => new TokenBucket({ capacity: BUDGET_TOKENS });

export interface RetryParts {
  budgetFor: (server: string) => RetryBudget;
  /** Says that this call may run twice although its caller did not say so: a trusted server marks the tool so. */
  mayRepeat?: (call: ToolCall) => boolean;
  options?: RetryOptions;
  /** Gets what a rule of the user's throws. @default nothing */
  report?: (error: unknown) => void;
  /** Waits, and rejects with the signal's reason when it aborts. */
  sleep?: (ms: number, signal?: AbortSignal) => Promise<void>;
  random?: () => number;
  /** @default performance.now */
  now?: () => number;
}

/**
 * Codes that the same call on the same server cannot cure: our own checks, somebody's refusal, and the valves that
 * fail fast so that a caller or a fallback can act at once.
 */
const FINAL_CODES: readonly string[] = [
  "ABORTED",
  "INVALID_ARGUMENTS",
  "INVALID_OUTPUT",
  "UNSUPPORTED_CONTENT",
  "REFUSED",
  "FALLBACK_EXHAUSTED",
  "OVERLOADED",
  "CIRCUIT_OPEN",
];

const INTERNAL_ERROR = -32603;
/** Phases of a timeout in which the call waited for a connection or a socket, for as long as it may. */
const WAITING_PHASES: readonly unknown[] = ["connect", "queue"];

const isFinal = (error: ToolportError): boolean =>
  error instanceof AuthError || FINAL_CODES.includes(error.code);

/** Another attempt can help; whether it is safe is another question. */
function canHelp(error: ToolportError): boolean {
  if (!error.retryable) return false;
  // The wait for a server that is away has its own limit, and that was it.
  if (error.code === "CONNECT_TIMEOUT") return false;
  if (error.code === "TIMEOUT" && WAITING_PHASES.includes((error as ToolCallError).phase)) return false;
  return error.code !== "PROTOCOL" || (error as ToolCallError).rpcCode === INTERNAL_ERROR;
}

const isThrottled = (error: ToolportError): boolean =>
  error instanceof ConnectionError && (error.status === 429 || error.status === 503);

/** A 503 with `Retry-After` asks for the request again. It does not prove that nothing ran, so its outcome is unknown. */
const isAskedBack = (error: ToolportError): boolean =>
  error instanceof ConnectionError && error.status === 503 && error.retryAfterMs !== undefined;

const retryAfterMs = (error: ToolportError): number =>
  error instanceof ConnectionError ? Math.min(error.retryAfterMs ?? 0, MAX_RETRY_AFTER_MS) : 0;

function readOptions(options: RetryOptions): Exclude<RetryOptions, false | FailurePredicate> {
  if (options === false) return { maxAttempts: 1 };
  return typeof options === "function" ? { when: options } : options;
}

/** Repeats a failed attempt where that is safe and can help. */
export function retryStep({
  budgetFor,
  mayRepeat = () => false,
  options = {},
  report = () => {},
  sleep = sleepInCall,
  random = Math.random,
  now = () => performance.now(),
}: RetryParts): CallInterceptor {
  const { maxAttempts = MAX_ATTEMPTS, baseMs, maxMs = MAX_WAIT_MS, when } = readOptions(options);
  const maxSends = options === false ? HEALED_SENDS : maxAttempts;

  const isTransient = (error: ToolportError, call: ToolCall): boolean => {
    if (isFinal(error)) return false;
    return (when && askPredicate(when, { error, call, report })) ?? canHelp(error);
  };

  /** The call may run twice, or this error allows one more send of any call. A lost session was healed below, if at all. */
  const isSafe = (error: ToolportError, call: ToolCall): boolean => {
    if (call.options.idempotent === true || mayRepeat(call)) return true;
    return isAskedBack(error) || (error.outcome === "unsent" && error.code !== "SESSION_LOST");
  };

  /** The wait before the next attempt and what it costs; undefined: it stays at this error. */
  function plan(
    error: unknown,
    call: ToolCall,
    attempt: number,
  ): { waitMs: number; cost: number } | undefined {
    if (attempt >= maxAttempts || call.options.signal?.aborted || !ToolportError.isInstance(error))
      return undefined;
    if (!isTransient(error, call) || !isSafe(error, call)) return undefined;
    // Another server can be asked at once: not worth waiting for one that is away or busy.
    if (!call.patient && (isThrottled(error) || error.code === "UNREACHABLE")) return undefined;
    const { cost, baseMs: defaultBaseMs } = isThrottled(error) ? THROTTLED : TRANSIENT;
    const bound = Math.min((baseMs ?? defaultBaseMs) * 2 ** (attempt - 1), maxMs);
    const waitMs = Math.max(random() * bound, retryAfterMs(error));
    return now() + waitMs < call.deadline ? { waitMs, cost } : undefined;
  }

  return (next) => {
    const attempt = (call: ToolCall, count: number, refund: number): Promise<ToolResult> =>
      next(call).then(
        (result) => {
          budgetFor(call.tool.server).give(refund);
          return result;
        },
        async (error: unknown) => {
          const again = plan(error, call, count);
          if (again === undefined || !budgetFor(call.tool.server).take(again.cost)) throw error;
          if (call.resends?.take() === false) throw error;
          await sleep(again.waitMs, call.options.signal);
          const later = attempt(call, count + 1, again.cost);
          return (error as ToolportError).outcome === "unsent" ? later : later.catch(rethrowAfterUnknown);
        },
      );
    return (call) => {
      call.resends = new Resends(maxSends);
      return attempt(call, 1, PLAIN_SUCCESS_REFUND);
    };
  };
}

function rethrowAfterUnknown(error: unknown): never {
  throw afterUnknown(error);
}
