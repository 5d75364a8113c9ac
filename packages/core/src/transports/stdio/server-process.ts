/** One server process: started in its own process group, ended together with its descendants. */
import { type ChildProcess, spawn } from "node:child_process";
import { existsSync } from "node:fs";
import type { Socket } from "node:net";
import type { Readable, Writable } from "node:stream";
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

/** Timeouts for the steps of a stop. */
export interface StopTimeouts {
  /** After the end of its input. */
  readonly eofMs: number;
  /** After SIGTERM. */
  readonly termMs: number;
  /** For remaining descendants after SIGTERM, once the process itself has exited. */
  readonly leftoverMs: number;
}

export const DEFAULT_STOP_TIMEOUTS: StopTimeouts = { eofMs: 1_500, termMs: 1_500, leftoverMs: 500 };

/** SIGKILL takes effect at once, unless the process hangs in the kernel. */
const KILL_MS = 1_000;
const POLL_MS = 10;

/**
 * On Linux the stdin pipe is a socket. If the process exits with unread bytes in it, a read on our side fails with
 * ECONNRESET, which proves that the last message was not read. So read from it, if the runtime allows it; otherwise the
 * outcome of that message stays unknown.
 */
function watchInput(stdin: Writable): void {
  const { _handle: handle } = stdin as Writable & { _handle?: { readStart?: () => void } | null };
  if (process.platform === "linux") handle?.readStart?.();
}

/**
 * An idle server does not keep the host process alive. Callers that wait for a response or an exit have a timer that
 * does.
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
  /** Resolves when the process has exited and was reaped. Never rejects. */
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
    // The stream's end or the exit of the process reports a broken pipe; an unhandled `error` event would end the host.
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

  /** The exit status, once the process has exited. */
  get status(): ExitStatus | undefined {
    return this.#status;
  }

  /** Resolves when the process runs; rejects with the system's error if it cannot be started. */
  static async launch(options: LaunchOptions): Promise<ServerProcess> {
    hostGuardian.prepare();
    try {
      // Import before the start: the error of a failed start is emitted in the next tick.
      const start =
        process.platform === "win32" ? (await import("./spawn-on-windows.js")).spawnOnWindows : spawn;
      const child = start(options.command, options.args, spawnOptions(options));
      if (child.pid === undefined) throw await firstError(child);
      hostGuardian.register(child.pid);
      // Ignore later errors, such as a signal that could not be sent.
      child.on("error", () => {});
      return new ServerProcess(child, child.pid);
    } catch (error) {
      await hostGuardian.release();
      throw error;
    }
  }

  /**
   * Ends the process and its descendants: end of input, SIGTERM, SIGKILL. Resolves when it is reaped; all callers share one
   * stop.
   *
   * @param onStillRunning called if the end of input was not enough
   */
  stop(stopTimeouts: StopTimeouts = DEFAULT_STOP_TIMEOUTS, onStillRunning?: () => void): Promise<void> {
    this.#stopping ??= this.#stop(stopTimeouts, onStillRunning);
    return this.#stopping;
  }

  async #stop({ eofMs, termMs, leftoverMs }: StopTimeouts, onStillRunning?: () => void): Promise<void> {
    // Before the process exits: afterwards its children cannot be found by parent id.
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

  /** Ends the rest of the group after the process has exited. */
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

  /** Unregisters from the guardian last: until then the group id cannot be reused. */
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

/** Waits for a promise that never rejects, with a timeout. The timer keeps the host alive, because a caller waits. */
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
    // A separate group, whose id is the child's pid. On Windows `detached` would open a console window.
    detached: process.platform !== "win32",
    windowsHide: true,
  };
}

function firstError(child: ChildProcess): Promise<Error> {
  return new Promise((resolve) => child.once("error", resolve));
}

/**
 * Reads `+ group` and `- group` from its standard input. The end of the input means that the host process has ended, for
 * whatever reason. It then sends TERM to the remaining groups, and KILL a second later.
 *
 * The `kill` of dash accepts a negative id only in the form `kill -s NAME -- -id`. Signals that a terminal or a supervisor
 * sends to all processes are ignored, because the guardian has to outlive them.
 */
const SHELL_SCRIPT = `trap '' INT TERM HUP QUIT PIPE
PATH=/usr/bin:/bin:/run/current-system/sw/bin
groups=
while read -r verb id; do
  case $verb in
    +) groups="$groups $id" ;;
    -) kept=
       for group in $groups; do [ "$group" = "$id" ] || kept="$kept $group"; done
       groups=$kept ;;
  esac
done
left=
for group in $groups; do kill -s TERM -- "-$group" 2>/dev/null && left="$left $group"; done
[ -z "$left" ] && exit 0
sleep 1
for group in $left; do kill -s KILL -- "-$group" 2>/dev/null; done
exit 0`;

/** The same for systems without a shell. */
const NODE_SCRIPT = `for (const name of ["SIGINT", "SIGTERM", "SIGHUP", "SIGQUIT", "SIGPIPE"]) process.on(name, () => {});
const groups = new Set();
const send = (signal) => (id) => { try { process.kill(-id, signal); return true; } catch { return false; } };
require("node:readline").createInterface({ input: process.stdin }).on("line", (line) => {
  const id = Number(line.slice(2));
  if (line[0] === "+") groups.add(id); else groups.delete(id);
}).on("close", () => {
  const left = [...groups].filter(send("SIGTERM"));
  if (left.length > 0) setTimeout(() => { left.forEach(send("SIGKILL")); process.exit(); }, 1000);
  else process.exit();
});`;

const SHELL = "/bin/sh";
/** Delay before a restart if the last guardian ended early: no free processes, or it was killed. */
const RESTART_PAUSE_MS = 1_000;
/** How long to wait for the guardian to exit after the last server. */
const EXIT_WAIT_MS = 500;

/**
 * Starts the helper process with the first group and ends it with the last.
 *
 * @public tests of a host without a shell load it from the built file
 */
export class Guardian {
  readonly #groups = new Set<number>();
  readonly #shell: string | null;
  #child: ChildProcess | undefined;
  #startedAt = 0;
  #restart: NodeJS.Timeout | undefined;

  /** @param shell null: there is no shell, use the JavaScript runtime instead */
  constructor(shell: string | null = existsSync(SHELL) ? SHELL : null) {
    this.#shell = shell;
  }

  /** Process id of the guardian, while it runs. */
  get pid(): number | undefined {
    return this.#child?.pid;
  }

  /** Starts the guardian before the process that it watches, so that the process is never unwatched. */
  prepare(): void {
    // Windows has no process groups.
    if (process.platform !== "win32" && this.#child === undefined) this.#start();
  }

  register(group: number): void {
    this.#groups.add(group);
    // A new guardian receives all groups when it starts.
    if (this.#child === undefined) this.prepare();
    else this.#write(`+ ${group}\n`);
  }

  /** Resolves at once, or after the guardian has exited if this was the last group. */
  async unregister(group: number): Promise<void> {
    if (!this.#groups.delete(group)) return;
    this.#write(`- ${group}\n`);
    if (this.#groups.size === 0) await this.release();
  }

  /** Ends the guardian if no group is left. */
  async release(): Promise<void> {
    if (this.#groups.size > 0) return;
    clearTimeout(this.#restart);
    const child = this.#child;
    this.#child = undefined;
    if (child === undefined || child.pid === undefined) return;
    // The caller waits for the exit, so the child has to keep the event loop alive.
    child.ref();
    await new Promise<void>((resolve) => {
      const timer = setTimeout(done, EXIT_WAIT_MS);
      function done(): void {
        clearTimeout(timer);
        child?.off("exit", done);
        child?.unref();
        resolve();
      }
      child.once("exit", done);
      if (child.exitCode !== null || child.signalCode !== null) done();
      child.stdin?.end();
    });
  }

  #write(line: string): void {
    if (this.#child?.stdin?.writable) this.#child.stdin.write(line);
  }

  #start(): void {
    clearTimeout(this.#restart);
    this.#startedAt = performance.now();
    const child = this.#spawn();
    if (child === undefined) {
      this.#startAgainLater();
      return;
    }
    this.#child = child;
    const gone = () => {
      if (this.#child !== child) return;
      this.#child = undefined;
      this.#startAgainLater();
    };
    child.once("exit", gone);
    child.once("error", gone);
    // Ignore writes to a guardian that has just died; the `exit` event handles that.
    child.stdin?.on("error", () => {});
    child.unref();
    (child.stdin as Socket | null)?.unref?.();
    for (const group of this.#groups) this.#write(`+ ${group}\n`);
  }

  #spawn(): ChildProcess | undefined {
    const command = this.#shell ?? process.execPath;
    const args = this.#shell === null ? ["-e", NODE_SCRIPT] : ["-c", SHELL_SCRIPT, "toolport-guardian"];
    // Electron's binary needs this variable to run as a JavaScript runtime.
    const env = this.#shell === null ? { ELECTRON_RUN_AS_NODE: "1" } : {};
    try {
      return spawn(command, args, { cwd: "/", env, detached: true, stdio: ["pipe", "ignore", "ignore"] });
    } catch {
      return undefined;
    }
  }

  #startAgainLater(): void {
    if (this.#groups.size === 0) return;
    const lasted = performance.now() - this.#startedAt > RESTART_PAUSE_MS;
    this.#restart = setTimeout(() => this.prepare(), lasted ? 0 : RESTART_PAUSE_MS);
    this.#restart.unref();
  }
}

/**
 * The guardian of this process.
 *
 * @public tests read its pid from a transpiled file
 */
export const hostGuardian = new Guardian();
