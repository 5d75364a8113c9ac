/** A server process together with everything it started. */
import { execFile } from "node:child_process";
import { type ProcessEntry, readProcessTable } from "./process-table.js";

const TASKKILL_TIMEOUT_MS = 2_000;

/**
 * The process group of a detached child, plus the descendants that left the group (`setsid`) but still hang on it by
 * parent id when looked for. One that was also disowned before anybody looked is not found: a daemon started on purpose
 * looks the same.
 */
export class ProcessTree {
  readonly #root: number;
  /** The root and the descendants seen outside its group, each with its start, since ids are used again. */
  readonly #known = new Map<number, string>();

  constructor(rootPid: number) {
    this.#root = rootPid;
  }

  /** Who lives now, the root itself left out. Remembers those outside the group, for when their parents are gone. */
  async members(): Promise<number[]> {
    if (process.platform === "win32") return [];
    const table = await readProcessTable();
    const root = table.find((entry) => entry.pid === this.#root);
    if (root !== undefined && !this.#known.has(root.pid)) this.#known.set(root.pid, root.startedAt);
    const isKnown = (entry: ProcessEntry) => this.#known.get(entry.pid) === entry.startedAt;
    for (const entry of descendants(table, table.filter(isKnown))) {
      if (entry.group !== this.#root) this.#known.set(entry.pid, entry.startedAt);
    }
    // A stranger that got the root's id also leads a group of that id.
    const group = root === undefined || isKnown(root) ? this.#root : undefined;
    const isOurs = (entry: ProcessEntry) => entry.group === group || isKnown(entry);
    return table.filter((entry) => entry.pid !== this.#root && isOurs(entry)).map((entry) => entry.pid);
  }

  /** Signals the whole group at once, whoever joined it meanwhile. False when nobody is left in it. */
  signalGroup(signal: NodeJS.Signals): boolean {
    return process.platform !== "win32" && send(-this.#root, signal);
  }

  /** Signals the group and all others that belong to the tree. */
  async signal(signal: NodeJS.Signals): Promise<void> {
    if (process.platform === "win32") return taskkill(this.#root);
    const members = await this.members();
    this.signalGroup(signal);
    for (const pid of members) if (this.#known.has(pid)) send(pid, signal);
  }
}

function descendants(table: readonly ProcessEntry[], roots: readonly ProcessEntry[]): ProcessEntry[] {
  const children = new Map<number, ProcessEntry[]>();
  for (const entry of table) {
    const siblings = children.get(entry.parent);
    if (siblings === undefined) children.set(entry.parent, [entry]);
    else siblings.push(entry);
  }
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

/** False when there is no such process. */
function send(pid: number, signal: NodeJS.Signals): boolean {
  try {
    process.kill(pid, signal);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === "EPERM";
  }
}

/** Windows has no groups; `taskkill /T` walks by parent id. Not tested on Windows. */
function taskkill(pid: number): Promise<void> {
  return new Promise((resolve) => {
    const options = { timeout: TASKKILL_TIMEOUT_MS, windowsHide: true };
    execFile("taskkill", ["/pid", String(pid), "/T", "/F"], options, () => resolve());
  });
}
