/** MCP over WebSocket with the `ws` package: one JSON-RPC message a frame, pings, a cap on what comes in. */
import type { Socket } from "node:net";
import type { JSONRPCMessage, MessageExtraInfo } from "@modelcontextprotocol/client";
import type { RawData, WebSocket } from "ws";
import type { WebSocketConfig } from "../../config/server-config.js";
import { ToolportError } from "../../errors/toolport-error.js";
import { withDeadline } from "../../util/with-deadline.js";
import type { ServerTransport, TransportContext } from "../server-transport.js";
import { parseFrame } from "./parse-frame.js";
import * as failure from "./web-socket-failure.js";

/** Time limits of a WebSocket connection. */
export interface WebSocketTimings {
  /** From the start to an open connection. @default 10000 */
  readonly handshakeTimeoutMs: number;
  /** Silence between two pings. @default 20000 */
  readonly pingIntervalMs: number;
  /** How long a pong (or anything else) may take. @default 10000 */
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

/** Over our limit, and over what a number can hold. */
const TOO_LARGE: ReadonlySet<string> = new Set([
  "WS_ERR_UNSUPPORTED_MESSAGE_LENGTH",
  "WS_ERR_UNSUPPORTED_DATA_PAYLOAD_LENGTH",
]);

/**
 * Servers that were seen to select no subprotocol. RFC 6455 allows that, `ws` does not: it ends such a connection. They
 * are asked again without an offer, and a reconnect with the same configuration does not offer one in the first place.
 */
const withoutSubprotocol = new WeakSet<WebSocketConfig>();

/** A transport for one `ws:` or `wss:` server; `start()` opens the connection. */
export async function createWebSocketTransport(
  config: WebSocketConfig,
  context: Pick<TransportContext, "maxMessageBytes">,
  timings: Partial<WebSocketTimings> = {},
): Promise<ServerTransport> {
  const { WebSocket } = await import("ws");
  return new WebSocketTransport(config, {
    WebSocket,
    maxMessageBytes: context.maxMessageBytes,
    timings: { ...TIMINGS, ...timings },
  });
}

interface Surroundings {
  readonly WebSocket: typeof WebSocket;
  readonly maxMessageBytes: number;
  readonly timings: WebSocketTimings;
}

/** An open `ws` connection and the TCP socket under it. */
interface Line {
  readonly socket: WebSocket;
  readonly wire: Socket;
}

class WebSocketTransport implements ServerTransport {
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
  #socket: WebSocket | undefined;
  #pingTimer: NodeJS.Timeout | undefined;
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
    const { handshakeTimeoutMs } = this.#surroundings.timings;
    try {
      // One deadline for all of it: asking for the headers, the upgrade, and the second one without a subprotocol.
      const line = await withDeadline(this.#open(), {
        signal: this.#opening.signal,
        timeoutMs: handshakeTimeoutMs,
        onTimeout: () => failure.handshakeTimeout(server, handshakeTimeoutMs),
      });
      if (this.closeError) throw this.closeError;
      // An idle connection keeps no host alive; whoever waits for an answer has a timer that does.
      line.wire.unref();
      this.#pingLater(line);
    } catch (error) {
      this.#state = "closed";
      this.#opening.abort(error);
      throw ToolportError.isInstance(error) ? error : failure.connectError(server, error);
    }
  }

  async send(message: JSONRPCMessage): Promise<void> {
    const socket = this.#socket;
    const server = this.#config.name;
    if (this.#state !== "open" || socket?.readyState !== this.#surroundings.WebSocket.OPEN) {
      throw failure.notOpen(server, this.closeError);
    }
    const text = JSON.stringify(message);
    await new Promise<void>((resolve, reject) => {
      socket.send(text, (error) => (error ? reject(failure.closeCodeError(server, 1006, error)) : resolve()));
    });
  }

  close(): Promise<void> {
    this.#closing ??= this.#end();
    return this.#closing;
  }

  async #end(): Promise<void> {
    const before = this.#state;
    this.#state = "closed";
    clearTimeout(this.#pingTimer);
    this.#opening.abort(failure.closedWhileOpening(this.#config.name));
    if (before === "open" && this.#socket) await this.#sayGoodbye(this.#socket);
    if (this.closeError === undefined) this.onclose?.();
  }

  #sayGoodbye(socket: WebSocket): Promise<void> {
    return new Promise((resolve) => {
      const timer = setTimeout(() => socket.terminate(), this.#surroundings.timings.closeGraceMs);
      socket.once("close", () => {
        clearTimeout(timer);
        resolve();
      });
      socket.close(1000);
    });
  }

  async #open(): Promise<Line> {
    const { headers } = this.#config;
    const values = typeof headers === "function" ? await headers() : headers.reveal();
    const signal = this.#opening.signal;
    signal.throwIfAborted();
    const offered = withoutSubprotocol.has(this.#config) ? [] : [SUBPROTOCOL];
    const line = await this.#upgrade(values, offered);
    if (line !== "no subprotocol") return line;
    withoutSubprotocol.add(this.#config);
    signal.throwIfAborted();
    return (await this.#upgrade(values, [])) as Line;
  }

  #upgrade(headers: Readonly<Record<string, string>>, offered: string[]): Promise<Line | "no subprotocol"> {
    const { WebSocket, maxMessageBytes } = this.#surroundings;
    const server = this.#config.name;
    const signal = this.#opening.signal;
    return new Promise((resolve, reject) => {
      const socket = new WebSocket(this.#config.url, offered, {
        headers: { ...headers },
        followRedirects: false,
        maxPayload: maxMessageBytes,
        perMessageDeflate: false,
        // Explicit, so that no variable of the environment can turn certificate checks off.
        rejectUnauthorized: true,
        // A frame with broken UTF-8 costs itself, not the connection.
        skipUTF8Validation: true,
      });
      const abandon = () => socket.terminate();
      signal.addEventListener("abort", abandon, { once: true });
      let wire: Socket | undefined;
      let selectedNone = false;
      socket.once("upgrade", (response) => {
        wire = response.socket;
        selectedNone = offered.length > 0 && response.headers["sec-websocket-protocol"] === undefined;
      });
      socket.once("unexpected-response", (_request, response) => {
        reject(failure.upgradeError(server, response.statusCode ?? 0, response.headers["retry-after"]));
        socket.terminate();
      });
      socket.once("open", () => {
        signal.removeEventListener("abort", abandon);
        this.#socket = socket;
        // Here and not in start(): what came along with the answer to the upgrade is read before start() goes on.
        this.#state = "open";
        resolve({ socket, wire: wire as Socket });
      });
      // Stays for the life of the socket: an "error" nobody listens to would end the process.
      socket.on("error", (error) => {
        if (selectedNone) resolve("no subprotocol");
        else if (this.#socket === socket) this.#fail(error);
        else reject(failure.connectError(server, error));
      });
      socket.once("close", (code) => {
        signal.removeEventListener("abort", abandon);
        this.#lose(failure.closeCodeError(server, code));
      });
      socket.on("message", (data) => this.#receive(data));
    });
  }

  #receive(data: RawData): void {
    if (this.#state === "closed") return;
    // Text and binary frames alike: some servers send their JSON in binary ones.
    const message = parseFrame((data as Buffer).toString("utf8"));
    if (message !== undefined && !(message instanceof Set)) {
      this.onmessage?.(message as JSONRPCMessage);
      return;
    }
    const error = failure.skippedFrame(this.#config.name);
    for (const id of message ?? []) this.ondiscard?.({ id, error });
    if (!this.#warned) this.onerror?.(error);
    this.#warned = true;
  }

  #fail(error: Error & { code?: string }): void {
    const server = this.#config.name;
    if (error.code !== undefined && TOO_LARGE.has(error.code)) {
      this.#lose(failure.frameTooLarge(server, this.#surroundings.maxMessageBytes));
    } else if (error.code?.startsWith("WS_ERR_")) {
      this.#lose(failure.brokenFrame(server, error));
    } else {
      this.#lose(failure.closeCodeError(server, 1006, error));
    }
  }

  #lose(error: ToolportError): void {
    if (this.#state !== "open") return;
    this.#state = "closed";
    this.closeError = error;
    clearTimeout(this.#pingTimer);
    // Not the polite way: whoever sent 64 MB goes on sending for as long as somebody reads.
    this.#socket?.terminate();
    this.onclose?.();
  }

  #pingLater(line: Line): void {
    this.#pingTimer = setTimeout(() => this.#ping(line), this.#surroundings.timings.pingIntervalMs).unref();
  }

  #ping(line: Line): void {
    const { pongTimeoutMs } = this.#surroundings.timings;
    // Any byte is a sign of life: a pong may be stuck behind a long message.
    const seen = line.wire.bytesRead;
    line.socket.ping(undefined, undefined, () => {});
    this.#pingTimer = setTimeout(() => {
      if (line.wire.bytesRead !== seen) this.#pingLater(line);
      else this.#lose(failure.pongTimeout(this.#config.name, pongTimeoutMs));
    }, pongTimeoutMs).unref();
  }
}
