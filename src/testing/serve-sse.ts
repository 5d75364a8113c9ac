/** Serves a test server over the legacy HTTP+SSE transport, which the SDK's server package no longer has. */
import { randomUUID } from "node:crypto";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { JSONRPCMessage, Transport } from "@modelcontextprotocol/server";
import type { HttpServerEntry } from "../config/server-entry.js";
import type { SharedState } from "./build-server.js";
import { listenOnLoopback } from "./listen-on-loopback.js";
import { type Opened, serveConnection } from "./serve-memory.js";

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
  const transports = new Map<string, SseServerTransport>();

  async function openStream(response: ServerResponse): Promise<void> {
    const session = randomUUID();
    const transport = new SseServerTransport(response);
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
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    response.writeHead(202).end();
    transport.onmessage?.(JSON.parse(Buffer.concat(chunks).toString()) as JSONRPCMessage);
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

/** The server's end of one stream. */
class SseServerTransport implements Transport {
  onmessage?: Transport["onmessage"];
  onclose?: Transport["onclose"];
  onerror?: Transport["onerror"];
  readonly #response: ServerResponse;

  constructor(response: ServerResponse) {
    this.#response = response;
  }

  async start(): Promise<void> {}

  async send(message: JSONRPCMessage): Promise<void> {
    this.#response.write(`event: message\ndata: ${JSON.stringify(message)}\n\n`);
  }

  async close(): Promise<void> {
    this.#response.end();
  }
}
