/** A server process with all its descendants, and the table of processes in which they are found. */
import { execFile } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import { pushTo } from "@toolport/base";

const TASKKILL_TIMEOUT_MS = 2_000;

/**
 * The process group of a detached child, plus descendants that left the group (`setsid`) but can still be found by parent
 * id. A descendant that was also reparented before the first look is not found: it looks like a daemon.
 */
export class ProcessTree {
  readonly #root: number;
  /** The root and the descendants outside its group, each with its start time, because process ids are reused. */
  readonly #known = new Map<number, string>();

  constructor(rootPid: number) {
    this.#root = rootPid;
  }

  /** The living processes of the tree without the root. Remembers those outside the group, in case their parents end. */
  async members(): Promise<number[]> {
    if (process.platform === "win32") return [];
    const table = await readProcessTable();
    const root = table.find((entry) => entry.pid === this.#root);
    if (root !== undefined && !this.#known.has(root.pid)) this.#known.set(root.pid, root.startedAt);
    const isKnown = (entry: ProcessEntry) => this.#known.get(entry.pid) === entry.startedAt;
    for (const entry of descendants(table, table.filter(isKnown))) {
      if (entry.group !== this.#root) this.#known.set(entry.pid, entry.startedAt);
    }
    // If the pid was reused by another process, the group of that id is not ours either.
    const group = root === undefined || isKnown(root) ? this.#root : undefined;
    const isOurs = (entry: ProcessEntry) => entry.group === group || isKnown(entry);
    return table.filter((entry) => entry.pid !== this.#root && isOurs(entry)).map((entry) => entry.pid);
  }

  /** Signals the whole group atomically. False if the group is empty. */
  signalGroup(signal: NodeJS.Signals): boolean {
    return process.platform !== "win32" && send(-this.#root, signal);
  }

  /** Signals the group and the descendants outside it. */
  async signal(signal: NodeJS.Signals): Promise<void> {
    if (process.platform === "win32") return taskkill(this.#root);
    const members = await this.members();
    this.signalGroup(signal);
    for (const pid of members) if (this.#known.has(pid)) send(pid, signal);
  }
}

function descendants(table: readonly ProcessEntry[], roots: readonly ProcessEntry[]): ProcessEntry[] {
  const children = new Map<number, ProcessEntry[]>();
  for (const entry of table) pushTo(children, entry.parent, entry);
  const found: ProcessEntry[] = [];
  const queue = roots.map((entry) => entry.pid);
  const seen = new Set(queue);
  for (let parent = queue.pop(); parent !== undefined; parent = queue.pop()) {
    for (const child of children.get(parent) ?? []) {
      if (seen.has(child.pid)) continue;
      seen.add(child.pid);
      found.push(child);
      queue.push(child.pid);
    }
  }
  return found;
}

/** False if there is no such process. */
function send(pid: number, signal: NodeJS.Signals): boolean {
  try {
    process.kill(pid, signal);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === "EPERM";
  }
}

/** Windows has no groups; `taskkill /T` finds descendants by parent id. Not tested on Windows. */
function taskkill(pid: number): Promise<void> {
  return new Promise((resolve) => {
    const options = { timeout: TASKKILL_TIMEOUT_MS, windowsHide: true };
    execFile("taskkill", ["/pid", String(pid), "/T", "/F"], options, () => resolve());
  });
}

interface ProcessEntry {
  readonly pid: number;
  readonly parent: number;
  readonly group: number;
  /** Start time in the system's format: distinguishes a process from a later one with the same id. */
  readonly startedAt: string;
}

const PS_TIMEOUT_MS = 1_000;
let recent: Promise<ProcessEntry[]> | undefined;

/** All visible living processes, without zombies. Callers in the same turn share one result. */
export function readProcessTable(): Promise<ProcessEntry[]> {
  if (recent === undefined) {
    recent = process.platform === "linux" ? Promise.resolve(readProc()) : readPs();
    const forget = () => setImmediate(() => (recent = undefined));
    recent.then(forget);
  }
  return recent;
}

/** Synchronous, because these reads block on no device and are several times cheaper this way. */
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

/** `pid (name) state ppid pgrp …`; the name may contain any character, also a closing parenthesis. */
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
    // If `ps` fails, the table is empty and only the group is ended.
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

/** The process may have ended since the listing. */
function readText(path: string): string {
  try {
    return readFileSync(path, "latin1");
  } catch {
    return "";
  }
}
