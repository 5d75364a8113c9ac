/** WebSocket connections with the runtime's own `WebSocket` (Workers, Deno, Bun, browsers), without headers and pings. */

import { ConnectionError, utf8Length } from "@toolport/base";
import type { WebSocketConfig } from "../../config/server-config.js";
import { revealHeaders } from "../http/endpoint.js";
import type { ServerTransport, TransportContext } from "../server-transport.js";
import {
  closeCodeError,
  frameTooLarge,
  type WebSocketConnection,
  type WebSocketListener,
  WebSocketTransport,
} from "./web-socket-transport.js";

/** The part of the standard `WebSocket` that is used here. */
interface StandardWebSocket {
  binaryType: string;
  readonly readyState: number;
  send(data: string): void;
  close(code?: number, reason?: string): void;
  addEventListener(type: "open" | "error", listener: () => void): void;
  addEventListener(type: "close", listener: (event: { readonly code: number }) => void): void;
  addEventListener(type: "message", listener: (event: { readonly data: unknown }) => void): void;
}

export type StandardWebSocketConstructor = new (url: string, protocols?: string[]) => StandardWebSocket;

interface GlobalWebSocketOptions {
  /** @default the runtime's own */
  readonly WebSocket?: StandardWebSocketConstructor;
  /** @default 10000 */
  readonly handshakeTimeoutMs?: number;
  /** How long the closing handshake may take. @default 1000 */
  readonly closeGraceMs?: number;
}

const OPEN = 1;

/** Creates a transport for runtimes that have only a global `WebSocket`. */
export async function createGlobalWebSocketTransport(
  config: WebSocketConfig,
  context: Pick<TransportContext, "maxMessageBytes">,
  options: GlobalWebSocketOptions = {},
): Promise<ServerTransport> {
  const WebSocket =
    options.WebSocket ?? (globalThis as { WebSocket?: StandardWebSocketConstructor }).WebSocket;
  if (WebSocket === undefined) throw notSupported(config.name, "This runtime has no WebSocket");
  if (Object.keys(await revealHeaders(config.headers)).length > 0) {
    throw notSupported(config.name, "This runtime cannot send headers when it opens a WebSocket");
  }
  const { handshakeTimeoutMs = 10_000, closeGraceMs = 1_000 } = options;
  const { maxMessageBytes } = context;
  const { name: server, url } = config;
  const connect = (listener: WebSocketListener, signal: AbortSignal, offered: string[]): Promise<void> =>
    new Promise((resolve, reject) => {
      const socket = offered.length > 0 ? new WebSocket(url, offered) : new WebSocket(url);
      socket.binaryType = "arraybuffer";
      const abandon = () => socket.close();
      signal.addEventListener("abort", abandon, { once: true });
      socket.addEventListener("open", () => {
        signal.removeEventListener("abort", abandon);
        listener.onOpen(toConnection(socket, closeGraceMs));
        resolve();
      });
      socket.addEventListener("error", () => reject(unreachable(server)));
      socket.addEventListener("close", ({ code }) => {
        signal.removeEventListener("abort", abandon);
        reject(unreachable(server));
        listener.onLost(closeCodeError(server, code));
      });
      socket.addEventListener("message", ({ data }) => {
        if (isOver(data, maxMessageBytes)) listener.onLost(frameTooLarge(server, maxMessageBytes));
        else listener.onText(typeof data === "string" ? data : new TextDecoder().decode(data as ArrayBuffer));
      });
    });
  return new WebSocketTransport({
    server,
    handshakeTimeoutMs,
    async open(listener, signal) {
      try {
        await connect(listener, signal, ["mcp"]);
      } catch {
        // The standard does not reveal the cause. The server may have selected no subprotocol, which fails the handshake.
        signal.throwIfAborted();
        await connect(listener, signal, []);
      }
    },
  });
}

const toConnection = (socket: StandardWebSocket, closeGraceMs: number): WebSocketConnection => ({
  isOpen: () => socket.readyState === OPEN,
  send: async (text) => socket.send(text),
  close: () =>
    new Promise((resolve) => {
      const timer = setTimeout(resolve, closeGraceMs);
      socket.addEventListener("close", () => {
        clearTimeout(timer);
        resolve();
      });
      socket.close(1000);
    }),
  // The standard offers only the closing handshake.
  terminate: () => socket.close(),
});

/** The runtime already has the whole message in memory; the limit avoids parsing it. */
const isOver = (data: unknown, maxBytes: number): boolean =>
  (typeof data === "string" ? utf8Length(data) : (data as ArrayBuffer).byteLength) > maxBytes;

function unreachable(server: string): ConnectionError {
  return new ConnectionError({
    code: "UNREACHABLE",
    what: "The WebSocket could not be opened, and this runtime does not say why",
    next: "Check the URL, and that the server is running",
    server,
    retryable: true,
    outcome: "unsent",
  });
}

function notSupported(server: string, what: string): ConnectionError {
  return new ConnectionError({
    code: "TRANSPORT_NOT_SUPPORTED",
    what,
    next: "Use the server's Streamable HTTP endpoint, or run on Node",
    server,
    outcome: "unsent",
  });
}
