/** One small process that outlives this one just long enough to end the servers it leaves behind. */
import { type ChildProcess, spawn } from "node:child_process";
import { existsSync } from "node:fs";
import type { Socket } from "node:net";

/**
 * Reads `+ group` and `- group` from its standard input. The end of the input means that the host is gone, however that
 * came about; then the groups left get TERM, and a second later KILL.
 *
 * dash's `kill` knows a negative id only in the form `kill -s NAME -- -id`. The signals a terminal or a supervisor sends
 * to everybody are ignored, since the guardian has to be the last to go.
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
/** Wait before another start when the last guardian did not last: out of processes, or somebody kills it. */
const RESTART_PAUSE_MS = 1_000;
/** How long the last server's end waits for the guardian's own. */
const EXIT_WAIT_MS = 500;

/**
 * Starts the process with the first group and ends it with the last.
 *
 * @public tests of a host without a shell load it from the built file
 */
export class Guardian {
  readonly #groups = new Set<number>();
  readonly #shell: string | null;
  #child: ChildProcess | undefined;
  #startedAt = 0;
  #restart: NodeJS.Timeout | undefined;

  /** @param shell null: there is none, so use the JavaScript runtime instead */
  constructor(shell: string | null = existsSync(SHELL) ? SHELL : null) {
    this.#shell = shell;
  }

  /** Process id of the guardian, while there is one. */
  get pid(): number | undefined {
    return this.#child?.pid;
  }

  /** Has the guardian there before the process that it is to watch, so that no moment is left uncovered. */
  prepare(): void {
    // On Windows there are no process groups.
    if (process.platform !== "win32" && this.#child === undefined) this.#start();
  }

  register(group: number): void {
    this.#groups.add(group);
    // A new guardian is told of all groups.
    if (this.#child === undefined) this.prepare();
    else this.#write(`+ ${group}\n`);
  }

  /** Resolves when no more is to be expected of the guardian: at once, or after its end if this was the last group. */
  async unregister(group: number): Promise<void> {
    if (!this.#groups.delete(group)) return;
    this.#write(`- ${group}\n`);
    if (this.#groups.size === 0) await this.release();
  }

  /** Ends the guardian if it has nobody to watch. */
  async release(): Promise<void> {
    if (this.#groups.size > 0) return;
    clearTimeout(this.#restart);
    const child = this.#child;
    this.#child = undefined;
    if (child === undefined || child.pid === undefined) return;
    // It is waited for, so it has to keep the event loop going now.
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
    // A write to a guardian that has just died; its exit is what counts.
    child.stdin?.on("error", () => {});
    child.unref();
    (child.stdin as Socket | null)?.unref?.();
    for (const group of this.#groups) this.#write(`+ ${group}\n`);
  }

  #spawn(): ChildProcess | undefined {
    const command = this.#shell ?? process.execPath;
    const args = this.#shell === null ? ["-e", NODE_SCRIPT] : ["-c", SHELL_SCRIPT, "toolport-guardian"];
    // Electron's binary is a JavaScript runtime only if told so.
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

/** The one of this process. */
export const hostGuardian = new Guardian();
