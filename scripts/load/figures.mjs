/** Helpers for measurements: percentiles, memory, processor time. */

/** The value below which `share` of the values lie. */
function percentile(values, share) {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN;
}

/** Median and 99th percentile. */
export const spread = (values) => ({ p50: percentile(values, 0.5), p99: percentile(values, 0.99) });

/** Memory of this process after a collection (with `--expose-gc`). */
export function settledMemory() {
  globalThis.gc?.();
  globalThis.gc?.();
  const { rss, heapUsed } = process.memoryUsage();
  return { rss, heapUsed };
}

/** Starts a clock and a processor meter; the function it returns reads both. */
export function startMeter() {
  const cpu = process.cpuUsage();
  const began = performance.now();
  return () => {
    const { user, system } = process.cpuUsage(cpu);
    return { ms: performance.now() - began, cpuMs: (user + system) / 1_000 };
  };
}
