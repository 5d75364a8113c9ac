/** How many calls a server gets at once and how fast: a bounded queue before it, first come, first served. */
import { ConfigError, type ConfigIssue } from "../errors/config-error.js";
import { ToolCallError } from "../errors/tool-call-error.js";
import type { ToolportError } from "../errors/toolport-error.js";
import { LinkedQueue } from "../util/linked-queue.js";
import { onSharedAbort } from "../util/shared-abort.js";
import { timerMs } from "../util/timers.js";
import { TokenBucket } from "../util/token-bucket.js";
import type { CallInterceptor, ToolCall } from "./tool-call.js";

/** Limits of one server. */
export interface LimitOptions {
  /** Calls under way at once. @default no limit */
  concurrency?: number;
  /** Calls begun per second; `burst` of them may come at once. @default no limit; `burst`: `perSecond`, at least 1 */
  rateLimit?: { perSecond: number; burst?: number };
  /** Calls that may wait for their turn; any more fail with `OVERLOADED`. @default 1000 */
  maxQueue?: number;
}

/** Whether there is anything to limit. If not, leave the step out: then it costs nothing. */
export const hasLimits = ({ concurrency, rateLimit }: LimitOptions): boolean =>
  (concurrency !== undefined && concurrency !== Infinity) || rateLimit !== undefined;

const MAX_QUEUE = 1_000;

interface Waiter {
  start: () => void;
  fail: (error: unknown) => void;
}

/** One server's queue. */
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

  /** Calls that wait for their turn. */
  get queued(): number {
    return this.#queue.size;
  }

  /** Calls under way. */
  get active(): number {
    return this.#active;
  }

  /** Undefined: go on at once; else wait for it. Whoever got in must `leave`. */
  enter(call: ToolCall): Promise<void> | undefined {
    if (this.#queue.size === 0 && this.#admit()) return undefined;
    if (this.#queue.size >= this.#maxQueue) throw this.#overloaded(call);
    return this.#wait(call);
  }

  leave(): void {
    this.#active--;
    this.#advance();
  }

  /** Fails everything that waits: the port is closing. */
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

  /** One timer for the whole queue, and only while nothing but the rate holds it up. */
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
        // A timer may fire a little early: the clock then says that a moment is left.
        timerMs(Math.max(1, this.#rate?.waitMs(1) ?? 1)),
      );
    }
  }

  async #wait(call: ToolCall): Promise<void> {
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

  #overloaded({ tool }: ToolCall): ToolCallError {
    return new ToolCallError({
      code: "OVERLOADED",
      server: this.#server,
      tool: tool.sourceName,
      what: `${this.#maxQueue} calls wait for the server already`,
      next: "Call less at once, or raise concurrency, rateLimit or maxQueue",
      retryable: true,
      outcome: "unsent",
    });
  }

  #expired({ tool }: ToolCall): ToolCallError {
    return new ToolCallError({
      code: "TIMEOUT",
      server: this.#server,
      tool: tool.sourceName,
      what: "The time for the call was over before its turn came",
      next: "Call less at once, or raise concurrency, rateLimit or maxTimeoutMs",
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

/** Lets calls through as the limits of their server allow. */
export function limitStep(limiterFor: (server: string) => Limiter | undefined): CallInterceptor {
  return (next) => {
    const inTurn = async (call: ToolCall, limiter: Limiter) => {
      await limiter.enter(call);
      try {
        return await next(call);
      } finally {
        limiter.leave();
      }
    };
    return (call) => {
      const limiter = limiterFor(call.tool.server);
      return limiter === undefined ? next(call) : inTurn(call, limiter);
    };
  };
}
