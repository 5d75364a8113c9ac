/** Timers, deadlines, delays, and callbacks on abort. */
import { SlotList, type Slotted } from "./collections.js";

/** About 24 days and 20 hours. */
const LONGEST_TIMER_MS = 2 ** 31 - 1;

/**
 * Clamps a delay to the range of `setTimeout`, which fires at once for longer delays. Negative delays become 0: newer versions of
 * Node print a warning for them.
 */
export const timerMs = (ms: number): number => Math.max(0, Math.min(ms, LONGEST_TIMER_MS));

/** Lets the process end while the timer runs. Timers are objects with `unref()` on Node, and numbers on Workers and in browsers. */
export function unrefTimer<Timer extends ReturnType<typeof setTimeout>>(timer: Timer): Timer {
  if (typeof timer === "object") timer.unref?.();
  return timer;
}

/** Keeps the process alive until the returned function is called. */
export function holdHost(): () => void {
  const timer = setInterval(() => {}, timerMs(Number.POSITIVE_INFINITY));
  return () => clearInterval(timer);
}

/**
 * Calls back after the event loop has polled for I/O again. A late timer fires before the data that arrived in the meantime is
 * read; this function lets the data be read first.
 *
 * @returns a function that cancels the call
 */
export function afterNextPoll(callback: () => void): () => void {
  // Node runs immediates right after polling. Browsers and Workers have none; a timer is the best approximation.
  if (typeof setImmediate === "function") {
    const immediate = setImmediate(callback);
    return () => clearImmediate(immediate);
  }
  const timer = setTimeout(callback, 0);
  return () => clearTimeout(timer);
}

/** One registration; the same function may be registered twice. */
interface Waiter extends Slotted {
  readonly callback: () => void;
}

const waiters = new WeakMap<AbortSignal, SlotList<Waiter>>();

/**
 * Calls back when the signal aborts. All requests of a connection, or all calls of an agent's turn, may share one signal: with a
 * listener for each, Node would warn of a leak at the eleventh. Returns a function that removes the callback.
 */
export function onSharedAbort(signal: AbortSource, callback: () => void): () => void {
  if (signal instanceof LightAbort) return signal.onAbort(callback);
  let waiting = waiters.get(signal);
  if (waiting === undefined) {
    waiting = new SlotList();
    waiters.set(signal, waiting);
  }
  if (waiting.size === 0) signal.addEventListener("abort", onAbort);
  const waiter: Waiter = { slot: -1, callback };
  waiting.add(waiter);
  const list = waiting;
  return () => {
    if (list.delete(waiter) && list.size === 0) signal.removeEventListener("abort", onAbort);
  };
}

/**
 * Aborts one request. An `AbortController` with a listener takes 3.5 µs more, which moves the row "echo call → HTTP" of `bench/README.md`
 * by 6 %.
 */
export class LightAbort {
  aborted = false;
  reason: unknown;
  readonly #callbacks: (() => void)[] = [];

  abort(reason: unknown): void {
    if (this.aborted) return;
    this.aborted = true;
    this.reason = reason;
    for (const callback of this.#callbacks.splice(0)) callback();
  }

  throwIfAborted(): void {
    if (this.aborted) throw this.reason;
  }

  /** Returns a function that removes the callback. */
  onAbort(callback: () => void): () => void {
    this.#callbacks.push(callback);
    return () => {
      const index = this.#callbacks.indexOf(callback);
      if (index >= 0) this.#callbacks.splice(index, 1);
    };
  }
}

export type AbortSource = AbortSignal | LightAbort;

function onAbort(this: AbortSignal): void {
  this.removeEventListener("abort", onAbort);
  const all = waiters.get(this)?.toArray() ?? [];
  waiters.delete(this);
  for (const { callback } of all) callback();
}

type Timer = ReturnType<typeof setTimeout>;

/**
 * Resolves after `ms`; rejects with the signal's reason on abort. Keeps the process alive, so that it does not exit in the middle
 * of a call.
 */
export const sleep = (ms: number, signal?: AbortSignal): Promise<void> => wait(ms, signal, () => {});

/** Like {@link sleep} for background work: does not keep the process alive. */
export const pause = (ms: number, signal?: AbortSource): Promise<void> => wait(ms, signal, unrefTimer);

function wait(ms: number, signal: AbortSource | undefined, onTimer: (timer: Timer) => void): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal?.aborted) return reject(signal.reason);
    const onAbort = () => {
      clearTimeout(timer);
      reject(signal?.reason);
    };
    const timer = setTimeout(() => {
      stopListening?.();
      resolve();
    }, timerMs(ms));
    onTimer(timer);
    const stopListening = signal && onSharedAbort(signal, onAbort);
  });
}

interface DeadlineOptions {
  signal?: AbortSource | undefined;
  /** `Infinity` or undefined: no limit. */
  timeoutMs?: number | undefined;
  /** Creates the error for a timeout. */
  onTimeout: () => Error;
}

/**
 * Waits for `promise` until the timeout or the abort. The promise itself continues, because other callers share it; its creator
 * must handle its rejection. Keeps the process alive while a caller waits.
 */
export function withDeadline<T>(
  promise: Promise<T>,
  { signal, timeoutMs, onTimeout }: DeadlineOptions,
): Promise<T> {
  const limited = timeoutMs !== undefined && Number.isFinite(timeoutMs);
  if (signal === undefined && !limited) return promise.finally(holdHost());
  return new Promise<T>((resolve, reject) => {
    if (signal?.aborted) {
      promise.catch(() => {});
      return reject(signal.reason);
    }
    const settle = (finish: () => void) => {
      clearTimeout(timer);
      release?.();
      stopListening?.();
      finish();
    };
    const onAbort = () => settle(() => reject(signal?.reason));
    const timer = limited
      ? setTimeout(() => settle(() => reject(onTimeout())), timerMs(timeoutMs))
      : undefined;
    const release = limited ? undefined : holdHost();
    const stopListening = signal && onSharedAbort(signal, onAbort);
    promise.then(
      (value) => settle(() => resolve(value)),
      (error) => settle(() => reject(error)),
    );
  });
}

interface BackoffOptions {
  /** Delay before the second attempt. @default 1000 */
  baseMs?: number;
  /** Growth factor per attempt. @default 1.6 */
  factor?: number;
  /** Random share of the delay, in both directions. @default 0.2 */
  jitter?: number;
  /** Longest delay. @default 60000 */
  maxMs?: number;
  random?: () => number;
}

/**
 * The delay before attempt `attempt` (1 is the first) for work that a caller waits for: the first attempt is immediate. The
 * defaults are those of gRPC's connection backoff with a shorter maximum.
 */
export function backoffMs(
  attempt: number,
  { baseMs = 1_000, factor = 1.6, jitter = 0.2, maxMs = 60_000, random = Math.random }: BackoffOptions = {},
): number {
  if (attempt <= 1) return 0;
  const wait = Math.min(baseMs * factor ** (attempt - 2), maxMs);
  return Math.round(wait * (1 + jitter * (2 * random() - 1)));
}

interface FullJitterOptions {
  /** Longest delay before the first attempt; doubles with every attempt. @default 1000 */
  baseMs?: number;
  /** Longest delay. @default 60000 */
  maxMs?: number;
  random?: () => number;
}

/**
 * The delay before attempt `attempt` (1 is the first) for background work: random between 0 and a limit that doubles with every
 * attempt, so that many clients of a restarting server do not reconnect in one burst.
 */
export function fullJitterMs(
  attempt: number,
  { baseMs = 1_000, maxMs = 60_000, random = Math.random }: FullJitterOptions = {},
): number {
  return Math.round(random() * Math.min(baseMs * 2 ** (Math.max(attempt, 1) - 1), maxMs));
}

/**
 * Repeats `work`, with growing pauses, until it succeeds or fails after `ms` milliseconds: then it rejects with the last error. An
 * abort ends the pauses with the signal's reason. Does not keep the process alive.
 */
export async function retryFor<T>(ms: number, signal: AbortSignal, work: () => Promise<T>): Promise<T> {
  const until = performance.now() + ms;
  for (let attempt = 2; ; attempt++) {
    try {
      return await work();
    } catch (error) {
      if (performance.now() >= until) throw error;
      await pause(backoffMs(attempt, { baseMs: 200, maxMs: 2_000 }), signal);
    }
  }
}
