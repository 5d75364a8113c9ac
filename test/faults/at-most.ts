/** Bounds of the catalogue on a machine that has other things to do as well. */
import { availableParallelism, loadavg } from "node:os";

/** How many want each core: 1 where nobody else does, the suite's own two workers included. */
export const crowd = (): number => Math.max(1, (loadavg()[0] ?? 0) / availableParallelism());

/**
 * Three times the bound: still tells an answer from a wait, and a busy machine is not blamed for being busy. Where more
 * than one wants each core, as many times more.
 */
export const atMost = (boundMs: number): number => boundMs * 3 * crowd();
