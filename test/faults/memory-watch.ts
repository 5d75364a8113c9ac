/** How much memory the process takes at most while something happens, beyond what it took before. */

const EVERY_MS = 5;

export interface Peak<T> {
  readonly value: T;
  /** Bytes of resident memory at the worst moment, beyond those at the beginning. */
  readonly grownBytes: number;
  /** Longest hold-up of the event loop by work of this process. */
  readonly lagMs: number;
  /** Time of the processor that the process used, all its threads together. */
  readonly cpuMs: number;
}

/** Looks every few milliseconds: what lives for a shorter time does not fill a machine. */
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
    // A gap in which the process did not work is not its own: the machine had other things to do.
    lagMs = Math.max(lagMs, Math.min(performance.now() - lookedAt, cpuMsSince(used)));
    lookedAt = performance.now();
    used = process.cpuUsage();
  };
  const timer = setInterval(look, EVERY_MS);
  try {
    const value = await run();
    const cpuMs = cpuMsSince(atFirst);
    // The look after the last piece of work.
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
