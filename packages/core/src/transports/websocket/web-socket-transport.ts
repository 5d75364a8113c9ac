/** MCP over a WebSocket: one JSON-RPC message per frame. The runtime-specific part opens the connection. */

import type { IncomingMessage } from "node:http";
import type { JSONRPCMessage, MessageExtraInfo } from "@modelcontextprotocol/client";
import {
  AuthError,
  ConnectionError,
  fromHttpStatus,
  fromSystemError,
  ToolportError,
  withDeadline,
} from "@toolport/base";
import { parseRetryAfter, redirectError } from "@toolport/http";
import { notOpenError, parseMessage, type ServerTransport } from "../server-transport.js";

/** An open connection. */
export interface WebSocketConnection {
  isOpen(): boolean;
  send(text: string): Promise<void>;
  /** Closes with a closing handshake, and waits a limited time for the server's close frame. */
  close(): Promise<void>;
  /** Closes at once, without a closing handshake. */
  terminate(): void;
}

/** Receives the events of a connection. */
export interface WebSocketListener {
  /** Called in the turn in which the connection opens: frames that arrived with the upgrade response follow in the same turn. */
  onOpen(connection: WebSocketConnection): void;
  onText(text: string): void;
  /** The connection is lost. Ignored if it was never open. */
  onLost(error: ToolportError): void;
}

interface WebSocketTransportOptions {
  readonly server: string;
  /** Opens a connection, unless the signal aborts first. After a rejection nothing is left open. */
  readonly open: (listener: WebSocketListener, signal: AbortSignal) => Promise<void>;
  /** Timeout for all steps: the headers function, the upgrade, and a second upgrade without a subprotocol. */
  readonly handshakeTimeoutMs: number;
}

export class WebSocketTransport implements ServerTransport {
  readonly kind = "websocket";
  onmessage?: <T extends JSONRPCMessage>(message: T, extra?: MessageExtraInfo) => void;
  onerror?: (error: Error) => void;
  onclose?: () => void;
  ondiscard?: ServerTransport["ondiscard"];
  closeError: ToolportError | undefined;
  readonly #opening = new AbortController();
  #state: "idle" | "opening" | "open" | "closed" = "idle";
  #connection: WebSocketConnection | undefined;
  #closing: Promise<void> | undefined;
  #warned = false;

  constructor(private readonly options: WebSocketTransportOptions) {}

  async start(): Promise<void> {
    const { server, open, handshakeTimeoutMs } = this.options;
    if (this.#state !== "idle") throw notOpenError(server, this.closeError);
    this.#state = "opening";
    const listener: WebSocketListener = {
      onOpen: (connection) => {
        this.#connection = connection;
        this.#state = "open";
      },
      onText: (text) => this.#receive(text),
      onLost: (error) => this.#lose(error),
    };
    try {
      await withDeadline(open(listener, this.#opening.signal), {
        signal: this.#opening.signal,
        timeoutMs: handshakeTimeoutMs,
        onTimeout: () =>
          new ConnectionError({
            code: "CONNECT_TIMEOUT",
            what: `The WebSocket handshake did not finish within ${handshakeTimeoutMs} ms`,
            next: "Check that the server is up and reachable",
            server,
            retryable: true,
            outcome: "unsent",
          }),
      });
      if (this.closeError) throw this.closeError;
    } catch (error) {
      this.#state = "closed";
      this.#opening.abort(error);
      throw ToolportError.isInstance(error) ? error : connectError(server, error);
    }
  }

  async send(message: JSONRPCMessage): Promise<void> {
    const connection = this.#connection;
    if (this.#state !== "open" || !connection?.isOpen()) {
      throw notOpenError(this.options.server, this.closeError);
    }
    await connection.send(JSON.stringify(message));
  }

  close(): Promise<void> {
    this.#closing ??= this.#end();
    return this.#closing;
  }

  async #end(): Promise<void> {
    const connection = this.#state === "open" ? this.#connection : undefined;
    this.#state = "closed";
    const what = "The connection was closed while it was being opened";
    const { server } = this.options;
    this.#opening.abort(new ConnectionError({ code: "CLOSED", what, server, outcome: "unsent" }));
    await connection?.close();
    if (this.closeError === undefined) this.onclose?.();
  }

  #receive(text: string): void {
    if (this.#state === "closed") return;
    const message = parseMessage(text);
    if (message !== undefined && !(message instanceof Set)) {
      this.onmessage?.(message as JSONRPCMessage);
      return;
    }
    const { server } = this.options;
    const what = "The server sent a frame that is not a JSON-RPC message; it and others like it are skipped";
    const error = new ConnectionError({ code: "BAD_RESPONSE", what, server });
    for (const id of message ?? []) this.ondiscard?.({ id, error });
    if (!this.#warned) this.onerror?.(error);
    this.#warned = true;
  }

  #lose(error: ToolportError): void {
    if (this.#state !== "open") return;
    this.#state = "closed";
    this.closeError = error;
    this.#connection?.terminate();
    this.onclose?.();
  }
}

const CLOSE_CODES: Readonly<Record<number, string>> = {
  1000: "The server closed the connection",
  1001: "The server is going away and closed the connection",
  1002: "The server closed the connection because of a protocol error",
  1003: "The server closed the connection because it does not accept this kind of data",
  1006: "The connection was lost without a close frame",
  1008: "The server closed the connection because of its policy",
  1011: "The server closed the connection because of an internal error",
  1012: "The server is restarting and closed the connection",
  1013: "The server is overloaded and closed the connection",
};

/** The error for a close code after the handshake. 4401 and 4403 commonly mean 401 and 403. */
export function closeCodeError(server: string, code: number, cause?: unknown): ToolportError {
  if (code === 4401 || code === 4403) {
    const status = code - 4000;
    const { what, next } = fromHttpStatus(status, cause, { server });
    // Unlike an HTTP status, it does not belong to one request: requests in flight may have run.
    const authCode = status === 401 ? "AUTH_REQUIRED" : "FORBIDDEN";
    return new AuthError({ code: authCode, what, next, server, status, outcome: "unknown", cause });
  }
  if (code === 1009) {
    return new ConnectionError({
      code: "MESSAGE_TOO_LARGE",
      what: "The server closed the connection because a message to it was too large (close code 1009)",
      next: "Send less data in one call",
      server,
      cause,
    });
  }
  return new ConnectionError({
    code: "CLOSED",
    what: `${CLOSE_CODES[code] ?? "The server closed the connection"} (close code ${code})`,
    next: "The next call opens a new connection",
    server,
    retryable: true,
    cause,
  });
}

/** The upgrade request was answered with a status other than 101. */
export function upgradeError(
  server: string,
  url: string,
  { statusCode: status = 0, headers }: Pick<IncomingMessage, "statusCode" | "headers">,
): ToolportError {
  if (status >= 300 && status < 400) {
    const fields = { get: (name: string) => (headers[name] as string | undefined) ?? null };
    const { what, next } = redirectError({ status, headers: fields }, new URL(url), "GET");
    return new ConnectionError({ code: "HTTP_STATUS", what, next, server, status, outcome: "unsent" });
  }
  const error = fromHttpStatus(status, undefined, { server, phase: "connect" });
  if (!(error instanceof ConnectionError)) return error;
  return new ConnectionError({
    code: "HTTP_STATUS",
    what: `The server answered the WebSocket upgrade with HTTP ${status}`,
    next: error.next ?? "Check that the server speaks WebSocket at this URL",
    server,
    status,
    retryAfterMs: parseRetryAfter(headers["retry-after"] ?? null),
    retryable: error.retryable,
    outcome: "unsent",
  });
}

/** The connection could not be opened. Without a system error code, the server responded but does not speak WebSocket. */
export function connectError(server: string, cause: unknown, proxy?: string): ConnectionError {
  const through = proxy === undefined ? "" : ` through the proxy ${proxy}`;
  const known = fromSystemError(cause, { server, phase: "connect" });
  if (known === undefined)
    return new ConnectionError({
      code: "HANDSHAKE_FAILED",
      what: `The WebSocket handshake failed${through}`,
      next: "Check that the URL is that of an MCP server that speaks WebSocket",
      server,
      outcome: "unsent",
      cause,
    });
  if (proxy === undefined) return known;
  const { code, next, errno, retryable, outcome } = known;
  const what = `${known.what}${through}`;
  return new ConnectionError({ code, what, next, server, errno, retryable, outcome, cause });
}

export function frameTooLarge(server: string, maxMessageBytes: number): ConnectionError {
  return new ConnectionError({
    code: "MESSAGE_TOO_LARGE",
    what: `The server sent a message of more than ${maxMessageBytes} bytes, so the connection was closed`,
    next: "Request less data from the tool at a time",
    server,
  });
}
