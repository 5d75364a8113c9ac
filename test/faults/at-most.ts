/** Bounds of the catalogue, scaled for a busy machine. */
import { availableParallelism, loadavg } from "node:os";

/** Runnable processes per core, at least 1; the suite's own two workers count. */
export const crowd = (): number => Math.max(1, (loadavg()[0] ?? 0) / availableParallelism());

/**
 * Three times the bound: short enough to tell an answer from a wait, long enough for a busy machine. Where more
 * than one wants each core, as many times more.
 */
export const atMost = (boundMs: number): number => boundMs * 3 * crowd();
