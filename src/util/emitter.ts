/** A typed event emitter whose listeners cannot hurt each other or the one who emits. */
import { OrderedCallback, type OrderedCallbackOptions } from "./ordered-callback.js";

type Listener<T> = (event: T) => unknown;

/**
 * Typed and safe: a listener that throws is reported and the others still run. A listener that returns nothing is called
 * synchronously. One that returns promises is called in order, within the bounds of {@link OrderedCallback}.
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

  /** Returns a function that takes the listener off again. */
  on<Name extends keyof Events>(name: Name, listener: Listener<Events[Name]>): () => void {
    const listeners = this.#listeners.get(name) ?? new Set();
    this.#listeners.set(name, listeners);
    // An entry of its own, so that the same function registered twice is called twice and removed once.
    const entry = new OrderedCallback(listener as Listener<unknown>, this.#optionsFor(name));
    listeners.add(entry);
    return () => {
      listeners.delete(entry);
      entry.clear();
    };
  }

  /** True if there is a listener. */
  has(name: keyof Events): boolean {
    return (this.#listeners.get(name)?.size ?? 0) > 0;
  }

  emit<Name extends keyof Events>(name: Name, event: Events[Name]): void {
    for (const listener of [...(this.#listeners.get(name) ?? [])]) listener.call(event);
  }

  /** Takes all listeners off. What waits for a slow one is still delivered: it happened before. */
  clear(): void {
    this.#listeners.clear();
  }
}
