/**
 * One timer for the deadlines of all requests of a connection.
 *
 * Nearly every request gets its response long before its deadline, so a timer per request would only be set and cleared.
 * The shared timer is set to the earliest deadline; when it fires, the clock checks which requests have expired. The timer
 * keeps the process alive while a foreground request is open, and only then.
 */

import { SlotList, type Slotted } from "../util/collections.js";
import { afterNextPoll, timerMs } from "../util/timers.js";

export interface TimedRequest extends Slotted {
  /** Background requests do not keep the process alive. */
  readonly isBackground: boolean;
  /** The deadline (`performance.now()`). `Infinity`: none. */
  dueAt(): number;
  /** Extends the deadline, at most once; false if it was extended before. */
  extend(ms: number): boolean;
  /** Called after the deadline; the clock no longer holds the request. */
  expire(): void;
}

/** A timer that fires later than this shows that the event loop was blocked. */
const LATE_MS = 20;
/** Longest extension of a deadline because the event loop was blocked. */
const MAX_EXTENSION_MS = 1_000;

export class DeadlineClock {
  readonly #requests = new SlotList<TimedRequest>();
  #foregroundCount = 0;
  #timer: ReturnType<typeof setTimeout> | undefined;
  /** When the timer fires (`performance.now()`). */
  #due = Number.POSITIVE_INFINITY;
  #keepsAlive = false;
  /** How late the timer fired. */
  #lateMs = 0;
  #cancelCheck: (() => void) | undefined;

  /** Whether the timer keeps the process alive. */
  get keepsAlive(): boolean {
    return this.#keepsAlive;
  }

  /** A request whose deadline has passed expires by the timer as well, never synchronously. */
  add(request: TimedRequest): void {
    this.#requests.add(request);
    if (!request.isBackground) this.#foregroundCount += 1;
    const due = request.dueAt();
    if (this.#timer === undefined || due < this.#due) this.#arm(due);
    else if (!this.#keepsAlive && this.#foregroundCount > 0) this.#setKeepAlive(true);
  }

  delete(request: TimedRequest): void {
    if (this.#remove(request) && this.#foregroundCount === 0 && this.#keepsAlive) this.#setKeepAlive(false);
  }

  close(): void {
    clearTimeout(this.#timer);
    this.#cancelCheck?.();
    this.#timer = undefined;
    this.#due = Number.POSITIVE_INFINITY;
    this.#requests.clear();
    this.#foregroundCount = 0;
    this.#keepsAlive = false;
  }

  #remove(request: TimedRequest): boolean {
    const wasHeld = this.#requests.delete(request);
    if (wasHeld && !request.isBackground) this.#foregroundCount -= 1;
    return wasHeld;
  }

  #arm(due: number): void {
    clearTimeout(this.#timer);
    this.#due = due;
    // A deadline beyond the range of timers is checked again when the longest possible timer fires.
    this.#timer = setTimeout(this.#onTimer, timerMs(due - performance.now()));
    this.#keepsAlive = true;
    if (this.#foregroundCount === 0) this.#setKeepAlive(false);
  }

  readonly #onTimer = (): void => {
    this.#lateMs = performance.now() - this.#due;
    this.#timer = undefined;
    this.#due = Number.POSITIVE_INFINITY;
    this.#cancelCheck?.();
    this.#cancelCheck = afterNextPoll(this.#checkDeadlines);
  };

  readonly #checkDeadlines = (): void => {
    this.#cancelCheck = undefined;
    const expired: TimedRequest[] = [];
    const now = performance.now();
    let next = Number.POSITIVE_INFINITY;
    for (const request of this.#requests.toArray()) {
      if (request.dueAt() <= now && !this.#extendAfterBlock(request)) expired.push(request);
      else next = Math.min(next, request.dueAt());
    }
    for (const request of expired) this.#remove(request);
    if (this.#requests.size > 0) this.#arm(next);
    else this.#keepsAlive = false;
    for (const request of expired) request.expire();
  };

  /**
   * The server is not to blame for time in which our event loop was blocked: its response may wait unread, and the request
   * may have just been written. So the request gets that time again, once and within limits.
   */
  #extendAfterBlock(request: TimedRequest): boolean {
    return this.#lateMs > LATE_MS && request.extend(Math.min(this.#lateMs, MAX_EXTENSION_MS));
  }

  /** Outside Node a timer is a number and keeps no process alive. */
  #setKeepAlive(on: boolean): void {
    this.#keepsAlive = on;
    if (typeof this.#timer !== "object") return;
    if (on) this.#timer.ref();
    else this.#timer.unref();
  }
}
