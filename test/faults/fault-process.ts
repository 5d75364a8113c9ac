/** A faulty stdio server in a harness: its entry, its log, and the check that no process is left. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { StdioServerEntry } from "toolport";
import { isAlive } from "../support/processes.js";
import { waitFor } from "../support/wait-for.js";
import type { FaultHarness } from "./fault-harness.js";

const SERVER = fileURLToPath(new URL("../fixtures/servers/fault-stdio.mjs", import.meta.url));

export interface FaultProcess {
  readonly entry: StdioServerEntry;
  /** Its log, in order: `start`, `call <tool>`, notifications, `eof`, signals. */
  notes(): { pid: number; at: number; what: string }[];
  /** The log without the details. */
  said(): string[];
  /** Its processes so far, children included, in the order of their start. */
  pids(): number[];
}

let count = 0;

/** The server with these flags. At the end none of its processes may be alive. */
export function faultProcess(harness: FaultHarness, ...flags: string[]): FaultProcess {
  count += 1;
  const journal = join(harness.folder, `journal-${count}`);
  const notes = () => {
    try {
      const lines = readFileSync(journal, "utf8").split("\n").filter(Boolean);
      return lines.map((line) => JSON.parse(line) as { pid: number; at: number; what: string });
    } catch {
      return [];
    }
  };
  const pids = () =>
    notes()
      .filter(({ what }) => what === "start" || what === "child")
      .map(({ pid }) => pid);
  noneLeft(harness, pids);
  return {
    entry: { command: process.execPath, args: [SERVER, `--journal=${journal}`, ...flags] },
    notes,
    said: () => notes().map(({ what }) => what),
    pids,
  };
}

/** How long the guardian of a dead host may take, on a busy machine. */
const GUARDIAN_MS = 20_000;

/** Fails the case if one of these is alive after everything is closed, and kills it. */
export function noneLeft(harness: FaultHarness, pids: () => readonly number[]): void {
  harness.atEnd(async () => {
    const left = () => pids().filter(isAlive);
    await waitFor(() => left().length === 0, { timeoutMs: GUARDIAN_MS }).catch(() => {
      const stubborn = left();
      for (const pid of stubborn) process.kill(pid, "SIGKILL");
      throw new Error(`Still alive after the end: ${stubborn.join(", ")}`);
    });
  });
}

/** The entry behind a shell that waits for it, as wrappers such as `npx` do. */
export function behindShell({ command, args = [], ...rest }: StdioServerEntry): StdioServerEntry {
  return { ...rest, command: "sh", args: ["-c", '"$0" "$@"; true', command, ...args] };
}
