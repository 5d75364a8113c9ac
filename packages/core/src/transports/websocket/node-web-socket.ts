/** WebSocket connections with the `ws` package: headers, pings, proxies and a size limit. */
import { isIP, type Socket } from "node:net";
import { afterNextPoll, ConnectionError, USER_AGENT } from "@toolport/base";
import { mayNeedProxy, type ProxyOption } from "@toolport/http/proxy-option";
import type { ProxyServer } from "@toolport/http/proxy-routes";
import type { ClientOptions, WebSocket } from "ws";
import { secretsOf } from "../../config/known-secrets.js";
import type { WebSocketConfig } from "../../config/server-config.js";
import { checkHeader, revealHeaders } from "../http/endpoint.js";
import type { ServerTransport, TransportContext } from "../server-transport.js";
import {
  closeCodeError,
  connectError,
  frameTooLarge,
  upgradeError,
  type WebSocketConnection,
  type WebSocketListener,
  WebSocketTransport,
} from "./web-socket-transport.js";

/** Timeouts of a WebSocket connection. */
export interface WebSocketTimings {
  /** From the start to an open connection. @default 10000 */
  readonly handshakeTimeoutMs: number;
  /** Time between two pings. @default 20000 */
  readonly pingIntervalMs: number;
  /** How long to wait for a pong or any other data. @default 10000 */
  readonly pongTimeoutMs: number;
  /** How long the closing handshake may take. @default 1000 */
  readonly closeGraceMs: number;
}

const TIMINGS: WebSocketTimings = {
  handshakeTimeoutMs: 10_000,
  pingIntervalMs: 20_000,
  pongTimeoutMs: 10_000,
  closeGraceMs: 1_000,
};

const SUBPROTOCOL = "mcp";

/** Error codes for messages over our limit, and over the largest safe integer. */
const TOO_LARGE: ReadonlySet<string> = new Set([
  "WS_ERR_UNSUPPORTED_MESSAGE_LENGTH",
  "WS_ERR_UNSUPPORTED_DATA_PAYLOAD_LENGTH",
]);

/**
 * Servers that selected no subprotocol. RFC 6455 allows that, but `ws` then closes the connection. Such servers are
 * contacted again without a subprotocol, also by later reconnects with the same configuration.
 */
const withoutSubprotocol = new WeakSet<WebSocketConfig>();

/** Creates the transport for one `ws:` or `wss:` server; `start()` opens the connection. */
export async function createNodeWebSocketTransport(
  config: WebSocketConfig,
  context: Pick<TransportContext, "maxMessageBytes" | "proxy">,
  given: Partial<WebSocketTimings> = {},
): Promise<ServerTransport> {
  const { WebSocket } = await import("ws");
  const timings = { ...TIMINGS, ...given };
  const { maxMessageBytes, proxy = "env" } = context;
  const dialing = { WebSocket, config, timings, maxMessageBytes, proxy };
  return new WebSocketTransport({
    server: config.name,
    handshakeTimeoutMs: timings.handshakeTimeoutMs,
    open: (listener, signal) => dial({ ...dialing, listener, signal }),
  });
}

interface Dialing {
  readonly WebSocket: typeof WebSocket;
  readonly config: WebSocketConfig;
  readonly timings: WebSocketTimings;
  readonly maxMessageBytes: number;
  readonly proxy: ProxyOption;
  readonly listener: WebSocketListener;
  readonly signal: AbortSignal;
}

async function dial(dialing: Dialing): Promise<void> {
  const { config, signal } = dialing;
  const own = await revealHeaders(config.headers);
  for (const [name, value] of Object.entries(own)) checkHeader(name, value);
  secretsOf(config).note(own);
  const hasAgent = Object.keys(own).some((name) => name.toLowerCase() === "user-agent");
  const headers = hasAgent ? own : { "user-agent": USER_AGENT, ...own };
  signal.throwIfAborted();
  const offered = withoutSubprotocol.has(config) ? [] : [SUBPROTOCOL];
  if ((await upgrade(dialing, headers, offered)) === "open") return;
  withoutSubprotocol.add(config);
  signal.throwIfAborted();
  await upgrade(dialing, headers, []);
}

/** Opens a tunnel if the server's URL is reached through a proxy. */
async function connectByProxy({ config, timings, proxy, signal }: Dialing): Promise<{
  via?: ProxyServer;
  options?: Pick<ClientOptions, "createConnection">;
}> {
  if (!mayNeedProxy(proxy)) return {};
  const { createProxyRoutes, openTunnel } = await import("@toolport/http/proxy-routes");
  const url = new URL(config.url);
  const via = createProxyRoutes(proxy)(url);
  if (via === undefined) return {};
  const isSecure = url.protocol === "wss:";
  const hostname = url.hostname.replace(/^\[|\]$/g, "");
  const port = Number(url.port) || (isSecure ? 443 : 80);
  const timeoutMs = timings.handshakeTimeoutMs;
  const socket = await openTunnel(via, { hostname, port, timeoutMs, signal });
  const { connect } = await import("node:tls");
  const servername = isIP(hostname) === 0 ? hostname : "";
  const createConnection = () =>
    isSecure ? connect({ socket, host: hostname, servername, rejectUnauthorized: true }) : socket;
  return { via, options: { createConnection: createConnection as ClientOptions["createConnection"] } };
}

async function upgrade(
  dialing: Dialing,
  headers: Readonly<Record<string, string>>,
  offered: string[],
): Promise<"open" | "no subprotocol"> {
  const { WebSocket, config, maxMessageBytes, listener, timings, signal } = dialing;
  const server = config.name;
  const { via, options } = await connectByProxy(dialing);
  signal.throwIfAborted();
  return new Promise((resolve, reject) => {
    const socket = new WebSocket(config.url, offered, {
      headers: { ...headers },
      followRedirects: false,
      maxPayload: maxMessageBytes,
      perMessageDeflate: false,
      // Explicit, so that no environment variable can turn certificate checks off.
      rejectUnauthorized: true,
      // A frame with invalid UTF-8 is skipped; the connection stays open.
      skipUTF8Validation: true,
      ...options,
    });
    const abandon = () => socket.terminate();
    signal.addEventListener("abort", abandon, { once: true });
    let wire: Socket | undefined;
    let isOpen = false;
    let selectedNone = false;
    socket.once("upgrade", (response) => {
      wire = response.socket;
      selectedNone = offered.length > 0 && response.headers["sec-websocket-protocol"] === undefined;
    });
    socket.once("unexpected-response", (_request, response) => {
      reject(upgradeError(server, config.url, response));
      socket.terminate();
    });
    socket.once("open", () => {
      signal.removeEventListener("abort", abandon);
      isOpen = true;
      listener.onOpen(toConnection({ server, socket, wire: wire as Socket, timings, listener }));
      resolve("open");
    });
    // Stays for the life of the socket: an unhandled "error" event would end the process.
    socket.on("error", (error) => {
      if (selectedNone) resolve("no subprotocol");
      else if (isOpen) listener.onLost(socketError(server, error, maxMessageBytes));
      else reject(connectError(server, error, via?.host));
    });
    socket.once("close", (code) => {
      signal.removeEventListener("abort", abandon);
      listener.onLost(closeCodeError(server, code));
    });
    // Text and binary frames: some servers send JSON in binary frames.
    socket.on("message", (data) => listener.onText((data as Buffer).toString("utf8")));
  });
}

function socketError(server: string, error: Error & { code?: string }, maxMessageBytes: number) {
  if (error.code !== undefined && TOO_LARGE.has(error.code)) {
    return frameTooLarge(server, maxMessageBytes);
  }
  if (!error.code?.startsWith("WS_ERR_")) return closeCodeError(server, 1006, error);
  const what = "The server sent a frame that violates the WebSocket protocol, so the connection was closed";
  return new ConnectionError({ code: "BAD_RESPONSE", what, server, retryable: true, cause: error });
}

interface NodeConnectionParts extends Pick<Dialing, "timings" | "listener"> {
  readonly server: string;
  readonly socket: WebSocket;
  /** The underlying TCP socket. */
  readonly wire: Socket;
}

/** Pings the server while the connection is open. */
function toConnection({ server, socket, wire, timings, listener }: NodeConnectionParts): WebSocketConnection {
  // An idle connection does not keep the host alive. Callers that wait for a response have a timer that does.
  wire.unref();
  let pingTimer: NodeJS.Timeout;
  const ping = () => {
    // Any received byte counts: a pong may be queued behind a long message.
    const seen = wire.bytesRead;
    socket.ping(undefined, undefined, () => {});
    const check = () => {
      if (wire.bytesRead !== seen) return pingLater();
      const what = `The server did not answer a ping within ${timings.pongTimeoutMs} ms, so the connection was closed`;
      const next = "The next call opens a new connection";
      listener.onLost(new ConnectionError({ code: "CLOSED", what, next, server, retryable: true }));
    };
    // Poll once more: a pong may have arrived while the host was blocked.
    pingTimer = setTimeout(() => void afterNextPoll(check), timings.pongTimeoutMs).unref();
  };
  const pingLater = () => {
    pingTimer = setTimeout(ping, timings.pingIntervalMs).unref();
  };
  pingLater();
  return {
    isOpen: () => socket.readyState === socket.OPEN,
    send: (text) =>
      new Promise((resolve, reject) => {
        socket.send(text, (error) => (error ? reject(closeCodeError(server, 1006, error)) : resolve()));
      }),
    close() {
      clearTimeout(pingTimer);
      return new Promise((resolve) => {
        const timer = setTimeout(() => socket.terminate(), timings.closeGraceMs);
        socket.once("close", () => {
          clearTimeout(timer);
          resolve();
        });
        socket.close(1000);
      });
    },
    // No closing handshake: the server may keep sending a large message for as long as it is read.
    terminate() {
      clearTimeout(pingTimer);
      socket.terminate();
    },
  };
}
