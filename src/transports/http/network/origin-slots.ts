/** Limits how many requests have a socket to one origin at the same time; the others wait in the order they came. */

type Start = () => void;

export class OriginSlots {
  readonly #max: number;
  readonly #used = new Map<string, number>();
  readonly #waiting = new Map<string, Set<Start>>();

  constructor(max: number) {
    this.#max = max;
  }

  /** Takes a slot; false if all are taken. */
  take(origin: string): boolean {
    const used = this.#used.get(origin) ?? 0;
    if (used >= this.#max) return false;
    this.#used.set(origin, used + 1);
    return true;
  }

  /** Calls `start` when a slot is free; that slot is taken then. Returns a function that stops waiting. */
  wait(origin: string, start: Start): () => void {
    let queue = this.#waiting.get(origin);
    if (queue === undefined) {
      queue = new Set();
      this.#waiting.set(origin, queue);
    }
    queue.add(start);
    return () => void this.#remove(origin, start);
  }

  /** Gives a slot back: to the request that has waited longest, if one waits. */
  release(origin: string): void {
    const [next] = this.#waiting.get(origin) ?? [];
    if (next === undefined) {
      const used = (this.#used.get(origin) ?? 1) - 1;
      if (used === 0) this.#used.delete(origin);
      else this.#used.set(origin, used);
      return;
    }
    this.#remove(origin, next);
    // Node returns the socket to its pool right after it said that the request is closed.
    process.nextTick(next);
  }

  #remove(origin: string, start: Start): void {
    const queue = this.#waiting.get(origin);
    queue?.delete(start);
    if (queue?.size === 0) this.#waiting.delete(origin);
  }
}
