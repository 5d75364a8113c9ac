/** The life of one server process: started in a group of its own, ended with everything it started. */
import { type ChildProcess, spawn } from "node:child_process";
import type { Socket } from "node:net";
import type { Readable, Writable } from "node:stream";
import { hostGuardian } from "./guardian.js";
import { ProcessTree } from "./process-tree.js";

export interface LaunchOptions {
  readonly command: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  readonly cwd: string | undefined;
  readonly stderr: "pipe" | "inherit" | "ignore";
}

export interface ExitStatus {
  readonly exitCode: number | null;
  readonly signal: NodeJS.Signals | null;
}

/** How long each step of a stop may take. */
export interface StopTimeouts {
  /** After the end of its input. */
  readonly eofMs: number;
  /** After SIGTERM. */
  readonly termMs: number;
  /** For what is left of the tree after SIGTERM, once the process itself has ended. */
  readonly leftoverMs: number;
}

export const DEFAULT_STOP_TIMEOUTS: StopTimeouts = { eofMs: 1_500, termMs: 1_500, leftoverMs: 500 };

/** SIGKILL takes effect in a moment, unless the process hangs in the kernel. */
const KILL_MS = 1_000;
const POLL_MS = 10;

/**
 * Node only writes to a child's input. On Linux that pipe is a socket: when its reader ends with unread bytes in it, a
 * read on our side fails with ECONNRESET, and that is the proof that the last message was never taken. So read it too,
 * where the runtime allows; elsewhere the fate of that message stays unknown.
 */
function watchInput(stdin: Writable): void {
  const { _handle: handle } = stdin as Writable & { _handle?: { readStart?: () => void } | null };
  if (process.platform === "linux") handle?.readStart?.();
}

/**
 * A server that nobody asks anything of keeps no host alive: a program whose work is done ends, and its servers with it.
 * Whoever waits for an answer or for an end has a timer that does.
 */
function unrefChild(child: ChildProcess): void {
  child.unref();
  for (const stream of [child.stdin, child.stdout, child.stderr]) (stream as Socket | null)?.unref?.();
}

/** A started process. */
export class ServerProcess {
  readonly pid: number;
  readonly stdin: Writable;
  readonly stdout: Readable;
  readonly stderr: Readable | null;
  /** Resolves when the process has ended and was reaped. Never rejects. */
  readonly exited: Promise<ExitStatus>;
  readonly #tree: ProcessTree;
  #status: ExitStatus | undefined;
  #stopping: Promise<void> | undefined;

  private constructor(child: ChildProcess, pid: number) {
    this.pid = pid;
    this.stdin = child.stdin!;
    this.stdout = child.stdout!;
    this.stderr = child.stderr;
    this.#tree = new ProcessTree(pid);
    // A broken pipe is signalled by its stream's end or the process's exit; without a listener it would end the host.
    for (const stream of [this.stdin, this.stdout, this.stderr]) stream?.on("error", () => {});
    watchInput(child.stdin!);
    unrefChild(child);
    this.exited = new Promise((resolve) => {
      child.once("exit", (exitCode, signal) => {
        this.#status = { exitCode, signal };
        resolve(this.#status);
      });
    });
  }

  /** How it ended, once it has. */
  get status(): ExitStatus | undefined {
    return this.#status;
  }

  /** Resolves when the process runs; rejects with the system's error when it cannot be started. */
  static async launch(options: LaunchOptions): Promise<ServerProcess> {
    hostGuardian.prepare();
    try {
      // Awaited before the start, not with it: the error of a failed start is emitted in the next tick.
      const start =
        process.platform === "win32" ? (await import("./spawn-on-windows.js")).spawnOnWindows : spawn;
      const child = start(options.command, options.args, spawnOptions(options));
      if (child.pid === undefined) throw await firstError(child);
      hostGuardian.register(child.pid);
      // A later error (a signal that could not be sent) has no one to tell.
      child.on("error", () => {});
      return new ServerProcess(child, child.pid);
    } catch (error) {
      await hostGuardian.release();
      throw error;
    }
  }

  /**
   * Ends the process and its tree: end of input, SIGTERM, SIGKILL. Resolves when it is reaped; all calls share one stop.
   *
   * @param onStillRunning called when the end of input was not enough
   */
  stop(stopTimeouts: StopTimeouts = DEFAULT_STOP_TIMEOUTS, onStillRunning?: () => void): Promise<void> {
    this.#stopping ??= this.#stop(stopTimeouts, onStillRunning);
    return this.#stopping;
  }

  async #stop({ eofMs, termMs, leftoverMs }: StopTimeouts, onStillRunning?: () => void): Promise<void> {
    // Before the process may go: its children cannot be found by parent id afterwards.
    await this.#tree.members();
    this.stdin.end();
    let signalled = false;
    if (!(await this.#exitsWithin(eofMs))) {
      signalled = true;
      onStillRunning?.();
      await this.#tree.signal("SIGTERM");
      await this.#exitsWithin(termMs);
    }
    if (this.#status !== undefined && (await this.#tree.members()).length > 0) {
      if (!signalled) await this.#tree.signal("SIGTERM");
      await this.#treeEndsWithin(leftoverMs);
    }
    await this.#kill();
  }

  /** The process ended by itself: ends the rest of its group too. */
  async endGroup(drained: Promise<unknown>): Promise<void> {
    const anyoneLeft = this.#tree.signalGroup("SIGTERM");
    await drained;
    if (anyoneLeft) await this.#kill();
    else await this.#release();
  }

  async #kill(): Promise<void> {
    if (this.#status === undefined || (await this.#tree.members()).length > 0) {
      await this.#tree.signal("SIGKILL");
      await this.#exitsWithin(KILL_MS);
      await this.#treeEndsWithin(KILL_MS);
    }
    await this.#release();
  }

  /** The guardian is signalled last: until then the group's id cannot belong to anybody else. */
  async #release(): Promise<void> {
    this.stdin.destroy();
    this.stdout.destroy();
    this.stderr?.destroy();
    await hostGuardian.unregister(this.pid);
  }

  async #exitsWithin(ms: number): Promise<boolean> {
    await settledWithin(this.exited, ms);
    return this.#status !== undefined;
  }

  async #treeEndsWithin(ms: number): Promise<void> {
    const deadline = performance.now() + ms;
    while ((await this.#tree.members()).length > 0 && performance.now() < deadline) {
      await new Promise((resolve) => setTimeout(resolve, POLL_MS));
    }
  }
}

/** Waits for a promise that never rejects, but not for ever. The timer keeps the host alive: somebody waits for this. */
export async function settledWithin(promise: Promise<unknown>, ms: number): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const timeout = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, ms);
  });
  await Promise.race([promise, timeout]);
  clearTimeout(timer);
}

function spawnOptions({ env, cwd, stderr }: LaunchOptions) {
  return {
    env,
    cwd,
    stdio: ["pipe", "pipe", stderr] as ["pipe", "pipe", typeof stderr],
    shell: false,
    // A group of its own, whose id is the child's. Windows would open a console window for it.
    detached: process.platform !== "win32",
    windowsHide: true,
  };
}

function firstError(child: ChildProcess): Promise<Error> {
  return new Promise((resolve) => child.once("error", resolve));
}
