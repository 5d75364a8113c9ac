/** What processes there are, and who started whom. */
import { execFile } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";

export interface ProcessEntry {
  readonly pid: number;
  readonly parent: number;
  readonly group: number;
  /** When it was started, as the system spells it: tells a process from a later one with the same id. */
  readonly startedAt: string;
}

const PS_TIMEOUT_MS = 1_000;
let recent: Promise<ProcessEntry[]> | undefined;

/** All living processes that can be seen (zombies are not living). Callers in the same turn share one look. */
export function readProcessTable(): Promise<ProcessEntry[]> {
  if (recent === undefined) {
    recent = process.platform === "linux" ? Promise.resolve(readProc()) : readPs();
    const forget = () => setImmediate(() => (recent = undefined));
    recent.then(forget);
  }
  return recent;
}

/** Synchronous on purpose: reading these files blocks on no device, and is several times cheaper this way. */
function readProc(): ProcessEntry[] {
  const entries: ProcessEntry[] = [];
  for (const name of listFolder("/proc")) {
    const pid = Number(name);
    if (!Number.isInteger(pid)) continue;
    const entry = parseProcStat(pid, readText(`/proc/${name}/stat`));
    if (entry !== undefined) entries.push(entry);
  }
  return entries;
}

/** `pid (name) state ppid pgrp …`; the name may hold anything, a closing parenthesis too. */
export function parseProcStat(pid: number, text: string): ProcessEntry | undefined {
  const fields = text.slice(text.lastIndexOf(")") + 2).split(" ");
  const [state, parent, group] = fields;
  if (state === undefined || parent === undefined || group === undefined || "ZX".includes(state))
    return undefined;
  return { pid, parent: Number(parent), group: Number(group), startedAt: fields[19] ?? "" };
}

function readPs(): Promise<ProcessEntry[]> {
  return new Promise((resolve) => {
    const args = ["-A", "-o", "pid=,ppid=,pgid=,stat=,lstart="];
    // Without an answer only the group can be ended, which is what matters most.
    execFile("ps", args, { timeout: PS_TIMEOUT_MS, maxBuffer: 16 * 1_024 * 1_024 }, (_error, stdout) =>
      resolve(parsePs(stdout)),
    );
  });
}

export function parsePs(output: string): ProcessEntry[] {
  const entries: ProcessEntry[] = [];
  for (const line of output.split("\n")) {
    const [pid, parent, group, state, ...startedAt] = line.trim().split(/\s+/);
    if (!pid || !parent || !group || !state || state.startsWith("Z")) continue;
    entries.push({
      pid: Number(pid),
      parent: Number(parent),
      group: Number(group),
      startedAt: startedAt.join(" "),
    });
  }
  return entries;
}

function listFolder(path: string): string[] {
  try {
    return readdirSync(path);
  } catch {
    return [];
  }
}

/** A process may end between the listing and the reading. */
function readText(path: string): string {
  try {
    return readFileSync(path, "latin1");
  } catch {
    return "";
  }
}
