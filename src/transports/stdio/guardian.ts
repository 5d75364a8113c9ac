/** A small helper process that ends the servers of this process if this process dies. */
import { type ChildProcess, spawn } from "node:child_process";
import { existsSync } from "node:fs";
import type { Socket } from "node:net";

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

/** The guardian of this process. */
export const hostGuardian = new Guardian();
