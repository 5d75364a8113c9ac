/** Figures of the current process: time, CPU, memory, and time spent waiting for a core. */
import { readFileSync, writeFileSync } from "node:fs";

export const median = (values) => {
  const sorted = values.filter((value) => Number.isFinite(value)).sort((a, b) => a - b);
  if (sorted.length === 0) return undefined;
  const half = sorted.length >> 1;
  return sorted.length % 2 === 1 ? sorted[half] : (sorted[half - 1] + sorted[half]) / 2;
};

/** A figure inside a worker's result, by its path: `concurrent.cpuUs`. */
export const valueAt = (result, path) => path.split(".").reduce((value, key) => value?.[key], result);

export const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

/** Starts a clock and a CPU meter; the function it returns reads both. */
export function startMeter() {
  const cpu = process.cpuUsage();
  const start = performance.now();
  return () => {
    const ms = performance.now() - start;
    const { user, system } = process.cpuUsage(cpu);
    return { ms, cpuMs: (user + system) / 1000 };
  };
}

/** Share of the main thread's runnable time in which it waited for a core (Linux only). */
export function waitedForCore() {
  try {
    const [ran, waited] = readFileSync("/proc/self/schedstat", "utf8").split(" ").map(Number);
    return waited / (ran + waited);
  } catch {
    return undefined;
  }
}

/** Resets the peak memory first, so that a heavy import does not hide the peak of the measurement (Linux only). */
export function forgetPeak() {
  try {
    writeFileSync("/proc/self/clear_refs", "5");
  } catch {
    // Not supported here: report the peak of the whole lifetime.
  }
}

export function peakRssMb() {
  try {
    return Number(/VmHWM:\s+(\d+)/.exec(readFileSync("/proc/self/status", "utf8"))[1]) / 1024;
  } catch {
    return process.resourceUsage().maxRSS / 1024;
  }
}
