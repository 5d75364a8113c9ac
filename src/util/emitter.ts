/** A typed event emitter that isolates listeners from each other and from the emitter. */
import { OrderedCallback, type OrderedCallbackOptions } from "./ordered-callback.js";

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
  readonly #optionsFor: (name: keyof Events) => OrderedCallbackOptions;

  constructor(optionsFor: (name: keyof Events) => OrderedCallbackOptions) {
    this.#optionsFor = optionsFor;
  }

  /** Adds a listener. Returns a function that removes it. */
  on<Name extends keyof Events>(name: Name, listener: Listener<Events[Name]>): () => void {
    const listeners = this.#listeners.get(name) ?? new Set();
    this.#listeners.set(name, listeners);
    // A new entry per registration: a function registered twice is called twice, and each can be removed.
    const entry = new OrderedCallback(listener as Listener<unknown>, this.#optionsFor(name));
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
