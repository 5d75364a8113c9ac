/** A database server for one test file, on a free port with a temporary directory. It can be stopped, killed and paused. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { chownSync, existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { isAlive, processTree } from "./processes.js";
import { freePort } from "./program-on-port.js";
import { waitFor } from "./wait-for.js";

/** A server that a test controls. Data and port stay the same across restarts. */
export interface LocalService extends AsyncDisposable {
  readonly port: number;
  /** Starts it again after `stop()` or `kill()`. */
  start(): Promise<void>;
  /** Stops it and waits until it has exited. */
  stop(): Promise<void>;
  /** Kills it and its children. */
  kill(): Promise<void>;
  /** Pauses it: connections stay open without responses. */
  pause(): void;
  resume(): void;
}

/** How to run one kind of server. */
export interface ServiceProgram {
  readonly name: string;
  readonly command: string;
  readonly args: (port: number, folder: string) => readonly string[];
  /** Runs once, before the first start. */
  readonly prepare?: (folder: string) => Promise<void>;
  readonly isReady: (port: number) => Promise<boolean>;
  /** The signal that ends it and its children at once, like a crash. @default "SIGKILL" */
  readonly crashSignal?: NodeJS.Signals;
  readonly user?: { readonly uid: number; readonly gid: number } | undefined;
}

/** Path of the program in `folders` or on the PATH, or undefined. */
export function findProgram(name: string, folders: readonly string[] = []): string | undefined {
  const places = [...folders, ...(process.env.PATH ?? "").split(delimiter)];
  return places.map((place) => join(place, name)).find((path) => existsSync(path));
}

/** True if a suite is skipped because a program is missing. If services are required, it runs and fails instead. */
export const mayBeSkipped = (program: string | undefined): boolean =>
  program === undefined && !process.env.TOOLPORT_REQUIRE_SERVICES;

/** A user other than root, for servers that refuse to run as root; undefined if this process is not root. */
export function otherThanRoot(names: readonly string[]): ServiceProgram["user"] {
  if (process.getuid?.() !== 0) return undefined;
  const users = readFileSync("/etc/passwd", "utf8")
    .split("\n")
    .map((line) => line.split(":"));
  const found = names.map((name) => users.find(([user]) => user === name)).find((user) => user !== undefined);
  return found && { uid: Number(found[2]), gid: Number(found[3]) };
}

/** Runs a program to its end; rejects with its output if it fails. */
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

/** Starts the server and waits until it responds. */
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
      } catch {} // has exited meanwhile
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
      await waitFor(() => program.isReady(port), { label });
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
