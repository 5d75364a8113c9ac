/** Callbacks of users: listeners, calls that report failures, and calls in order. */
import { getOrMake, LinkedQueue } from "./collections.js";

type Listener<T> = (event: T) => unknown;

/**
 * A listener that throws is reported, and the others still run. Listeners are called synchronously; a listener that returns
 * promises is called in order, within the limits of {@link OrderedCallback}.
 *
 * @example
 * ```ts
 * const emitter = new Emitter<{ state: string }>(() => ({ report: (error) => console.error(error) }));
 * const off = emitter.on("state", (state) => console.log(state));
 * ```
 */
export class Emitter<Events extends object> {
  readonly #listeners = new Map<keyof Events, Set<OrderedCallback<unknown>>>();

  constructor(private readonly optionsFor: (name: keyof Events) => OrderedCallbackOptions) {}

  /** Adds a listener. Returns a function that removes it. */
  on<Name extends keyof Events>(name: Name, listener: Listener<Events[Name]>): () => void {
    const listeners = getOrMake(this.#listeners, name, () => new Set());
    // A new entry per registration: a function registered twice is called twice, and each can be removed.
    const entry = new OrderedCallback(listener as Listener<unknown>, this.optionsFor(name));
    listeners.add(entry);
    return () => {
      listeners.delete(entry);
      entry.clear();
    };
  }

  has(name: keyof Events): boolean {
    return (this.#listeners.get(name)?.size ?? 0) > 0;
  }

  emit<Name extends keyof Events>(name: Name, event: Events[Name]): void {
    for (const listener of [...(this.#listeners.get(name) ?? [])]) listener.call(event);
  }

  /** Removes all listeners. Events that already wait for a slow listener are still delivered. */
  clear(): void {
    this.#listeners.clear();
  }
}

const isThenable = (value: unknown): value is PromiseLike<unknown> =>
  typeof value === "object" && value !== null && typeof (value as { then?: unknown }).then === "function";

/**
 * Runs `call` and passes its error or rejection to `report`. Returns a promise that settles with the call if it is asynchronous,
 * else undefined.
 */
export function callSafely(
  call: () => unknown,
  report: (error: unknown) => void,
): Promise<unknown> | undefined {
  try {
    const returned = call();
    if (isThenable(returned)) return Promise.resolve(returned).then(undefined, report);
  } catch (error) {
    report(error);
  }
  return undefined;
}

/** Maximum number of waiting calls; beyond that the oldest are dropped. */
export const MAX_WAITING_CALLS = 1_000;

/** Is notified of calls that are dropped because a callback is too slow. */
export interface DropObserver {
  /** A call was dropped, the `count`th since the queue was last empty. */
  onDropped(count: number): void;
  /** The queue is empty again after `count` calls were dropped. */
  onCaughtUp(count: number): void;
}

interface OrderedCallbackOptions extends Partial<DropObserver> {
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
  readonly #concurrency: number;
  /** Created when the first call has to wait: most callbacks are synchronous. */
  #waiting: LinkedQueue<Value> | undefined;
  #running = 0;
  #dropped = 0;

  constructor(
    private readonly callback: (value: Value) => unknown,
    private readonly options: OrderedCallbackOptions,
  ) {
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
    this.options.onDropped?.(this.#dropped);
  }

  #start(value: Value): void {
    const ending = callSafely(() => this.callback(value), this.options.report);
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
    this.options.onCaughtUp?.(dropped);
  };
}
