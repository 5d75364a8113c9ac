/** Notices that a program is over its limit and cannot be interrupted. */
import { afterNextPoll, timerMs } from "../util/timers.js";
import { type RestingThread, whenQuiet } from "./when-quiet.js";

/** A thread that may have to be ended is watched this long before, so that it can be ended at the deadline. */
const LEAD_MS = 1_000;
/** Most programs report within this time. */
const PATIENCE_MS = 50;

/**
 * Calls back after this time if the thread is quiet by then, otherwise as soon as it is. A program that can be interrupted is not
 * quiet: the engine calls JavaScript of the thread again and again.
 *
 * @returns a function that cancels the call
 */
export function atDeadline(thread: RestingThread, ms: number, callback: () => void): () => void {
  let isDue = false;
  let quietMark: number | undefined;
  let cancelWatch: (() => void) | undefined;
  let cancelPoll = (): void => {};

  const watch = (): void => {
    cancelWatch ??= whenQuiet(thread, () => {
      cancelWatch = undefined;
      quietMark = thread.restMark();
      if (isDue) settle();
    });
  };
  // If the host itself was busy, a report of the thread may be waiting to be read.
  const settle = (): void => {
    cancelPoll = afterNextPoll(callback);
  };
  const early =
    ms > PATIENCE_MS ? setTimeout(watch, timerMs(Math.max(PATIENCE_MS, ms - LEAD_MS))) : undefined;
  const due = setTimeout(() => {
    isDue = true;
    if (quietMark !== undefined && quietMark === thread.restMark()) settle();
    else watch();
  }, timerMs(ms));
  return () => {
    clearTimeout(early);
    clearTimeout(due);
    cancelWatch?.();
    cancelPoll();
  };
}
