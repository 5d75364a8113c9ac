/** Listens on this machine, and serves a test server in memory, over SSE, over WebSocket and over the standard streams of a process. */
import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { type AddressInfo, createServer as createSocketServer, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Readable } from "node:stream";
import { buffer as readBytes, text as readText } from "node:stream/consumers";
import { pipeline } from "node:stream/promises";
import type { ReadableStream } from "node:stream/web";
import type { JSONRPCMessage, McpRequestContext, Transport } from "@modelcontextprotocol/server";
import { loadOnce } from "@toolport/base";
import {
  type CustomServerEntry,
  createLinkedTransports,
  type HttpServerEntry,
  type StdioServerEntry,
  type WebSocketServerEntry,
} from "@toolport/core";
import type { WebSocket } from "ws";
import { buildServer, type SharedState, trackServer } from "./build-server.js";
import type { TestServerEra } from "./test-server-definition.js";

/** Something that can be closed. Closing twice is allowed. */
export interface Opened {
  close(): Promise<void>;
}

/** Serves one connection. `opened` contains it until it closes. */
export async function serveConnection(
  state: SharedState,
  transport: Transport,
  { era, opened }: { era: TestServerEra; opened: Set<Opened> },
): Promise<void> {
  const sdk = await state.loadSdk();
  const build = (request: Pick<McpRequestContext, "era">) =>
    trackServer(buildServer(sdk, state), state, request.era);
  let connection: Opened;
  if (era === "legacy") {
    const server = build({ era });
    await server.connect(transport);
    connection = server;
  } else {
    connection = sdk.serveStdio(build, { transport, legacy: era === "modern" ? "reject" : "serve" });
  }
  opened.add(connection);
  const { onclose } = transport;
  transport.onclose = () => {
    opened.delete(connection);
    onclose?.();
  };
}

/** An entry that creates a new pair of linked transports and a new server for every connection. */
export function memoryEntry(
  state: SharedState,
  options: { era: TestServerEra; opened: Set<Opened> },
): CustomServerEntry {
  return {
    transport: async () => {
      const [client, server] = createLinkedTransports();
      await serveConnection(state, server, options);
      return client;
    },
  };
}

export interface TestPortOptions {
  /** @default any free port */
  port?: number;
}

/** A test server with a URL and persistent connections. */
export interface TestStreamServer<Entry> extends Opened {
  readonly url: string;
  /** For `mcpServers`. */
  readonly entry: Entry;
  /** Closes all connections at once and keeps listening. */
  dropConnections(): void;
}

export async function serveSse(
  state: SharedState,
  { port, opened }: TestPortOptions & { opened: Set<Opened> },
): Promise<TestStreamServer<HttpServerEntry>> {
  // Load before the first connection: a message that arrives during loading would be lost.
  await state.loadSdk();
  const transports = new Map<string, Transport>();

  async function openStream(response: ServerResponse): Promise<void> {
    const session = randomUUID();
    const transport: Transport = {
      async start() {},
      async send(message) {
        response.write(`event: message\ndata: ${JSON.stringify(message)}\n\n`);
      },
      async close() {
        response.end();
      },
    };
    transports.set(session, transport);
    response.once("close", () => {
      transports.delete(session);
      transport.onclose?.();
    });
    response.writeHead(200, { "content-type": "text/event-stream" });
    response.write(`event: endpoint\ndata: /messages?session=${session}\n\n`);
    await serveConnection(state, transport, { era: "legacy", opened });
  }

  async function receive(
    request: IncomingMessage,
    response: ServerResponse,
    session: string | null,
  ): Promise<void> {
    const transport = transports.get(session ?? "");
    if (request.method !== "POST" || transport === undefined) return void response.writeHead(404).end();
    const message = await readText(request);
    response.writeHead(202).end();
    transport.onmessage?.(JSON.parse(message) as JSONRPCMessage);
  }

  const server = createServer((request, response) => {
    const { pathname, searchParams } = new URL(request.url ?? "/", "http://127.0.0.1");
    const handled =
      request.method === "GET" && pathname === "/sse"
        ? openStream(response)
        : receive(request, response, searchParams.get("session"));
    handled.catch(() => response.destroy());
  });
  const { address, close, dropConnections } = await listenOnLoopback(server, port);
  const url = `http://${address}/sse`;
  return { url, entry: { transport: "sse", url }, dropConnections, close };
}

const PATH = "/mcp/ws";

export async function serveWebSocket(
  state: SharedState,
  { port, era, opened }: TestPortOptions & { era: TestServerEra; opened: Set<Opened> },
): Promise<TestStreamServer<WebSocketServerEntry>> {
  // Load before the first connection: a message that arrives during loading would be lost.
  const [{ WebSocketServer }] = await Promise.all([import("ws"), state.loadSdk()]);
  const http = createServer((_request, response) => void response.writeHead(404).end());
  const sockets = new WebSocketServer({ server: http, path: PATH });
  sockets.on("connection", (socket) => {
    // A killed client resets its socket; the `close` event follows.
    socket.on("error", () => {});
    serveConnection(state, socketTransport(socket), { era, opened }).catch(() => socket.terminate());
  });
  const { address, close } = await listenOnLoopback(http, port);
  const dropConnections = () => {
    for (const socket of sockets.clients) socket.terminate();
  };
  return {
    url: `ws://${address}${PATH}`,
    entry: { transport: "websocket", url: `ws://${address}${PATH}` },
    dropConnections,
    async close() {
      dropConnections();
      sockets.close();
      await close();
    },
  };
}

function socketTransport(socket: WebSocket): Transport {
  const transport: Transport = {
    async start() {},
    async send(message) {
      socket.send(JSON.stringify(message));
    },
    async close() {
      socket.close();
    },
  };
  socket.on("message", (data) => transport.onmessage?.(JSON.parse(String(data)) as JSONRPCMessage));
  socket.on("close", () => transport.onclose?.());
  return transport;
}

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
  const listener = createSocketServer((socket) => {
    sockets.add(socket);
    socket.once("close", () => sockets.delete(socket));
    // A killed process resets its socket.
    socket.on("error", () => socket.destroy());
    const transport = new sdk.StdioServerTransport(socket, socket, { maxBufferSize: MAX_BUFFER_SIZE });
    serveConnection(state, transport, options).catch(() => socket.destroy());
  });
  await once(listener.listen(socketPath.path), "listening");
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
    close: loadOnce(async () => {
      const closed = once(listener.close(), "close");
      dropConnections();
      await closed;
      await socketPath.remove();
    }),
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

/**
 * Passed to `node -e`, so that it works from source and from the package. It exits when the client closes stdin or the test
 * process closes the socket.
 */
export const STDIO_BRIDGE = `
const socket = require("node:net").connect(process.argv[1]);
socket.on("error", (error) => { process.exitCode = 1; console.error("test server: " + (error.code || error.message)); });
socket.on("close", () => process.stdin.destroy());
process.stdout.on("error", () => socket.destroy());
process.stdin.pipe(socket);
socket.pipe(process.stdout);
`;

export async function listenOnLoopback(server: Server, port = 0) {
  await once(server.listen(port, "127.0.0.1"), "listening");
  return {
    /** Host and port. */
    address: `127.0.0.1:${(server.address() as AddressInfo).port}`,
    dropConnections: () => server.closeAllConnections(),
    close: loadOnce(async () => {
      const closed = once(server.close(), "close");
      server.closeAllConnections();
      await closed;
    }),
  };
}

/** Reads the whole body first. The signal of the request aborts when the client disconnects before the response is sent. */
export async function toWebRequest(request: IncomingMessage, response: ServerResponse): Promise<Request> {
  const disconnected = new AbortController();
  response.once("close", () => {
    if (!response.writableFinished) disconnected.abort();
  });
  const body = await readBytes(request);
  const headers = new Headers();
  for (const [name, value] of Object.entries(request.headers)) {
    if (value !== undefined) headers.set(name, Array.isArray(value) ? value.join(", ") : value);
  }
  return new Request(new URL(request.url ?? "/", `http://${request.headers.host ?? "127.0.0.1"}`), {
    method: request.method ?? "GET",
    headers,
    signal: disconnected.signal,
    ...(body.length > 0 && { body }),
  });
}

/** Streams the response. A client that disconnects ends the stream without an error. */
export async function sendWebResponse(source: Response, response: ServerResponse): Promise<void> {
  response.writeHead(source.status, Object.fromEntries(source.headers));
  response.flushHeaders();
  if (source.body === null) {
    response.end();
    return;
  }
  await pipeline(Readable.fromWeb(source.body as ReadableStream), response).catch(() => {});
}
