/** Resources of this process: memory, descriptors, listeners, timers, children. Linux only, except memory. */
import { getEventListeners } from "node:events";
import { readdirSync, readFileSync } from "node:fs";

/** Toolport's guardian process, which outlives connections on purpose. */
const GUARDIAN = "toolport-guardian";

/** `signal` is shared by all calls: listeners on it must not accumulate. */
export function takeStock(signal) {
  globalThis.gc?.();
  globalThis.gc?.();
  const { heapUsed, rss } = process.memoryUsage();
  const onProcess = process.eventNames().reduce((sum, name) => sum + process.listenerCount(name), 0);
  return {
    heapUsed,
    rss,
    fds: count("/proc/self/fd"),
    listeners: onProcess + getEventListeners(signal, "abort").length,
    timers: process.getActiveResourcesInfo().filter((kind) => kind === "Timeout").length,
    children: countChildren(),
  };
}

function count(folder) {
  try {
    return readdirSync(folder).length;
  } catch {
    return 0;
  }
}

/** Direct children that are alive, and zombies that were not reaped. */
export function countChildren() {
  let pids;
  try {
    pids = readFileSync(`/proc/self/task/${process.pid}/children`, "utf8").trim().split(" ").filter(Boolean);
  } catch {
    return 0;
  }
  return pids.filter((pid) => !isGuardian(pid)).length;
}

function isGuardian(pid) {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, "utf8").includes(GUARDIAN);
  } catch {
    return true; // gone meanwhile
  }
}
