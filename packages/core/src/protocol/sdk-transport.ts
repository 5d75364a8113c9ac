/**
 * The transport that the SDK's `Client` is connected to: it shares an open connection with Toolport's own requests.
 *
 * The client may connect long after the handshake. This transport then answers the client's handshake with the earlier result
 * and delivers the messages that arrived for the client in the meantime.
 */
import type {
  JSONRPCMessage,
  MessageExtraInfo,
  RequestId,
  Transport,
  TransportSendOptions,
} from "@modelcontextprotocol/client";
import type { ToolportError } from "@toolport/base";
import type { MessageOrigin, ServerTransport } from "../transports/server-transport.js";

/** Maximum number of messages buffered while the client is being loaded. */
const MAX_BUFFERED = 10_000;

interface SdkTransportHost {
  start(): Promise<void>;
  send(message: JSONRPCMessage, options?: TransportSendOptions): Promise<void>;
  /** The client gave up this request; its response may still arrive. */
  expectLate(id: RequestId): void;
  /** A response arrived that matches no open request of the client. */
  drop(id: unknown): void;
}

/** A request that stays open as long as the connection. */
const LISTEN_METHOD = "subscriptions/listen";

const isHandshake = ({ method }: { method: string }): boolean =>
  method === "initialize" || method === "notifications/initialized";

export class SdkTransport implements Transport {
  onclose?: (() => void) | undefined;
  onerror?: ((error: Error) => void) | undefined;
  onmessage?: ((message: JSONRPCMessage, extra?: MessageExtraInfo) => void) | undefined;
  readonly hasPerRequestStream?: boolean;
  /** The server sent a request that only the SDK's client can answer, and no client is connected yet. */
  onneeded?: (() => void) | undefined;

  /** Called for each question to the user that no handler can answer. While set, such questions are cancelled. */
  oncancelledquestion?: ((origin: MessageOrigin | undefined) => void) | undefined;

  readonly #inner: ServerTransport;
  readonly #host: SdkTransportHost;
  /** Open requests of the client, so that it learns of lost responses too. */
  readonly #open = new Set<RequestId>();
  /** Those of them that stay open as long as the connection. */
  readonly #subscriptions = new Set<RequestId>();
  readonly #incoming: IncomingRequestLimit;
  /** Messages that arrived for the client before it was connected. */
  #buffered: JSONRPCMessage[] = [];
  /** Set while the client connects to the open connection. */
  #joining: { readonly initializeResult: unknown } | undefined;
  #closedError: ToolportError | undefined;

  constructor(inner: ServerTransport, host: SdkTransportHost) {
    this.#inner = inner;
    this.#host = host;
    this.#incoming = new IncomingRequestLimit((message) => host.send(message));
    if (inner.hasPerRequestStream) this.hasPerRequestStream = true;
  }

  get sessionId(): string | undefined {
    // With a session id the client would assume a resumed session and skip its handshake.
    return this.#joining === undefined ? this.#inner.sessionId : undefined;
  }

  /** Ids of the client's open requests. */
  get inFlight(): readonly RequestId[] {
    return [...this.#open];
  }

  /** Number of the client's open requests, without subscriptions. */
  get calls(): number {
    return this.#open.size - this.#subscriptions.size;
  }

  setProtocolVersion = (version: string): void => {
    this.#inner.setProtocolVersion?.(version);
  };

  setSupportedProtocolVersions = (versions: string[]): void => {
    this.#inner.setSupportedProtocolVersions?.(versions);
  };

  start(): Promise<void> {
    return this.#host.start();
  }

  async close(): Promise<void> {
    await this.#inner.close();
  }

  /**
   * Connects the client with `connect`, which must connect it to this transport. No second handshake is sent. Afterwards the
   * client receives the buffered messages.
   */
  async join(initializeResult: unknown, connect: () => Promise<void>): Promise<void> {
    if (this.#closedError !== undefined) throw this.#closedError;
    this.#joining = { initializeResult };
    try {
      await connect();
    } finally {
      this.#joining = undefined;
    }
    for (const message of this.#buffered.splice(0)) this.onmessage?.(message);
  }

  /** Sends a message of the client. */
  send(message: JSONRPCMessage, options?: TransportSendOptions): Promise<void> {
    if (!("method" in message)) {
      if (message.id !== undefined) this.#incoming.done(message.id);
      return this.#host.send(message, options);
    }
    if (this.#joining !== undefined && isHandshake(message)) {
      const result = this.#joining.initializeResult;
      if ("id" in message) {
        const response = { jsonrpc: "2.0", id: message.id, result } as JSONRPCMessage;
        queueMicrotask(() => this.onmessage?.(response));
      }
      return Promise.resolve();
    }
    if ("id" in message) {
      this.#open.add(message.id);
      if (message.method === LISTEN_METHOD) this.#subscriptions.add(message.id);
    } else if (message.method === "notifications/cancelled") this.#giveUp(message.params?.["requestId"]);
    return this.#host.send(message, options);
  }

  /** Receives every message that does not belong to an own request of Toolport. */
  receive(message: JSONRPCMessage, extra?: MessageOrigin): void {
    if (!("method" in message)) {
      if (!this.#settle(message.id as RequestId)) this.#host.drop(message.id);
    } else if (!("id" in message)) {
      if (message.method === "notifications/cancelled") this.#forget(message.params?.["requestId"]);
    } else if (message.method === "ping") return this.#incoming.reply(message.id, { result: {} });
    else if (message.method === "elicitation/create" && this.oncancelledquestion !== undefined) {
      this.oncancelledquestion(extra);
      return this.#incoming.reply(message.id, { result: { action: "cancel" } });
    } else if (!this.#incoming.admit(message.id)) return;
    this.#deliver(message, extra);
  }

  /** Fails a request of the client: its response will not arrive. */
  fail(id: RequestId, error: ToolportError): void {
    if (!this.#settle(id)) return;
    this.#host.expectLate(id);
    // The client can only be notified by a response.
    this.onmessage?.({
      jsonrpc: "2.0",
      id,
      error: { code: -32000, message: error.message, data: { toolport: error.code } },
    } as JSONRPCMessage);
  }

  /** The connection is closed. `error` is for later attempts to use this transport. */
  closed(error: ToolportError): void {
    this.#closedError = error;
    this.#open.clear();
    this.#subscriptions.clear();
    this.#buffered = [];
    this.onclose?.();
  }

  #giveUp(id: unknown): void {
    if (this.#settle(id as RequestId)) this.#host.expectLate(id as RequestId);
  }

  /** Removes an open request; false if there is none with this id. */
  #settle(id: RequestId): boolean {
    this.#subscriptions.delete(id);
    return this.#open.delete(id);
  }

  /** The server cancelled its request: a client that connects later must not receive it. */
  #forget(id: unknown): void {
    this.#incoming.done(id as RequestId);
    this.#buffered = this.#buffered.filter((message) => !("id" in message) || message.id !== id);
  }

  /** Delivers a message to the client, or buffers it until the client is connected. */
  #deliver(message: JSONRPCMessage, extra: MessageExtraInfo | undefined): void {
    if (this.#joining === undefined && this.onmessage !== undefined) {
      // The client processes notifications one microtask later than responses. Without the delay, progress that arrived
      // right before its response would be lost.
      if ("method" in message) this.onmessage(message, extra);
      else queueMicrotask(() => this.onmessage?.(message, extra));
      return;
    }
    const isRequest = "method" in message && "id" in message;
    // Without a client, notifications have been handled by the channel, and no response can be for the client.
    if (!isRequest && this.#joining === undefined) return;
    // Drop the oldest message if the server floods the connection before the client is there.
    if (this.#buffered.length >= MAX_BUFFERED) this.#buffered.shift();
    this.#buffered.push(message);
    if (this.#joining === undefined) this.onneeded?.();
  }
}

/** Maximum number of open requests of the server. */
const MAX_OPEN = 64;
/** Maximum number of unsent replies. A server that sends requests but never reads gets no more. */
const MAX_UNSENT_REPLIES = 10_000;

const TOO_MANY = { code: -32603, message: "Too many requests at once" };

/** The response to a request of a server. */
export type IncomingReply =
  | { readonly result: Readonly<Record<string, unknown>> }
  | { readonly error: { readonly code: number; readonly message: string } };

/** Limits the requests of a server, so that a flood costs no more than reading it. */
export class IncomingRequestLimit {
  readonly #send: (message: JSONRPCMessage) => Promise<void>;
  readonly #open = new Set<RequestId>();
  #unsentReplies = 0;

  constructor(send: (message: JSONRPCMessage) => Promise<void>) {
    this.#send = send;
  }

  /** True if the request may be processed; it counts until `done()`. Otherwise the server gets an error response. */
  admit(id: RequestId): boolean {
    if (this.#open.size >= MAX_OPEN) {
      this.reply(id, { error: TOO_MANY });
      return false;
    }
    this.#open.add(id);
    return true;
  }

  /** The request is answered or cancelled. */
  done(id: RequestId): void {
    this.#open.delete(id);
  }

  /** Responds without the SDK's client, which need not be loaded then. */
  reply(id: RequestId, content: IncomingReply): void {
    if (this.#unsentReplies >= MAX_UNSENT_REPLIES) return;
    this.#unsentReplies += 1;
    const sent = () => {
      this.#unsentReplies -= 1;
    };
    // Ignore failures: the channel handles a broken connection.
    this.#send({ jsonrpc: "2.0", id, ...content } as JSONRPCMessage).then(sent, sent);
  }
}
