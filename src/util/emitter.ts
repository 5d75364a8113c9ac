/** A typed event emitter whose listeners cannot hurt each other or the one who emits. */
import { callSafely } from "./call-safely.js";

type Listener<T> = (event: T) => void;

/**
 * Synchronous, typed, and safe: a listener that throws is reported and the others still run.
 *
 * @example
 * ```ts
 * const emitter = new Emitter<{ state: string }>((error) => console.error(error));
 * const off = emitter.on("state", (state) => console.log(state));
 * ```
 */
export class Emitter<Events extends object> {
  readonly #listeners = new Map<keyof Events, Set<Listener<never>>>();
  readonly #report: (error: unknown) => void;

  constructor(report: (error: unknown) => void) {
    this.#report = report;
  }

  /** Returns a function that takes the listener off again. */
  on<Name extends keyof Events>(name: Name, listener: Listener<Events[Name]>): () => void {
    const listeners = this.#listeners.get(name) ?? new Set();
    this.#listeners.set(name, listeners);
    // A wrapper of its own, so that the same function registered twice is called twice and removed once.
    const entry: Listener<Events[Name]> = (event) => listener(event);
    listeners.add(entry);
    return () => {
      listeners.delete(entry);
    };
  }

  /** True if somebody listens. */
  has(name: keyof Events): boolean {
    return (this.#listeners.get(name)?.size ?? 0) > 0;
  }

  emit<Name extends keyof Events>(name: Name, event: Events[Name]): void {
    for (const listener of [...(this.#listeners.get(name) ?? [])] as Listener<Events[Name]>[]) {
      callSafely(() => listener(event), this.#report);
    }
  }

  clear(): void {
    this.#listeners.clear();
  }
}
