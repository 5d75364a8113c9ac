/** Calls a function of the user's in order, and bounds what runs and waits if that function is slow. */
import { callSafely } from "./call-safely.js";
import { LinkedQueue } from "./linked-queue.js";

/** Calls that may wait for a slow callback; beyond that the oldest are dropped. */
export const MAX_WAITING_CALLS = 1_000;

/** Is notified of calls that were dropped because a callback is too slow. */
export interface DropObserver {
  /** One more was dropped: the `count`th since nothing waited. */
  onDropped(count: number): void;
  /** Nothing waits any more, after `count` were dropped. */
  onCaughtUp(count: number): void;
}

export interface OrderedCallbackOptions extends Partial<DropObserver> {
  /** Gets what the callback throws or rejects with. */
  report(error: unknown): void;
  /** Calls that may run at the same time, if they return promises. @default 1 */
  concurrency?: number | undefined;
}

/**
 * A callback that returns nothing is called at once, every time. While promises that it returned are not settled, further
 * calls wait, at most {@link MAX_WAITING_CALLS} of them.
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
  /** Made when something has to wait: most callbacks return nothing. */
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

  /** Forgets the calls that wait; those under way go on. */
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
