/** A way to end one exchange from outside, at any time: what an `AbortSignal` does, at the price of an object. */

import type { Slotted } from "../../../util/slot-list.js";

/** Reason of an exchange whose caller gave up. No caller sees it, so one object serves all. */
export const ABANDONED = new Error("abandoned");
/** The same, because no answer came in time. Kept sockets to that server may be dead, so those that are idle are closed. */
export const NO_ANSWER = new Error("no answer in time");

/** The exchange ended because no caller waits for it any more. */
export const isGivenUp = (reason: unknown): boolean => reason === ABANDONED || reason === NO_ANSWER;

/** What a lifeline ends. */
export interface Endable {
  /** The caller fails with the reason as it is. Returns true if it is known that nothing was sent. Does nothing if it is over. */
  abort(reason: unknown): unknown;
}

export class Lifeline implements Slotted {
  slot = -1;
  #aborted: { readonly reason: unknown } | undefined;
  #exchange: Endable | undefined;
  #controller: AbortController | undefined;

  get aborted(): boolean {
    return this.#aborted !== undefined;
  }

  /** For those who take nothing but a signal; made when it is asked for. */
  get signal(): AbortSignal {
    this.#controller ??= new AbortController();
    if (this.#aborted !== undefined) this.#controller.abort(this.#aborted.reason);
    return this.#controller.signal;
  }

  /** This is what hangs on it now. */
  attach(exchange: Endable): void {
    this.#exchange = exchange;
    if (this.#aborted !== undefined) exchange.abort(this.#aborted.reason);
  }

  /** Returns true if it is known that nothing was sent. */
  abort(reason: unknown): boolean {
    if (this.#aborted !== undefined) return false;
    this.#aborted = { reason };
    const isUnsent = this.#exchange === undefined || this.#exchange.abort(reason) === true;
    this.#controller?.abort(reason);
    return isUnsent;
  }

  throwIfAborted(): void {
    if (this.#aborted !== undefined) throw this.#aborted.reason;
  }
}
