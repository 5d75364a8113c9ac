/** Servers of the soak test: processes that Toolport starts, and one process with HTTP ports that is restarted when it dies. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";

const SERVER = fileURLToPath(new URL("./soak-server.cjs", import.meta.url));
/** A short wait: longer ones between attempts would dominate a run with ten thousand reconnects. */
const AT_ONCE = { delayMs: 5 };
/** Concurrent calls of each server; more would only measure sockets. */
const CONCURRENCY = 16;

/** Entries by name: `stdio0` …, `http0` …. */
export async function startSoakServers({ stdio, http }) {
  let closing = false;
  let child;
  let ports = Array.from({ length: http }, () => 0);

  async function start() {
    child = spawn(process.execPath, [SERVER, "--http", ...ports.map(String)], {
      stdio: ["pipe", "pipe", "inherit"],
    });
    child.stdin.on("error", () => {});
    child.once("exit", () => {
      if (!closing) start().catch(() => {});
    });
    const [line] = await once(child.stdout, "data");
    ports = JSON.parse(String(line)).ports;
  }
  if (http > 0) await start();

  const entries = {};
  for (let i = 0; i < stdio; i++)
    entries[`stdio${i}`] = { command: process.execPath, args: [SERVER], restart: AT_ONCE };
  for (const [i, port] of ports.entries())
    entries[`http${i}`] = {
      url: `http://127.0.0.1:${port}/mcp`,
      reconnect: AT_ONCE,
      concurrency: CONCURRENCY,
    };
  return {
    entries,
    /** Expected number of processes, without Toolport's guardian. */
    processes: stdio + (http > 0 ? 1 : 0),
    async close() {
      closing = true;
      if (child === undefined || child.exitCode !== null || child.signalCode !== null) return;
      const gone = once(child, "exit");
      child.stdin.end();
      await gone;
    },
  };
}
