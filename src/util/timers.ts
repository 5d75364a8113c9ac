/** Timers: their longest delay, keeping the process alive, and waiting for pending I/O. */

/** About 24 days and 20 hours. */
const LONGEST_TIMER_MS = 2 ** 31 - 1;

/**
 * Clamps a delay to the range of `setTimeout`, which fires at once for longer delays. Negative delays become 0: newer versions of
 * Node print a warning for them.
 */
export const timerMs = (ms: number): number => Math.max(0, Math.min(ms, LONGEST_TIMER_MS));

/** Lets the process end while the timer runs. Timers are objects with `unref()` on Node, and numbers on Workers and in browsers. */
export function unrefTimer<Timer extends ReturnType<typeof setTimeout>>(timer: Timer): Timer {
  if (typeof timer === "object") timer.unref?.();
  return timer;
}

/** Keeps the process alive until the returned function is called. */
export function holdHost(): () => void {
  const timer = setInterval(() => {}, timerMs(Number.POSITIVE_INFINITY));
  return () => clearInterval(timer);
}

/**
 * Calls back after the event loop has polled for I/O again. A late timer fires before the data that arrived in the meantime is
 * read; this function lets the data be read first.
 *
 * @returns a function that cancels the call
 */
export function afterNextPoll(callback: () => void): () => void {
  // Node runs immediates right after polling. Browsers and Workers have none; a timer is the best approximation.
  if (typeof setImmediate === "function") {
    const immediate = setImmediate(callback);
    return () => clearImmediate(immediate);
  }
  const timer = setTimeout(callback, 0);
  return () => clearTimeout(timer);
}
