/** Serves a test server over WebSocket with the path that Quarkus uses: `ws://host/mcp/ws`. */
import { createServer } from "node:http";
import type { JSONRPCMessage, Transport } from "@modelcontextprotocol/server";
import type { WebSocket } from "ws";
import type { WebSocketServerEntry } from "../config/server-entry.js";
import type { SharedState } from "./build-server.js";
import { listenOnLoopback } from "./listen-on-loopback.js";
import { type Opened, serveConnection } from "./serve-memory.js";
import type { TestPortOptions, TestStreamServer } from "./serve-sse.js";
import type { TestServerEra } from "./test-server-definition.js";

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
