/** What a timer can hold: a longer wait would end at once. */

/** About 24 days and 20 hours. */
const LONGEST_TIMER_MS = 2 ** 31 - 1;

/**
 * The wait as a timer can keep it, so that "as long as it takes" does not become "not at all". Time that has run out
 * meanwhile counts as none: newer versions of Node print a warning for less.
 */
export const timerMs = (ms: number): number => Math.max(0, Math.min(ms, LONGEST_TIMER_MS));

/** Until the returned function is called. */
export function holdHost(): () => void {
  const timer = setInterval(() => {}, timerMs(Number.POSITIVE_INFINITY));
  return () => clearInterval(timer);
}

/**
 * Calls back once the event loop has polled for I/O again. A timer that went off late, because the host was blocked, runs
 * before what arrived in the meantime is read; this lets the reading go first.
 *
 * @returns cancels the call
 */
export function afterNextPoll(callback: () => void): () => void {
  // Node runs immediates right after it has polled. Browsers and Workers have none; there, another timer has to do.
  if (typeof setImmediate === "function") {
    const immediate = setImmediate(callback);
    return () => clearImmediate(immediate);
  }
  const timer = setTimeout(callback, 0);
  return () => clearTimeout(timer);
}
