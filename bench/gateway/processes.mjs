/** Processes of a contender: how they start, what CPU they use, how they end. Linux only: figures come from /proc. */
import { spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { readdirSync, readFileSync } from "node:fs";
import { createServer } from "node:net";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { sleep } from "../process-figures.mjs";

const SERVER = fileURLToPath(new URL("../server.cjs", import.meta.url));
const MARK = "TOOLPORT_BENCH_CONTENDER";
/** Unit of the CPU times in `/proc/<pid>/stat`. */
const TICK_MS = 10;

/** The benchmark's server as a stdio entry. */
export const stdioServer = (env = {}) => ({ command: process.execPath, args: [SERVER], env });

/** Starts the benchmark's server over HTTP. */
export async function startHttpServer(env = {}) {
  const child = spawn(process.execPath, [SERVER, "--http"], { env, stdio: ["pipe", "pipe", "inherit"] });
  const [line] = await once(child.stdout, "data");
  const { ports } = JSON.parse(String(line));
  return { url: `http://127.0.0.1:${ports[0]}/mcp`, stop: () => child.kill() };
}

/** A port that is free now. */
export async function freePort() {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address();
  server.close();
  await once(server, "close");
  return port;
}

/**
 * Starts a program. Its processes are found by a mark in their environment, because some programs start a daemon that is not a child.
 *
 * @param options.ipc the program sends `{ port }` when it is ready
 */
export async function startProcesses(command, args, { env = {}, ipc = false } = {}) {
  const mark = randomUUID();
  const child = spawn(command, args, {
    env: { PATH: process.env.PATH, HOME: process.env.HOME, ...env, [MARK]: mark },
    stdio: ["ignore", "ignore", "inherit", ...(ipc ? ["ipc"] : [])],
  });
  const processes = {
    child,
    cpuMs: () => markedProcesses(mark).reduce((sum, pid) => sum + cpuOf(pid), 0),
    async stop() {
      const ended = child.exitCode === null && child.signalCode === null ? once(child, "exit") : undefined;
      if (ipc && child.connected) child.disconnect();
      else child.kill();
      await Promise.race([ended, sleep(3_000)]);
      for (const pid of markedProcesses(mark, { withServers: true })) kill(pid);
    },
  };
  if (!ipc) return processes;
  const failed = once(child, "exit").then(([code]) => {
    throw new Error(`${args[0]} ended with code ${code}`);
  });
  const [{ port }] = await Promise.race([once(child, "message"), failed]);
  failed.catch(() => {});
  return { ...processes, port };
}

function markedProcesses(mark, { withServers = false } = {}) {
  return readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .filter((pid) => {
      if (!readText(`/proc/${pid}/environ`).includes(`${MARK}=${mark}`)) return false;
      return withServers || readText(`/proc/${pid}/cmdline`).split("\0")[1] !== SERVER;
    });
}

/** The CPU time of a process. The kernel counts nanoseconds for each thread, and only ticks for the process. */
function cpuOf(pid) {
  const threads = listFolder(`/proc/${pid}/task`).map((thread) =>
    readText(`/proc/${pid}/task/${thread}/schedstat`),
  );
  if (threads.some((text) => text !== ""))
    return threads.reduce((sum, text) => sum + Number(text.split(" ")[0]) / 1e6, 0);
  // The name of the program, in parentheses, may contain blanks.
  const fields = readText(`/proc/${pid}/stat`).split(") ").at(-1).split(" ");
  return (Number(fields[11]) + Number(fields[12])) * TICK_MS;
}

function listFolder(path) {
  try {
    return readdirSync(path);
  } catch {
    return [];
  }
}

/** Empty for a process that has ended, or belongs to another user. */
function readText(path) {
  try {
    return readFileSync(path, "latin1");
  } catch {
    return "";
  }
}

function kill(pid) {
  try {
    process.kill(Number(pid), "SIGKILL");
  } catch {
    // It has ended.
  }
}
