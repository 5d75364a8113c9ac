/** Identifies the process that holds a lease or a lock, so that others do not wait for a dead process. */
import { readFileSync, readlinkSync } from "node:fs";
import type { LeaseHolder } from "../../sql-records.js";

let known: LeaseHolder | "unknown" | undefined;

/**
 * This process. Undefined if the death of another process cannot be determined with certainty: a pid is meaningless outside
 * its machine, its boot and, in containers, its namespace. A suspended process is not dead.
 */
export function leaseHolder(): LeaseHolder | undefined {
  known ??= describe() ?? "unknown";
  return known === "unknown" ? undefined : known;
}

function describe(): LeaseHolder | undefined {
  const place = readPlace();
  if (place === undefined) return undefined;
  const start = readStat(process.pid)?.start;
  return {
    id: [place, process.pid, ...(start === undefined ? [] : [start])].join(" "),
    isGone(id) {
      if (!id.startsWith(`${place} `)) return false;
      const [pidText, startThen] = id.slice(place.length + 1).split(" ");
      const pid = Number(pidText);
      return Number.isSafeInteger(pid) && pid > 0 && (!isAlive(pid) || isAnother(pid, startThen));
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

/** False only if there is no process with this pid. The process may belong to another user. */
export function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch (error) {
    return (error as NodeJS.ErrnoException).code !== "ESRCH";
  }
}

/** The pid was reused by another process, or the process is a zombie. */
function isAnother(pid: number, startThen: string | undefined): boolean {
  const stat = readStat(pid);
  if (stat === undefined) return false;
  return stat.state === "Z" || (startThen !== undefined && stat.start !== startThen);
}

/** State of a process, and when it was started, in clock ticks since the boot. See proc_pid_stat(5). */
function readStat(pid: number): { state: string | undefined; start: string | undefined } | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
    // The name of the program, in parentheses, may contain any characters.
    const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
    return { state: fields[0], start: fields[19] };
  } catch {
    return undefined;
  }
}
