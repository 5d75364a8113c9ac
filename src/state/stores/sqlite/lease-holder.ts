/** Who holds a lease, so that nobody waits for the end of a lease whose holder is dead. */
import { readFileSync, readlinkSync } from "node:fs";
import type { LeaseHolder } from "../../sql-records.js";

let known: LeaseHolder | "unknown" | undefined;

/**
 * This process. Undefined where the death of another cannot be told for certain: a number of a process means nothing
 * outside of its own machine, its boot and, in containers, its namespace. A process that only stands still is not dead.
 */
export function leaseHolder(): LeaseHolder | undefined {
  known ??= describe() ?? "unknown";
  return known === "unknown" ? undefined : known;
}

function describe(): LeaseHolder | undefined {
  const place = readPlace();
  if (place === undefined) return undefined;
  return {
    id: `${place} ${process.pid}`,
    isGone(id) {
      const pid = Number(id.slice(place.length + 1));
      return id.startsWith(`${place} `) && Number.isSafeInteger(pid) && pid > 0 && !isAlive(pid);
    },
  };
}

function readPlace(): string | undefined {
  try {
    const boot = readFileSync("/proc/sys/kernel/random/boot_id", "utf8").trim();
    return `${boot} ${readlinkSync("/proc/self/ns/pid")}`;
  } catch {
    return undefined;
  }
}

/** Only "no such process" says that it is not: it may be somebody else's. */
function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch (error) {
    return (error as NodeJS.ErrnoException).code !== "ESRCH";
  }
}
