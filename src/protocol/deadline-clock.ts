/**
 * One timer for all requests of a connection.
 *
 * Nearly every request is answered long before its time is up, so a timer for each would be set only to be cleared. This one
 * stands at the earliest end that was ever asked for; when it goes off, it looks who has really run out of time. It keeps
 * the host process alive while somebody waits, and only then: a connection keeps no host alive, a request does.
 */
import { SlotList, type Slotted } from "../util/slot-list.js";
import { timerMs } from "../util/timer-ms.js";

/** Somebody whose time can run out. */
export interface Clocked extends Slotted {
  /** When its time is up (`performance.now()`). `Infinity`: never. */
  dueAt(): number;
  /** The time is up; it has been taken out of the clock. */
  expire(): void;
}

export class DeadlineClock {
  readonly #waiting = new SlotList<Clocked>();
  #timer: ReturnType<typeof setTimeout> | undefined;
  /** When the timer goes off (`performance.now()`). */
  #due = Number.POSITIVE_INFINITY;
  #isHolding = false;

  /** Whether it keeps the host process alive. */
  get isHolding(): boolean {
    return this.#isHolding;
  }

  /** Even one without any time left runs out by the timer, not at once. */
  add(one: Clocked): void {
    this.#waiting.add(one);
    const due = one.dueAt();
    if (this.#timer === undefined || due < this.#due) this.#arm(due);
    else if (!this.#isHolding) this.#hold(true);
  }

  delete(one: Clocked): void {
    if (this.#waiting.delete(one) && this.#waiting.size === 0) this.#hold(false);
  }

  close(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#due = Number.POSITIVE_INFINITY;
    this.#waiting.clear();
    this.#isHolding = false;
  }

  #arm(due: number): void {
    clearTimeout(this.#timer);
    this.#due = due;
    // Timers hold 31 bits; a longer wait simply looks again.
    this.#timer = setTimeout(this.#look, timerMs(due - performance.now()));
    this.#isHolding = true;
  }

  readonly #look = (): void => {
    this.#timer = undefined;
    this.#due = Number.POSITIVE_INFINITY;
    const over: Clocked[] = [];
    const now = performance.now();
    let next = Number.POSITIVE_INFINITY;
    for (const one of this.#waiting.toArray()) {
      const due = one.dueAt();
      if (due > now) next = Math.min(next, due);
      else over.push(one);
    }
    for (const one of over) this.#waiting.delete(one);
    if (this.#waiting.size > 0) this.#arm(next);
    else this.#isHolding = false;
    for (const one of over) one.expire();
  };

  /** Elsewhere than on Node a timer is a number, and holds nothing. */
  #hold(on: boolean): void {
    this.#isHolding = on;
    if (typeof this.#timer !== "object") return;
    if (on) this.#timer.ref();
    else this.#timer.unref();
  }
}
