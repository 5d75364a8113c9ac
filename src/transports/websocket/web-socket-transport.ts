/** MCP over a WebSocket: one JSON-RPC message per frame. The runtime-specific part opens the connection. */
import type { JSONRPCMessage, MessageExtraInfo } from "@modelcontextprotocol/client";
import { ToolportError } from "../../errors/toolport-error.js";
import { withDeadline } from "../../util/timers.js";
import type { ServerTransport } from "../server-transport.js";
import { parseMessage } from "../server-transport.js";
import * as failure from "./web-socket-failure.js";

/** An open connection. */
export interface WebSocketConnection {
  readonly isOpen: boolean;
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

/** Opens a connection, unless the signal aborts first. After a rejection nothing is left open. */
type OpenWebSocket = (listener: WebSocketListener, signal: AbortSignal) => Promise<void>;

interface WebSocketTransportOptions {
  readonly server: string;
  readonly open: OpenWebSocket;
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

  readonly #options: WebSocketTransportOptions;
  readonly #opening = new AbortController();
  #state: "idle" | "opening" | "open" | "closed" = "idle";
  #connection: WebSocketConnection | undefined;
  #closing: Promise<void> | undefined;
  #warned = false;

  constructor(options: WebSocketTransportOptions) {
    this.#options = options;
  }

  async start(): Promise<void> {
    const { server, open, handshakeTimeoutMs } = this.#options;
    if (this.#state !== "idle") throw failure.notOpen(server, this.closeError);
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
    const connection = this.#connection;
    if (this.#state !== "open" || !connection?.isOpen) {
      throw failure.notOpen(this.#options.server, this.closeError);
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
    this.#opening.abort(failure.closedWhileOpening(this.#options.server));
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
    const error = failure.skippedFrame(this.#options.server);
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
