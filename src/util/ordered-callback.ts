/** Calls a user's function in order, with limits on running and waiting calls if it is asynchronous. */
import { callSafely } from "./call-safely.js";
import { LinkedQueue } from "./linked-queue.js";

/** Maximum number of waiting calls; beyond that the oldest are dropped. */
export const MAX_WAITING_CALLS = 1_000;

/** Is notified of calls that are dropped because a callback is too slow. */
export interface DropObserver {
  /** A call was dropped, the `count`th since the queue was last empty. */
  onDropped(count: number): void;
  /** The queue is empty again after `count` calls were dropped. */
  onCaughtUp(count: number): void;
}

export interface OrderedCallbackOptions extends Partial<DropObserver> {
  /** Receives errors and rejections of the callback. */
  report(error: unknown): void;
  /** Maximum number of asynchronous calls at a time. @default 1 */
  concurrency?: number | undefined;
}

/**
 * A synchronous callback is called immediately. While promises that it returned are pending, further calls wait, at most
 * {@link MAX_WAITING_CALLS} of them.
 *
 * @example
 * ```ts
 * const onLog = new OrderedCallback(writeToDatabase, { report: console.error });
 * onLog.call(entry); // never throws, never waits
 * ```
 */
export class OrderedCallback<Value> {
  readonly #callback: (value: Value) => unknown;
  readonly #options: OrderedCallbackOptions;
  readonly #concurrency: number;
  /** Created when the first call has to wait: most callbacks are synchronous. */
  #waiting: LinkedQueue<Value> | undefined;
  #running = 0;
  #dropped = 0;

  constructor(callback: (value: Value) => unknown, options: OrderedCallbackOptions) {
    this.#callback = callback;
    this.#options = options;
    this.#concurrency = options.concurrency ?? 1;
  }

  call(value: Value): void {
    const waiting = this.#waiting;
    if (this.#running < this.#concurrency && !waiting?.size) this.#start(value);
    else this.#enqueue(value);
  }

  /** Drops the waiting calls; running calls continue. */
  clear(): void {
    this.#waiting = undefined;
    this.#dropped = 0;
  }

  #enqueue(value: Value): void {
    this.#waiting ??= new LinkedQueue();
    this.#waiting.push(value);
    if (this.#waiting.size <= MAX_WAITING_CALLS) return;
    this.#waiting.shift();
    this.#dropped += 1;
    this.#options.onDropped?.(this.#dropped);
  }

  #start(value: Value): void {
    const ending = callSafely(() => this.#callback(value), this.#options.report);
    if (ending === undefined) return;
    this.#running += 1;
    ending.then(this.#ended, this.#ended);
  }

  readonly #ended = (): void => {
    this.#running -= 1;
    while (this.#running < this.#concurrency && this.#waiting?.size) this.#start(this.#waiting.shift()!);
    if (this.#dropped === 0 || this.#waiting?.size) return;
    const dropped = this.#dropped;
    this.#dropped = 0;
    this.#options.onCaughtUp?.(dropped);
  };
}
