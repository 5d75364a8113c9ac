/** What a probe works with: the fault servers, the contender, and clocks and counters around them. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";

const SERVERS = fileURLToPath(new URL("../../test/fixtures/servers/", import.meta.url));
const LEAN = join(SERVERS, "stdio-lean.mjs");

/** The lean server with these flags, as a contender gets it. */
const leanServer = (name, pidFile, flags) => ({
  name,
  command: process.execPath,
  args: [LEAN, `--pid-file=${pidFile}`, ...flags],
});

/** `contender` with what it loaded, `pidFile` for the servers over stdio, `capMs` for everything that is awaited. */
export function createStage({ contender, lib, pidFile, capMs }) {
  const stage = {
    contender,
    capMs,
    pidFile,
    lib,
    sleep,
    stdio: (...flags) => leanServer("it", pidFile, flags),
    /** The lean server behind a shell, which does not hand signals down. */
    wrapped(...flags) {
      const { command, args } = leanServer("it", pidFile, flags);
      const line = [command, ...args].map((word) => `'${word}'`).join(" ");
      return { name: "it", command: "sh", args: ["-c", `${line}; true`] };
    },
    http: (...args) => startServer("fault-http-server.mjs", args),
    oauth: () => startServer("fault-oauth-server.mjs", []),
    open: (servers, options) => contender.open(lib, [servers].flat(), options),
    /** Process ids that servers over stdio noted, or those of them that live. */
    pids: () => readPids(pidFile),
    alive: () => readPids(pidFile).filter(isAlive),
    settled: (promise, limitMs = capMs) => settle(promise, limitMs),
    /** What has to work before the fault: a contender that fails here was not asked rightly. */
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
  // It ends with this process, and must not keep it.
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

/** How a promise ended, and after how long; `isLate` if it has not within the limit. */
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

/** A zombie does not live. */
export function isAlive(pid) {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
    return !["Z", "X"].includes(stat.slice(stat.lastIndexOf(")") + 2)[0]);
  } catch {
    return false;
  }
}

/** A time as short as it may be told: tenths of a second, below one second milliseconds. */
export const seconds = (ms) => (ms < 1000 ? `${Math.round(ms)} ms` : `${Number((ms / 1000).toFixed(1))} s`);

/** A code where there is one, else the message; of a long one both ends, since libraries wrap from the left. */
export function describe(error) {
  if (typeof error?.code === "string") return error.code;
  // What a library puts before every message says nothing about the fault.
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

/** The longest time that the event loop was held up. */
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
