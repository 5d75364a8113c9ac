/** Starts `test/fixtures/servers/single-thread.mjs` over any transport, in a separate process. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import type { ServerEntry, Toolport } from "toolport";

const SCRIPT = fileURLToPath(new URL("../fixtures/servers/single-thread.mjs", import.meta.url));

export type SingleThreadTransport = "stdio" | "http" | "sse" | "websocket";
export const TRANSPORTS: readonly SingleThreadTransport[] = ["stdio", "http", "sse", "websocket"];

export interface SingleThreadServer extends AsyncDisposable {
  /** For `mcpServers`. */
  readonly entry: ServerEntry;
  /** Its port; 0 over stdio. */
  readonly port: number;
}

const ENTRIES = {
  http: (port: number): ServerEntry => ({ url: `http://127.0.0.1:${port}/mcp` }),
  sse: (port: number): ServerEntry => ({ transport: "sse", url: `http://127.0.0.1:${port}/sse` }),
  websocket: (port: number): ServerEntry => ({ transport: "websocket", url: `ws://127.0.0.1:${port}/` }),
};

/** Over stdio the client starts the process; for other transports it is already listening. */
export async function startSingleThreadServer(
  transport: SingleThreadTransport,
  flags: readonly string[] = [],
): Promise<SingleThreadServer> {
  const args = [SCRIPT, `--transport=${transport}`, ...flags];
  if (transport === "stdio")
    return {
      entry: { command: process.execPath, args, protocol: "legacy" },
      port: 0,
      async [Symbol.asyncDispose]() {},
    };
  const child = spawn(process.execPath, args, { stdio: ["pipe", "pipe", "inherit"] });
  const exited = once(child, "exit");
  const lines = createInterface({ input: child.stdout });
  const [line] = (await Promise.race([once(lines, "line"), exited])) as [unknown];
  lines.close();
  if (typeof line !== "string") throw new Error("The server ended before it listened");
  const { port } = JSON.parse(line) as { port: number };
  return {
    entry: { ...ENTRIES[transport](port), protocol: "legacy" },
    port,
    async [Symbol.asyncDispose]() {
      child.kill("SIGKILL");
      await exited;
    },
  };
}

export interface ServerStats {
  readonly pid: number;
  /** Executions by tool. */
  readonly calls: Readonly<Record<string, number>>;
  readonly pings: number;
  readonly connections: number;
}

/** Calls the server's tool `stats`; `name` is the server's name in `toolport`. */
export async function statsOf(toolport: Toolport, name = "it"): Promise<ServerStats> {
  return JSON.parse((await toolport.callTool(`${name}__stats`)).text) as ServerStats;
}
