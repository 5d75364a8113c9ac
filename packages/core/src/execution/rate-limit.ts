/** Limits the concurrency and the rate of calls to one server with a bounded first-in, first-out queue. */

import {
  ConfigError,
  type ConfigIssue,
  LinkedQueue,
  onSharedAbort,
  TokenBucket,
  ToolCallError,
  type ToolportError,
  timerMs,
} from "@toolport/base";
import type { ToolResult } from "./tool-result.js";

/** Limits for the calls to one server. */
export interface LimitOptions {
  /** Maximum number of calls at the same time. @default no limit */
  concurrency?: number;
  /** Calls started per second; up to `burst` of them at once. @default no limit; `burst`: `perSecond`, at least 1 */
  rateLimit?: { perSecond: number; burst?: number };
  /** Maximum number of waiting calls; further calls fail with `OVERLOADED`. @default 1000 */
  maxQueue?: number;
}

/** Without limits there is no limiter, and the calls skip the queue. */
export const hasLimits = ({ concurrency, rateLimit }: LimitOptions): boolean =>
  (concurrency !== undefined && concurrency !== Infinity) || rateLimit !== undefined;

const MAX_QUEUE = 1_000;

interface Waiter {
  start: () => void;
  fail: (error: unknown) => void;
}

/** The part of a call that the limiter reads. */
interface QueuedCall {
  readonly tool: { readonly sourceName: string };
  readonly options: { readonly signal?: AbortSignal };
  /** In the time of `performance.now()`. */
  readonly deadline: number;
}

/** The queue of one server. */
export class Limiter {
  readonly #server: string;
  readonly #concurrency: number;
  readonly #rate: TokenBucket | undefined;
  readonly #maxQueue: number;
  readonly #now: () => number;
  readonly #queue = new LinkedQueue<Waiter>();
  #active = 0;
  #timer: ReturnType<typeof setTimeout> | undefined;

  constructor(server: string, options: LimitOptions, now: () => number = () => performance.now()) {
    checkLimits(server, options);
    const { concurrency = Infinity, rateLimit, maxQueue = MAX_QUEUE } = options;
    this.#server = server;
    this.#concurrency = concurrency;
    this.#maxQueue = maxQueue;
    this.#now = now;
    if (rateLimit !== undefined) {
      const capacity = rateLimit.burst ?? Math.max(1, rateLimit.perSecond);
      this.#rate = new TokenBucket({ capacity, perSecond: rateLimit.perSecond, now });
    }
  }

  /** Number of waiting calls. */
  get queued(): number {
    return this.#queue.size;
  }

  /** Number of calls under way. */
  get active(): number {
    return this.#active;
  }

  /** Undefined: the call may start at once; otherwise await the promise. The caller must `leave` when the call is over. */
  enter(call: QueuedCall): Promise<void> | undefined {
    if (this.#queue.size === 0 && this.#admit()) return undefined;
    if (this.#queue.size >= this.#maxQueue) throw this.#overloaded(call);
    return this.#wait(call);
  }

  leave(): void {
    this.#active--;
    this.#advance();
  }

  /** Rejects every waiting call with the error. */
  clear(error: ToolportError): void {
    for (let waiter = this.#queue.shift(); waiter !== undefined; waiter = this.#queue.shift())
      waiter.fail(error);
    this.#settleTimer();
  }

  #admit(): boolean {
    if (this.#active >= this.#concurrency || this.#rate?.take(1) === false) return false;
    this.#active++;
    return true;
  }

  #advance(): void {
    while (this.#queue.size > 0 && this.#admit()) this.#queue.shift()?.start();
    this.#settleTimer();
  }

  /** Starts the one timer of the queue while only the rate limit delays the next call, and stops it otherwise. */
  #settleTimer(): void {
    const isNeeded = this.#rate !== undefined && this.#queue.size > 0 && this.#active < this.#concurrency;
    if (!isNeeded) {
      clearTimeout(this.#timer);
      this.#timer = undefined;
    } else {
      this.#timer ??= setTimeout(
        () => {
          this.#timer = undefined;
          this.#advance();
        },
        // A timer may fire slightly early; wait at least 1 ms more then.
        timerMs(Math.max(1, this.#rate?.waitMs(1) ?? 1)),
      );
    }
  }

  async #wait(call: QueuedCall): Promise<void> {
    const { signal } = call.options;
    signal?.throwIfAborted();
    const leftMs = call.deadline - this.#now();
    if (leftMs <= 0) throw this.#expired(call);
    let timer: ReturnType<typeof setTimeout> | undefined;
    let release: (() => void) | undefined;
    try {
      await new Promise<void>((start, fail) => {
        const entry = this.#queue.push({ start, fail });
        const giveUp = (error: unknown) => {
          if (!this.#queue.remove(entry)) return;
          fail(error);
          this.#settleTimer();
        };
        if (leftMs < Infinity) timer = setTimeout(() => giveUp(this.#expired(call)), timerMs(leftMs));
        if (signal !== undefined) release = onSharedAbort(signal, () => giveUp(signal.reason));
        this.#settleTimer();
      });
    } finally {
      clearTimeout(timer);
      release?.();
    }
  }

  #overloaded({ tool }: QueuedCall): ToolCallError {
    return new ToolCallError({
      code: "OVERLOADED",
      server: this.#server,
      tool: tool.sourceName,
      what: `${this.#maxQueue} calls already wait for the server`,
      next: "Make fewer calls at once, or raise concurrency, rateLimit or maxQueue",
      retryable: true,
      outcome: "unsent",
    });
  }

  #expired({ tool }: QueuedCall): ToolCallError {
    return new ToolCallError({
      code: "TIMEOUT",
      server: this.#server,
      tool: tool.sourceName,
      what: "The call timed out while it waited in the queue of the server",
      next: "Make fewer calls at once, or raise concurrency, rateLimit or maxTimeoutMs",
      phase: "queue",
      retryable: true,
      outcome: "unsent",
    });
  }
}

function checkLimits(server: string, { concurrency, rateLimit, maxQueue }: LimitOptions): void {
  const issues: ConfigIssue[] = [];
  const check = (path: string, value: number | undefined, least: number) => {
    if (value !== undefined && !(value >= least))
      issues.push({ path, message: `must be at least ${least}, not ${value}` });
  };
  check("concurrency", concurrency, 1);
  check("rateLimit.burst", rateLimit?.burst, 1);
  check("maxQueue", maxQueue, 0);
  if (rateLimit !== undefined && !(rateLimit.perSecond > 0 && Number.isFinite(rateLimit.perSecond)))
    issues.push({
      path: "rateLimit.perSecond",
      message: `must be a number above 0, not ${rateLimit.perSecond}`,
    });
  if (issues.length > 0)
    throw new ConfigError({ code: "INVALID_CONFIG", server, what: "The limits are not valid", issues });
}

/** Runs a call when the limiter admits it. */
export function limitStep<Call extends QueuedCall, Answer = ToolResult>(
  limiterOf: (call: Call) => Limiter | undefined,
): (next: (call: Call) => Promise<Answer>) => (call: Call) => Promise<Answer> {
  return (next) => async (call) => {
    const limiter = limiterOf(call);
    if (limiter === undefined) return next(call);
    await limiter.enter(call);
    try {
      return await next(call);
    } finally {
      limiter.leave();
    }
  };
}
