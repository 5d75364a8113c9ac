/**
 * One timer for all requests of a connection.
 *
 * Nearly every request is answered long before its time is up, so a timer for each would be set only to be cleared. This one
 * stands at the earliest end that was ever asked for; when it goes off, it looks which requests have really run out of time.
 * It keeps the host process alive while a caller waits, and only then: a connection keeps no host alive, a request does.
 */

import { SlotList, type Slotted } from "../util/slot-list.js";
import { afterNextPoll, timerMs } from "../util/timers.js";

/** Something whose time can run out. */
export interface Clocked extends Slotted {
  /** No caller waits for it, so it does not keep the host process alive. */
  readonly isBackground: boolean;
  /** When its time is up (`performance.now()`). `Infinity`: never. */
  dueAt(): number;
  /** Gives it more time, once; false if it had more already. */
  extend(ms: number): boolean;
  /** The time is up; it has been taken out of the clock. */
  expire(): void;
}

/** A timer that goes off later than this shows that the host was blocked. */
const LATE_MS = 20;
/** Most time that is added because the host was blocked. */
const MOST_EXTRA_MS = 1_000;

export class DeadlineClock {
  readonly #waiting = new SlotList<Clocked>();
  /** How many of them keep the host alive. */
  #holders = 0;
  #timer: ReturnType<typeof setTimeout> | undefined;
  /** When the timer goes off (`performance.now()`). */
  #due = Number.POSITIVE_INFINITY;
  #isHolding = false;
  /** How late the timer went off. */
  #lateMs = 0;
  /** Cancels the look that follows the next poll. */
  #cancelLook: (() => void) | undefined;

  /** Whether it keeps the host process alive. */
  get isHolding(): boolean {
    return this.#isHolding;
  }

  /** Even one without any time left runs out by the timer, not at once. */
  add(one: Clocked): void {
    this.#waiting.add(one);
    if (!one.isBackground) this.#holders += 1;
    const due = one.dueAt();
    if (this.#timer === undefined || due < this.#due) this.#arm(due);
    else if (!this.#isHolding && this.#holders > 0) this.#hold(true);
  }

  delete(one: Clocked): void {
    if (this.#remove(one) && this.#holders === 0 && this.#isHolding) this.#hold(false);
  }

  close(): void {
    clearTimeout(this.#timer);
    this.#cancelLook?.();
    this.#timer = undefined;
    this.#due = Number.POSITIVE_INFINITY;
    this.#waiting.clear();
    this.#holders = 0;
    this.#isHolding = false;
  }

  #remove(one: Clocked): boolean {
    const wasWaiting = this.#waiting.delete(one);
    if (wasWaiting && !one.isBackground) this.#holders -= 1;
    return wasWaiting;
  }

  #arm(due: number): void {
    clearTimeout(this.#timer);
    this.#due = due;
    // Timers hold 31 bits; a longer wait simply looks again.
    this.#timer = setTimeout(this.#onTimer, timerMs(due - performance.now()));
    this.#isHolding = true;
    if (this.#holders === 0) this.#hold(false);
  }

  readonly #onTimer = (): void => {
    this.#lateMs = performance.now() - this.#due;
    this.#timer = undefined;
    this.#due = Number.POSITIVE_INFINITY;
    this.#cancelLook?.();
    this.#cancelLook = afterNextPoll(this.#look);
  };

  readonly #look = (): void => {
    this.#cancelLook = undefined;
    const over: Clocked[] = [];
    const now = performance.now();
    let next = Number.POSITIVE_INFINITY;
    for (const one of this.#waiting.toArray()) {
      if (one.dueAt() <= now && !this.#hasExtraTime(one)) over.push(one);
      else next = Math.min(next, one.dueAt());
    }
    for (const one of over) this.#remove(one);
    if (this.#waiting.size > 0) this.#arm(next);
    else this.#isHolding = false;
    for (const one of over) one.expire();
  };

  /**
   * Time in which the host was blocked is no silence of the server: its answer may need more than one poll to be read, and
   * the request itself may only just have left. So the server gets that time again, once and within limits.
   */
  #hasExtraTime(one: Clocked): boolean {
    return this.#lateMs > LATE_MS && one.extend(Math.min(this.#lateMs, MOST_EXTRA_MS));
  }

  /** Elsewhere than on Node a timer is a number, and holds nothing. */
  #hold(on: boolean): void {
    this.#isHolding = on;
    if (typeof this.#timer !== "object") return;
    if (on) this.#timer.ref();
    else this.#timer.unref();
  }
}
