/** Correct and faulty WebSocket servers, and an observed transport. */

import type { IncomingMessage, Server } from "node:http";
import type { AddressInfo, Server as TcpServer } from "node:net";
import type { JSONRPCMessage } from "@modelcontextprotocol/client";
import { type WebSocket, WebSocketServer } from "ws";
import { SecretRecord } from "../../packages/core/src/config/known-secrets.js";
import { parseServerEntry } from "../../packages/core/src/config/parse-servers.js";
import type { HeaderSource, WebSocketConfig } from "../../packages/core/src/config/server-config.js";
import type { ServerTransport } from "../../packages/core/src/transports/server-transport.js";

export const MIB = 1024 * 1024;
export const PING: JSONRPCMessage = { jsonrpc: "2.0", id: 1, method: "ping" };
export const PONG = '{"jsonrpc":"2.0","id":1,"result":{}}';

const open: (() => Promise<unknown>)[] = [];

/** For `afterEach`: closes everything that the functions of this file opened, in reverse order. */
export async function closeAll(): Promise<void> {
  for (const close of open.splice(0).reverse()) await close();
}

interface Peer {
  readonly url: string;
  readonly upgrades: IncomingMessage[];
}

type OnConnection = (socket: WebSocket, request: IncomingMessage) => void;

/** A WebSocket server that selects the subprotocol `mcp` (or none) and leaves the rest to `onConnection`. */
export async function serve(
  onConnection: OnConnection,
  options: { selectNone?: boolean; autoPong?: boolean } = {},
): Promise<Peer> {
  const upgrades: IncomingMessage[] = [];
  const server = new WebSocketServer({
    port: 0,
    host: "127.0.0.1",
    path: "/mcp/ws",
    autoPong: options.autoPong ?? true,
    handleProtocols: options.selectNone ? () => false : (protocols) => (protocols.has("mcp") ? "mcp" : false),
  });
  server.on("connection", (socket, request) => {
    upgrades.push(request);
    socket.on("error", () => {});
    onConnection(socket, request);
  });
  await new Promise((resolve) => server.once("listening", resolve));
  open.push(async () => {
    for (const client of server.clients) client.terminate();
    await new Promise((resolve) => server.close(resolve));
  });
  return { url: `ws://127.0.0.1:${(server.address() as AddressInfo).port}/mcp/ws`, upgrades };
}

export async function listen(server: Server | TcpServer): Promise<string> {
  const sockets = new Set<{ destroy(): void }>();
  server.on("connection", (socket) => sockets.add(socket));
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  open.push(async () => {
    for (const socket of sockets) socket.destroy();
    await new Promise((resolve) => server.close(resolve));
  });
  return `ws://127.0.0.1:${(server.address() as AddressInfo).port}/mcp/ws`;
}

export function configOf(url: string, headers: HeaderSource = new SecretRecord()): WebSocketConfig {
  return { ...(parseServerEntry("peer", { transport: "websocket", url }) as WebSocketConfig), headers };
}

/** The transport with promises for its first message and its end. */
export function watch(transport: ServerTransport) {
  const errors: Error[] = [];
  const received: JSONRPCMessage[] = [];
  let closes = 0;
  transport.onerror = (error) => errors.push(error);
  const closed = new Promise<void>((resolve) => {
    transport.onclose = () => {
      closes++;
      resolve();
    };
  });
  const first = new Promise<JSONRPCMessage>((resolve) => {
    transport.onmessage = (message) => {
      received.push(message);
      resolve(message);
    };
  });
  open.push(() => transport.close());
  return { transport, errors, received, closed, first, closes: () => closes };
}
