/** Peak memory and event loop lag of the process while something runs. */

const EVERY_MS = 5;

export interface Peak<T> {
  readonly value: T;
  /** Peak growth of the resident memory in bytes. */
  readonly grownBytes: number;
  /** Longest time that work of this process blocked the event loop. */
  readonly lagMs: number;
  /** CPU time of the process, all threads included. */
  readonly cpuMs: number;
}

/** Samples every few milliseconds; shorter peaks do not matter. */
export async function watchMemory<T>(run: () => Promise<T>): Promise<Peak<T>> {
  globalThis.gc?.();
  const before = process.memoryUsage.rss();
  const atFirst = process.cpuUsage();
  let peak = before;
  let lagMs = 0;
  let lookedAt = performance.now();
  let used = atFirst;
  const look = () => {
    peak = Math.max(peak, process.memoryUsage.rss());
    // A gap without CPU time of this process was caused by other processes.
    lagMs = Math.max(lagMs, Math.min(performance.now() - lookedAt, cpuMsSince(used)));
    lookedAt = performance.now();
    used = process.cpuUsage();
  };
  const timer = setInterval(look, EVERY_MS);
  try {
    const value = await run();
    const cpuMs = cpuMsSince(atFirst);
    // The sample after the last work.
    await new Promise((resolve) => setTimeout(resolve, 2 * EVERY_MS));
    return { value, grownBytes: peak - before, lagMs, cpuMs };
  } finally {
    clearInterval(timer);
  }
}

function cpuMsSince(earlier: NodeJS.CpuUsage): number {
  const { user, system } = process.cpuUsage(earlier);
  return (user + system) / 1_000;
}
