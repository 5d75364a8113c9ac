/** Counts calls of callbacks that were dropped because the callback is too slow. */
import { type DropObserver, MAX_WAITING_CALLS } from "../util/ordered-callback.js";

/** A callback that stays too slow is reported again after this many dropped calls. */
const REPORT_EVERY = 10_000;

const figure = (count: number): string => count.toLocaleString("en-US");

export class DroppedCalls {
  readonly #counts = new Map<string, number>();
  readonly #warn: (message: string) => void;

  constructor(warn: (message: string) => void) {
    this.#warn = warn;
  }

  /** @param callback name of the option or event, for instance `onLog` */
  of(callback: string): DropObserver {
    return {
      onDropped: (count) => {
        this.#counts.set(callback, (this.#counts.get(callback) ?? 0) + 1);
        if (count !== 1 && count % REPORT_EVERY !== 0) return;
        this.#warn(
          `${callback} is too slow: ${figure(MAX_WAITING_CALLS)} calls wait for its promise, and the oldest are dropped (${figure(count)} so far). Let it return sooner, or hand the work to a queue of your own`,
        );
      },
      onCaughtUp: (count) =>
        this.#warn(`${callback} has caught up; ${figure(count)} of its calls were dropped meanwhile`),
    };
  }

  /** Number of dropped calls, by callback. */
  counts(): Record<string, number> {
    return Object.fromEntries(this.#counts);
  }
}
