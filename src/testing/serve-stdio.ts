/** Serves a test server over real pipes: a child process forwards the bytes, the handlers run in this process. */
import { randomUUID } from "node:crypto";
import { mkdtemp, rm } from "node:fs/promises";
import { createServer, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { StdioServerEntry } from "../config/server-entry.js";
import type { SharedState } from "./build-server.js";
import { type Opened, serveConnection } from "./serve-memory.js";
import { STDIO_BRIDGE } from "./stdio-bridge.js";
import type { TestServerEra } from "./test-server-definition.js";

const MAX_BUFFER_SIZE = 64 * 1024 * 1024;

/** A test server with a command that can be spawned several times while this process runs. */
export interface TestStdioServer extends Opened {
  readonly command: string;
  readonly args: readonly string[];
  /** For `mcpServers`. */
  readonly entry: StdioServerEntry;
  /** Number of connected processes. */
  readonly connectionCount: number;
  /** Closes all connections; the processes exit. */
  dropConnections(): void;
}

export async function serveStdioBridge(
  state: SharedState,
  options: { era: TestServerEra; opened: Set<Opened> },
): Promise<TestStdioServer> {
  const sdk = await state.loadSdk();
  const socketPath = await createSocketPath();
  const sockets = new Set<Socket>();
  const listener = createServer((socket) => {
    sockets.add(socket);
    socket.once("close", () => sockets.delete(socket));
    // A killed process resets its socket.
    socket.on("error", () => socket.destroy());
    const transport = new sdk.StdioServerTransport(socket, socket, { maxBufferSize: MAX_BUFFER_SIZE });
    serveConnection(state, transport, options).catch(() => socket.destroy());
  });
  await new Promise<void>((resolve, reject) => {
    listener.once("error", reject);
    listener.listen(socketPath.path, resolve);
  });

  let closing: Promise<void> | undefined;
  const command = process.execPath;
  const args = ["-e", STDIO_BRIDGE, socketPath.path];
  const dropConnections = () => {
    for (const socket of sockets) socket.destroy();
  };
  return {
    command,
    args,
    entry: { command, args },
    get connectionCount() {
      return sockets.size;
    },
    dropConnections,
    close() {
      closing ??= (async () => {
        const closed = new Promise<void>((resolve) => listener.close(() => resolve()));
        dropConnections();
        await closed;
        await socketPath.remove();
      })();
      return closing;
    },
  };
}

/** A socket in a private directory, or a named pipe on Windows. Short: socket paths are limited to about 100 characters. */
async function createSocketPath(): Promise<{ path: string; remove(): Promise<void> }> {
  if (process.platform === "win32") {
    return { path: `\\\\.\\pipe\\toolport-${randomUUID()}`, remove: async () => {} };
  }
  const directory = await mkdtemp(join(tmpdir(), "toolport-"));
  return { path: join(directory, "s"), remove: () => rm(directory, { recursive: true, force: true }) };
}
