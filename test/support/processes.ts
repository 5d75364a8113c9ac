/** Reads processes from /proc: finds live ones and descendants, and waits for exits. */
import { readdirSync, readFileSync } from "node:fs";
import { waitFor } from "./wait-for.js";

/** One process as the kernel describes it. */
export interface ProcessInfo {
  readonly pid: number;
  readonly parentPid: number;
  readonly processGroup: number;
  /** One letter of proc(5): `R`, `S`, `Z` for a zombie … */
  readonly state: string;
  /** The command line, arguments separated by blanks; empty for a zombie. */
  readonly command: string;
}

/** True while `pid` exists and is not a zombie. */
export function isAlive(pid: number): boolean {
  const found = readProcess(pid);
  if (found) return found.state !== "Z" && found.state !== "X";
  if (process.platform === "linux") return false;
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === "EPERM";
  }
}

/** Resolves when `pid` has exited; rejects with its command line if it still runs after `timeoutMs`. */
export async function waitForExit(pid: number, timeoutMs = 20_000): Promise<void> {
  const label = () => `process ${pid} (${readProcess(pid)?.command || "no command line"}) to exit`;
  await waitFor(() => !isAlive(pid), { timeoutMs, intervalMs: 10, label });
}

/** All live descendants of `pid`, without itself, parents before children. Linux only. */
export function processTree(pid: number): ProcessInfo[] {
  const byParent = new Map<number, ProcessInfo[]>();
  for (const found of allProcesses()) {
    const siblings = byParent.get(found.parentPid);
    if (siblings) siblings.push(found);
    else byParent.set(found.parentPid, [found]);
  }
  const tree: ProcessInfo[] = [];
  const queue = [pid];
  for (let next = queue.shift(); next !== undefined; next = queue.shift()) {
    for (const child of byParent.get(next) ?? []) {
      queue.push(child.pid);
      if (child.state !== "Z") tree.push(child);
    }
  }
  return tree;
}

/**
 * Live processes whose command line contains `text`, anywhere in the process tree: also finds children that init adopted
 * after their parent was killed. Use a different text in each test, for instance a random argument.
 */
export function findProcesses(text: string): ProcessInfo[] {
  return allProcesses().filter(
    (found) => found.pid !== process.pid && found.state !== "Z" && found.command.includes(text),
  );
}

/** The kernel's data about `pid`, or undefined if it does not exist. Linux only. */
function readProcess(pid: number): ProcessInfo | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
    // The second field is the name in parentheses, which may contain blanks and parentheses.
    const rest = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
    const command = readFileSync(`/proc/${pid}/cmdline`, "utf8").split("\0").join(" ").trim();
    const [state = "?", parentPid = "0", processGroup = "0"] = rest;
    return { pid, parentPid: Number(parentPid), processGroup: Number(processGroup), state, command };
  } catch {
    return undefined; // exited between two reads, or no /proc
  }
}

function allProcesses(): ProcessInfo[] {
  let entries: string[];
  try {
    entries = readdirSync("/proc");
  } catch {
    return [];
  }
  return entries
    .filter((entry) => /^\d+$/.test(entry))
    .map((entry) => readProcess(Number(entry)))
    .filter((found) => found !== undefined);
}
