/** Many servers without the SDK, so that the client dominates the measurement: HTTP ports of one process, and shell scripts. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";

const HTTP_SERVER = fileURLToPath(new URL("../../bench/server.cjs", import.meta.url));
const SHELL_SERVER = fileURLToPath(new URL("../../test/fixtures/servers/lean-stdio.sh", import.meta.url));

/** Every server has the tool `echo{text}`. */
export const nameOf = (index) => `s${index}`;

const named = (entries) => Object.fromEntries(entries.map((entry, index) => [nameOf(index), entry]));

/** One process with several ports; every port is a separate server with its own sockets. */
export async function startHttpServers(count) {
  const env = { ...process.env, PORTS: String(count), TOOLS: "4" };
  const child = spawn(process.execPath, [HTTP_SERVER, "--http", "0"], {
    env,
    stdio: ["pipe", "pipe", "inherit"],
  });
  const ports = await readPorts(child);
  return {
    entries: named(ports.map((port) => ({ url: `http://127.0.0.1:${port}/mcp` }))),
    async close() {
      const gone = once(child, "exit");
      child.stdin.end();
      await gone;
    },
  };
}

/** One line of JSON, which may arrive in several chunks. */
async function readPorts(child) {
  let text = "";
  for await (const chunk of child.stdout.iterator({ destroyOnReturn: false })) {
    text += chunk;
    if (text.includes("\n")) return JSON.parse(text).ports;
  }
  throw new Error("The servers ended before they were up");
}

/** Processes of about a megabyte each. They need a POSIX shell. */
export const shellServers = (count) =>
  named(Array.from({ length: count }, () => ({ command: "sh", args: [SHELL_SERVER] })));

/** Processes that handle many calls quickly, with fifty times the memory. */
export const nodeServers = (count) =>
  named(
    Array.from({ length: count }, () => ({
      command: process.execPath,
      args: [HTTP_SERVER],
      env: { TOOLS: "4" },
    })),
  );
