/** Tools of a probe: the fault servers, the contender, clocks and counters. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";

const SERVERS = fileURLToPath(new URL("../../test/fixtures/servers/", import.meta.url));
const LEAN = join(SERVERS, "stdio-lean.mjs");

/** Entry of the minimal server with these flags. */
const leanServer = (name, pidFile, flags) => ({
  name,
  command: process.execPath,
  args: [LEAN, `--pid-file=${pidFile}`, ...flags],
});

/** `contender` with its loaded library, `pidFile` for the servers over stdio, `capMs` as the limit of every wait. */
export function createStage({ contender, lib, pidFile, capMs }) {
  const stage = {
    contender,
    capMs,
    pidFile,
    lib,
    sleep,
    stdio: (...flags) => leanServer("it", pidFile, flags),
    /** The minimal server behind a shell, which does not forward signals. */
    wrapped(...flags) {
      const { command, args } = leanServer("it", pidFile, flags);
      const line = [command, ...args].map((word) => `'${word}'`).join(" ");
      return { name: "it", command: "sh", args: ["-c", `${line}; true`] };
    },
    http: (...args) => startServer("fault-http-server.mjs", args),
    oauth: () => startServer("fault-oauth-server.mjs", []),
    open: (servers, options) => contender.open(lib, [servers].flat(), options),
    /** Process ids that servers over stdio wrote, or only those that are alive. */
    pids: () => readPids(pidFile),
    alive: () => readPids(pidFile).filter(isAlive),
    settled: (promise, limitMs = capMs) => settle(promise, limitMs),
    /** Must work before the fault: a contender that fails here is used incorrectly. */
    async control(check) {
      const { error, isLate } = await settle(check(), capMs);
      if (error === undefined && !isLate) return;
      throw new Error(`without the fault: ${isLate ? "no answer" : describe(error)}`);
    },
    /** The usual one: connect, call, close. */
    controlWith: (servers, options) =>
      stage.control(async () => {
        const handle = await stage.open(servers, options);
        const answer = await handle.call("it", "echo", { text: "hello" });
        if (answer !== "hello") throw new Error(`answered ${answer}`);
        await handle.close();
      }),
  };
  return stage;
}

async function startServer(file, args) {
  const child = spawn(process.execPath, [join(SERVERS, file), ...args], {
    stdio: ["pipe", "pipe", "inherit"],
  });
  // It exits with this process, and must not keep it alive.
  child.unref();
  const [line] = await once(child.stdout, "data");
  child.stdout.unref();
  child.stdin.unref();
  const origin = JSON.parse(line.toString()).url;
  const control = async (init) => (await fetch(`${origin}/control`, init)).json();
  return {
    name: "it",
    origin,
    url: `${origin}/mcp`,
    look: () => control(),
    tell: (state) => control({ method: "POST", body: JSON.stringify(state) }),
  };
}

/** Result and duration of a promise; `isLate` if it did not settle within the limit. */
async function settle(promise, limitMs) {
  const started = performance.now();
  const ended = promise.then(
    (value) => ({ value }),
    (error) => ({ error: error ?? new Error("nothing") }),
  );
  const late = new AbortController();
  const outcome = await Promise.race([
    ended,
    sleep(limitMs, { isLate: true }, { signal: late.signal }).catch(() => {}),
  ]);
  late.abort();
  return { isLate: false, ...outcome, ms: performance.now() - started };
}

function readPids(file) {
  try {
    return readFileSync(file, "utf8").split("\n").filter(Boolean).map(Number);
  } catch {
    return [];
  }
}

/** A zombie is not alive. */
export function isAlive(pid) {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
    return !["Z", "X"].includes(stat.slice(stat.lastIndexOf(")") + 2)[0]);
  } catch {
    return false;
  }
}

/** Formats a duration: tenths of a second, below one second milliseconds. */
export const seconds = (ms) => (ms < 1000 ? `${Math.round(ms)} ms` : `${Number((ms / 1000).toFixed(1))} s`);

/** The code if there is one, else the message; both ends of a long one, since libraries add prefixes. */
export function describe(error) {
  if (typeof error?.code === "string") return error.code;
  // The prefix that a library adds to every message says nothing about the fault.
  const text = String(error?.message ?? error)
    .replace(/\s+/g, " ")
    .replace(/^Error calling tool \w+: /, "");
  return `"${text.length > 75 ? `${text.slice(0, 30)} … ${text.slice(-40)}` : text}"`;
}

/** The rise of this process's memory from here to its peak, in MB. */
export function watchMemory() {
  globalThis.gc?.();
  const before = process.memoryUsage().rss;
  return () => Math.max(0, Math.round((process.resourceUsage().maxRSS * 1024 - before) / 1e6));
}

/** The longest time that the event loop was blocked. */
export function watchLoop() {
  let last = performance.now();
  let worst = 0;
  const timer = setInterval(() => {
    const now = performance.now();
    worst = Math.max(worst, now - last - 20);
    last = now;
  }, 20);
  return () => {
    clearInterval(timer);
    return Math.max(worst, performance.now() - last - 20);
  };
}
