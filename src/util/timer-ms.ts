/** What a timer can hold: a longer wait would end at once. */

/** About 24 days and 20 hours. */
const LONGEST_TIMER_MS = 2 ** 31 - 1;

/**
 * The wait as a timer can keep it, so that "as long as it takes" does not become "not at all". Time that has run out
 * meanwhile counts as none: newer versions of Node print a warning for less.
 */
export const timerMs = (ms: number): number => Math.max(0, Math.min(ms, LONGEST_TIMER_MS));
