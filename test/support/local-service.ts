/** A database server started for one test file: on a free port, in a directory of its own, to be stopped, killed and paused. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { chownSync, existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { isAlive, processTree } from "./processes.js";
import { freePort } from "./program-on-port.js";
import { waitFor } from "./wait-for.js";

/** A server that a test may put through anything; its data and its port stay the same from one start to the next. */
export interface LocalService extends AsyncDisposable {
  readonly port: number;
  /** Starts it again after `stop()` or `kill()`. */
  start(): Promise<void>;
  /** Asks it to end, and waits until it is gone. */
  stop(): Promise<void>;
  /** Ends it and its children without a warning. */
  kill(): Promise<void>;
  /** Freezes it: connections stay open, without answers. */
  pause(): void;
  resume(): void;
}

/** How one kind of server is run. */
export interface ServiceProgram {
  readonly name: string;
  readonly command: string;
  readonly args: (port: number, folder: string) => readonly string[];
  /** Runs once, before the first start. */
  readonly prepare?: (folder: string) => Promise<void>;
  readonly isReady: (port: number) => Promise<boolean>;
  /** The signal that ends it and its children at once, as a crash does. @default "SIGKILL" */
  readonly crashSignal?: NodeJS.Signals;
  readonly user?: { readonly uid: number; readonly gid: number } | undefined;
}

/** Where the program is, or undefined: looked for in `folders` and on the PATH. */
export function findProgram(name: string, folders: readonly string[] = []): string | undefined {
  const places = [...folders, ...(process.env.PATH ?? "").split(delimiter)];
  return places.map((place) => join(place, name)).find((path) => existsSync(path));
}

/** True if a suite that needs a program should skip itself; where services are required it fails instead. */
export const mayBeSkipped = (program: string | undefined): boolean =>
  program === undefined && !process.env.TOOLPORT_REQUIRE_SERVICES;

/** A user other than root, for servers that refuse root; undefined when this is not root. */
export function otherThanRoot(names: readonly string[]): ServiceProgram["user"] {
  if (process.getuid?.() !== 0) return undefined;
  const users = readFileSync("/etc/passwd", "utf8")
    .split("\n")
    .map((line) => line.split(":"));
  const found = names.map((name) => users.find(([user]) => user === name)).find((user) => user !== undefined);
  return found && { uid: Number(found[2]), gid: Number(found[3]) };
}

/** Runs a program to its end, and rejects with what it said if that is not a success. */
export async function runToEnd(command: string, args: readonly string[], user?: ServiceProgram["user"]) {
  const child = spawn(command, args, { ...user, stdio: ["ignore", "pipe", "pipe"] });
  const words = collectWords(child);
  const [code] = await once(child, "exit");
  if (code !== 0) throw new Error(`${command} ended with ${code}: ${words()}`);
}

function collectWords(child: ChildProcess): () => string {
  let words = "";
  for (const stream of [child.stdout, child.stderr]) {
    stream?.setEncoding("utf8").on("data", (text: string) => {
      words = (words + text).slice(-2_000);
    });
  }
  return () => words.trim();
}

/** Starts the server and waits until it answers. */
export async function startLocalService(program: ServiceProgram): Promise<LocalService> {
  const { name, command, args, user, crashSignal = "SIGKILL" } = program;
  const folder = mkdtempSync(join(tmpdir(), `toolport-${name}-`));
  if (user) chownSync(folder, user.uid, user.gid);
  const port = await freePort();
  let child: ChildProcess | undefined;

  const everyone = () => {
    const pid = child?.pid;
    return pid === undefined ? [] : [pid, ...processTree(pid).map((found) => found.pid)];
  };
  const signal = (pids: readonly number[], what: NodeJS.Signals) => {
    for (const pid of pids) {
      try {
        process.kill(pid, what);
      } catch {} // gone meanwhile
    }
  };
  const killNow = () => signal(everyone(), "SIGKILL");
  const end = async (how: (running: ChildProcess) => void) => {
    const running = child;
    if (running === undefined) return;
    const pids = everyone();
    const ended =
      running.exitCode === null && running.signalCode === null ? once(running, "exit") : undefined;
    how(running);
    await ended;
    await waitFor(() => !pids.some(isAlive), { label: `all of ${name} to exit` });
    process.off("exit", killNow);
    child = undefined;
  };

  const service: LocalService = {
    port,
    async start() {
      const running = spawn(command, args(port, folder), {
        ...user,
        cwd: folder,
        stdio: ["ignore", "pipe", "pipe"],
      });
      child = running;
      const words = collectWords(running);
      process.on("exit", killNow);
      const label = () => `${name} to answer on ${port} (${words()})`;
      await waitFor(() => program.isReady(port), { timeoutMs: 15_000, label });
    },
    stop: () => end((running) => running.kill("SIGINT")),
    kill: () =>
      end((running) => {
        running.kill(crashSignal);
        service.resume();
      }),
    pause: () => signal(everyone(), "SIGSTOP"),
    resume: () => signal(everyone(), "SIGCONT"),
    async [Symbol.asyncDispose]() {
      await service.kill();
      rmSync(folder, { recursive: true, force: true });
    },
  };
  try {
    await program.prepare?.(folder);
    await service.start();
  } catch (error) {
    await service[Symbol.asyncDispose]();
    throw error;
  }
  return service;
}
