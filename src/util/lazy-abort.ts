/** An abort signal that is created only if it is needed: a real one costs as much as the rest of a short request. */
import { SlotList, type Slotted } from "./slot-list.js";

interface Waiter extends Slotted {
  readonly callback: () => void;
}

/** Aborts work, like an `AbortController`. */
export class LazyAbort {
  #controller: AbortController | undefined;
  #waiters: SlotList<Waiter> | undefined;
  #aborted = false;
  #reason: unknown;

  get aborted(): boolean {
    return this.#aborted;
  }

  get reason(): unknown {
    return this.#reason;
  }

  /** The same as a real signal, for code that needs one. */
  get signal(): AbortSignal {
    if (this.#controller === undefined) {
      this.#controller = new AbortController();
      if (this.#aborted) this.#controller.abort(this.#reason);
    }
    return this.#controller.signal;
  }

  abort(reason: unknown): void {
    if (this.#aborted) return;
    this.#aborted = true;
    this.#reason = reason;
    this.#controller?.abort(reason);
    for (const waiter of this.#waiters?.toArray() ?? []) {
      this.#waiters?.delete(waiter);
      waiter.callback();
    }
  }

  /** Calls back when the work is aborted. Returns a function that removes the callback. */
  onAbort(callback: () => void): () => void {
    this.#waiters ??= new SlotList();
    const waiters = this.#waiters;
    const waiter: Waiter = { slot: -1, callback };
    waiters.add(waiter);
    return () => void waiters.delete(waiter);
  }
}

/** A real signal. */
export const toSignal = (abort: AbortSignal | LazyAbort): AbortSignal =>
  abort instanceof LazyAbort ? abort.signal : abort;
