/** Retries failed calls on the same server if that is safe and can help. */

import {
  AuthError,
  afterUnknown,
  ConnectionError,
  sleep as sleepInCall,
  TokenBucket,
  type ToolCallError,
  ToolportError,
} from "@toolport/base";
import type { FailurePredicate } from "../config/server-entry.js";
import type { Resends } from "../transports/server-transport.js";
import { continuesRound, type ResolvedCall, type ServerStep, type ToolCall } from "./tool-call.js";

/**
 * When and how often a failed call is retried on the same server. `false`: never, except once after a lost session or
 * rejected credentials. A function is short for `{ when }`.
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
      /** How often a call is sent in total, including resends after a lost session or rejected credentials. @default 3 */
      maxAttempts?: number;
      /**
       * Upper bound of the first delay. It doubles with every retry; the delay itself is random below it.
       * @default 50, or 1000 if the server is busy (HTTP 429, 503)
       */
      baseMs?: number;
      /** Longest delay. A `Retry-After` header may demand a longer one (30 s at most). @default 20000 */
      maxMs?: number;
      /**
       * Which failures are transient. Transient does not mean safe: a call that may have run is repeated only if it is
       * idempotent. Not called for aborts, authorization errors, rejected calls and invalid arguments.
       * @default connection failures, HTTP 408, 425, 429, 5xx, and JSON-RPC -32603
       */
      when?: FailurePredicate;
    };

const BUDGET_TOKENS = 500;
const TRANSIENT = { cost: 14, baseMs: 50 };
const THROTTLED = { cost: 5, baseMs: 1_000 };
const PLAIN_SUCCESS_REFUND = 1;
const MAX_ATTEMPTS = 3;
/** With `retry: false`: the first send, and one more with a new session or new credentials. */
const SENDS_WITHOUT_RETRIES = 2;
const MAX_WAIT_MS = 20_000;
const MAX_RETRY_AFTER_MS = 30_000;

/** One budget for each server, with the figures of the standard retry mode of the AWS SDKs: it limits retries while a server is down. */
const createRetryBudget = (): TokenBucket => new TokenBucket({ capacity: BUDGET_TOKENS });

export interface RetryParts {
  options?: RetryOptions;
  /** Receives errors that `when` throws. @default ignored */
  report?: (error: unknown) => void;
  /** Rejects with the reason of the signal when it aborts. */
  sleep?: (ms: number, signal?: AbortSignal) => Promise<void>;
  random?: () => number;
  /** @default performance.now */
  now?: () => number;
}

/**
 * Failures that a retry on the same server cannot change: our own checks, rejected calls, and errors that fail fast so that
 * the caller or a fallback can react at once.
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
/** Phases of a timeout in which the call used up its time waiting for a connection or a place in the queue. */
const WAITING_PHASES: readonly unknown[] = ["connect", "queue"];

const isFinal = (error: ToolportError): boolean =>
  error instanceof AuthError || FINAL_CODES.includes(error.code);

/** Another attempt can succeed. `isSafe` decides whether it is allowed. */
function canHelp(error: ToolportError): boolean {
  if (!error.retryable) return false;
  // The wait for an unreachable server has its own limit, which is used up.
  if (error.code === "CONNECT_TIMEOUT") return false;
  if (error.code === "TIMEOUT" && WAITING_PHASES.includes((error as ToolCallError).phase)) return false;
  return error.code !== "PROTOCOL" || (error as ToolCallError).rpcCode === INTERNAL_ERROR;
}

const isThrottled = (error: ToolportError): boolean =>
  error instanceof ConnectionError && (error.status === 429 || error.status === 503);

/** A 503 with `Retry-After` asks the client to send the request again. Its outcome stays unknown, because the call may have run. */
const isAskedBack = (error: ToolportError): boolean =>
  error instanceof ConnectionError && error.status === 503 && error.retryAfterMs !== undefined;

const retryAfterMs = (error: ToolportError): number =>
  error instanceof ConnectionError ? Math.min(error.retryAfterMs ?? 0, MAX_RETRY_AFTER_MS) : 0;

function readOptions(options: RetryOptions): Exclude<RetryOptions, false | FailurePredicate> {
  if (options === false) return { maxAttempts: 1 };
  return typeof options === "function" ? { when: options } : options;
}

/** The call may run twice: its caller or a trusted server says so. */
export function isRepeatable({ options, target, tool }: ResolvedCall): boolean {
  if (options.idempotent === true) return true;
  const { annotations } = tool;
  return target.isTrusted && (annotations?.readOnlyHint === true || annotations?.idempotentHint === true);
}

/** Repeats a failed attempt if that is safe and can help. */
export function retryStep({
  options = {},
  report = () => {},
  sleep = sleepInCall,
  random = Math.random,
  now = () => performance.now(),
}: RetryParts): ServerStep {
  const { maxAttempts = MAX_ATTEMPTS, baseMs, maxMs = MAX_WAIT_MS, when } = readOptions(options);
  const maxSends = options === false ? SENDS_WITHOUT_RETRIES : maxAttempts;

  const isTransient = (error: ToolportError, call: ToolCall): boolean => {
    if (isFinal(error)) return false;
    return (when && askPredicate(when, { error, call, report })) ?? canHelp(error);
  };

  /** The call may run twice, or the error allows any call to be sent again. `runOnSession` has already handled a lost session. */
  const isSafe = (error: ToolportError, call: ResolvedCall): boolean => {
    if (isRepeatable(call)) return true;
    // A round with input of the user is sent at most once, even if the server asks for it again.
    return (
      (isAskedBack(error) && call.suspension === undefined && !continuesRound(call)) ||
      (error.outcome === "unsent" && error.code !== "SESSION_LOST")
    );
  };

  /** The delay before the next attempt and its cost; undefined if the error is final. */
  function plan(
    error: unknown,
    call: ResolvedCall,
    attempt: number,
  ): { waitMs: number; cost: number } | undefined {
    if (attempt >= maxAttempts || call.options.signal?.aborted || !ToolportError.isInstance(error))
      return undefined;
    if (!isTransient(error, call) || !isSafe(error, call)) return undefined;
    // A fallback server is left to ask: do not wait for one that is unreachable or busy.
    if (!call.patient && (isThrottled(error) || error.code === "UNREACHABLE")) return undefined;
    const { cost, baseMs: defaultBaseMs } = isThrottled(error) ? THROTTLED : TRANSIENT;
    const bound = Math.min((baseMs ?? defaultBaseMs) * 2 ** (attempt - 1), maxMs);
    const waitMs = Math.max(random() * bound, retryAfterMs(error));
    return now() + waitMs < call.deadline ? { waitMs, cost } : undefined;
  }

  /** Takes what another attempt costs from the budget of the server and from the resends of the call; false if too little is left. */
  function pay(call: ResolvedCall, cost: number): boolean {
    const { guards } = call.target;
    guards.retryBudget ??= createRetryBudget();
    return guards.retryBudget.take(cost) && call.resends?.take() !== false;
  }

  return (next) => async (given) => {
    const call: ResolvedCall = { ...given, resends: createResends(maxSends) };
    let refund = PLAIN_SUCCESS_REFUND;
    let mayHaveRun = false;
    for (let attempt = 1; ; attempt += 1) {
      let waitMs: number;
      try {
        const answer = await next(call);
        call.target.guards.retryBudget?.give(refund);
        return answer;
      } catch (error) {
        const again = plan(error, call, attempt);
        if (again === undefined || !pay(call, again.cost)) throw mayHaveRun ? afterUnknown(error) : error;
        mayHaveRun ||= (error as ToolportError).outcome !== "unsent";
        refund = again.cost;
        waitMs = again.waitMs;
      }
      await sleep(waitMs, call.options.signal);
    }
  };
}

/** Asks a predicate about a failed call. Undefined if it does not decide, or throws; errors are reported. */
export function askPredicate(
  predicate: FailurePredicate,
  { error, call, report }: { error: ToolportError; call: ToolCall; report: (error: unknown) => void },
): boolean | undefined {
  const { tool, args, attempts, options } = call;
  try {
    const verdict: unknown = predicate(error, {
      server: { name: tool.server },
      tool: { name: tool.name, sourceName: tool.sourceName },
      args,
      attempts: attempts.length,
      context: options.context,
    });
    // A promise is truthy, so an asynchronous predicate would accept everything.
    if (verdict instanceof Promise) verdict.catch(report);
    return typeof verdict === "boolean" ? verdict : undefined;
  } catch (thrown) {
    report(thrown);
    return undefined;
  }
}

/** @param maxSends number of sends, including the first */
export function createResends(maxSends: number): Resends {
  let left = maxSends - 1;
  let hasRecovered = false;
  const take = (): boolean => {
    if (left <= 0) return false;
    left -= 1;
    return true;
  };
  return {
    take,
    takeRecovery() {
      if (hasRecovered || !take()) return false;
      hasRecovered = true;
      return true;
    },
  };
}
