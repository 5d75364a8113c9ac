/** Durations as databases take them: whole numbers, and not beyond what their clocks can hold. */

/** About three thousand years. */
const LONGEST_MS = 1e14;

/** The duration rounded up. */
export const wholeMs = (ms: number): number => Math.min(Math.max(Math.ceil(ms), 0), LONGEST_MS);
