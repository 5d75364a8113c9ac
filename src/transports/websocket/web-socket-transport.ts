/** MCP over the `WebSocket` of the runtime (Workers, Deno, Bun, browsers), which can send no headers and no pings. */
import type { JSONRPCMessage, MessageExtraInfo } from "@modelcontextprotocol/client";
import type { WebSocketConfig } from "../../config/server-config.js";
import { ConnectionError } from "../../errors/connection-error.js";
import { ToolportError } from "../../errors/toolport-error.js";
import { withDeadline } from "../../util/with-deadline.js";
import type { ServerTransport, TransportContext } from "../server-transport.js";
import { parseFrame } from "./parse-frame.js";
import * as failure from "./web-socket-failure.js";

/** The part of the standard `WebSocket` that is used here. */
export interface StandardWebSocket {
  binaryType: string;
  readonly readyState: number;
  send(data: string): void;
  close(code?: number, reason?: string): void;
  addEventListener(type: "open" | "error", listener: () => void): void;
  addEventListener(type: "close", listener: (event: { readonly code: number }) => void): void;
  addEventListener(type: "message", listener: (event: { readonly data: unknown }) => void): void;
}

export type StandardWebSocketConstructor = new (url: string, protocols?: string[]) => StandardWebSocket;

export interface GlobalWebSocketOptions {
  /** @default the runtime's own */
  readonly WebSocket?: StandardWebSocketConstructor;
  /** @default 10000 */
  readonly handshakeTimeoutMs?: number;
  /** How long the closing handshake may take. @default 1000 */
  readonly closeGraceMs?: number;
}

const OPEN = 1;

/** Like `createWebSocketTransport`, for runtimes that have no sockets of their own but a global `WebSocket`. */
export async function createGlobalWebSocketTransport(
  config: WebSocketConfig,
  context: Pick<TransportContext, "maxMessageBytes">,
  options: GlobalWebSocketOptions = {},
): Promise<ServerTransport> {
  const WebSocket =
    options.WebSocket ?? (globalThis as { WebSocket?: StandardWebSocketConstructor }).WebSocket;
  if (WebSocket === undefined) throw notSupported(config.name, "This runtime has no WebSocket");
  const headers = typeof config.headers === "function" ? await config.headers() : config.headers.reveal();
  if (Object.keys(headers).length > 0) {
    throw notSupported(config.name, "This runtime cannot send headers when it opens a WebSocket");
  }
  const { handshakeTimeoutMs = 10_000, closeGraceMs = 1_000 } = options;
  const { maxMessageBytes } = context;
  return new GlobalWebSocketTransport(config, {
    WebSocket,
    maxMessageBytes,
    handshakeTimeoutMs,
    closeGraceMs,
  });
}

interface Surroundings extends Required<GlobalWebSocketOptions> {
  readonly maxMessageBytes: number;
}

class GlobalWebSocketTransport implements ServerTransport {
  readonly kind = "websocket";
  onmessage?: <T extends JSONRPCMessage>(message: T, extra?: MessageExtraInfo) => void;
  onerror?: (error: Error) => void;
  onclose?: () => void;
  ondiscard?: ServerTransport["ondiscard"];
  closeError: ToolportError | undefined;

  readonly #config: WebSocketConfig;
  readonly #surroundings: Surroundings;
  readonly #opening = new AbortController();
  #state: "idle" | "opening" | "open" | "closed" = "idle";
  #socket: StandardWebSocket | undefined;
  #closing: Promise<void> | undefined;
  #warned = false;

  constructor(config: WebSocketConfig, surroundings: Surroundings) {
    this.#config = config;
    this.#surroundings = surroundings;
  }

  async start(): Promise<void> {
    const server = this.#config.name;
    if (this.#state !== "idle") throw failure.notOpen(server, this.closeError);
    this.#state = "opening";
    const { handshakeTimeoutMs } = this.#surroundings;
    try {
      await withDeadline(this.#open(), {
        signal: this.#opening.signal,
        timeoutMs: handshakeTimeoutMs,
        onTimeout: () => failure.handshakeTimeout(server, handshakeTimeoutMs),
      });
      if (this.closeError) throw this.closeError;
    } catch (error) {
      this.#state = "closed";
      this.#opening.abort(error);
      throw ToolportError.isInstance(error) ? error : failure.connectError(server, error);
    }
  }

  async send(message: JSONRPCMessage): Promise<void> {
    if (this.#state !== "open" || this.#socket?.readyState !== OPEN) {
      throw failure.notOpen(this.#config.name, this.closeError);
    }
    this.#socket.send(JSON.stringify(message));
  }

  close(): Promise<void> {
    this.#closing ??= this.#end();
    return this.#closing;
  }

  async #end(): Promise<void> {
    const socket = this.#state === "open" ? this.#socket : undefined;
    this.#state = "closed";
    this.#opening.abort(failure.closedWhileOpening(this.#config.name));
    if (socket !== undefined) {
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, this.#surroundings.closeGraceMs);
        socket.addEventListener("close", () => {
          clearTimeout(timer);
          resolve();
        });
        socket.close(1000);
      });
    }
    if (this.closeError === undefined) this.onclose?.();
  }

  async #open(): Promise<void> {
    try {
      return await this.#connect(["mcp"]);
    } catch {
      // The standard hides why: it may be that the server selected no subprotocol, which ends the handshake here.
      this.#opening.signal.throwIfAborted();
      return this.#connect([]);
    }
  }

  #connect(offered: string[]): Promise<void> {
    const server = this.#config.name;
    const signal = this.#opening.signal;
    return new Promise((resolve, reject) => {
      const { WebSocket } = this.#surroundings;
      const url = this.#config.url;
      const socket = offered.length > 0 ? new WebSocket(url, offered) : new WebSocket(url);
      socket.binaryType = "arraybuffer";
      const abandon = () => socket.close();
      signal.addEventListener("abort", abandon, { once: true });
      socket.addEventListener("open", () => {
        signal.removeEventListener("abort", abandon);
        this.#socket = socket;
        this.#state = "open";
        resolve();
      });
      socket.addEventListener("error", () => reject(unreachable(server)));
      socket.addEventListener("close", ({ code }) => {
        signal.removeEventListener("abort", abandon);
        reject(unreachable(server));
        this.#lose(failure.closeCodeError(server, code));
      });
      socket.addEventListener("message", ({ data }) => this.#receive(data));
    });
  }

  #receive(data: unknown): void {
    if (this.#state === "closed") return;
    const { maxMessageBytes } = this.#surroundings;
    if (isOver(data, maxMessageBytes)) {
      this.#lose(failure.frameTooLarge(this.#config.name, maxMessageBytes));
      return;
    }
    const message = parseFrame(
      typeof data === "string" ? data : new TextDecoder().decode(data as ArrayBuffer),
    );
    if (message !== undefined && !(message instanceof Set)) {
      this.onmessage?.(message as JSONRPCMessage);
      return;
    }
    const error = failure.skippedFrame(this.#config.name);
    for (const id of message ?? []) this.ondiscard?.({ id, error });
    if (!this.#warned) this.onerror?.(error);
    this.#warned = true;
  }

  #lose(error: ToolportError): void {
    if (this.#state !== "open") return;
    this.#state = "closed";
    this.closeError = error;
    this.#socket?.close();
    this.onclose?.();
  }
}

/** The runtime has the whole message in memory already: the cap keeps it from growing into a parsed one. */
function isOver(data: unknown, maxBytes: number): boolean {
  if (typeof data !== "string") return (data as ArrayBuffer).byteLength > maxBytes;
  if (data.length > maxBytes) return true;
  return data.length * 3 > maxBytes && new TextEncoder().encode(data).byteLength > maxBytes;
}

function unreachable(server: string): ConnectionError {
  return new ConnectionError({
    code: "UNREACHABLE",
    what: "The WebSocket could not be opened, and this runtime does not say why",
    next: "Check the URL, and that the server runs",
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
