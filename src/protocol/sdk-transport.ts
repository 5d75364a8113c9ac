/**
 * The lane as the SDK's client sees it: a transport that is open already.
 *
 * The client may come late, when our own requests have long been answered: its handshake is then answered from the one
 * that was made, and what came for it meanwhile is kept.
 */
import type {
  JSONRPCMessage,
  MessageExtraInfo,
  RequestId,
  Transport,
  TransportSendOptions,
} from "@modelcontextprotocol/client";
import type { ToolportError } from "../errors/toolport-error.js";
import type { ServerTransport } from "../transports/server-transport.js";

/** Messages kept for a client that is being loaded. */
const MAX_WAITING = 10_000;

/** What the lane does for its client. */
export interface LaneDoor {
  start(): Promise<void>;
  send(message: JSONRPCMessage, options?: TransportSendOptions): Promise<void>;
  /** The client no longer waits for the answer to this request. */
  giveUp(id: RequestId): void;
  /** An answer has arrived that no request of the client's waits for. */
  drop(id: unknown): void;
}

/** The request that stays open for as long as the connection does. */
const LISTEN_METHOD = "subscriptions/listen";

const isHandshake = ({ method }: { method: string }): boolean =>
  method === "initialize" || method === "notifications/initialized";

export class ClientSide implements Transport {
  onclose?: (() => void) | undefined;
  onerror?: ((error: Error) => void) | undefined;
  onmessage?: ((message: JSONRPCMessage, extra?: MessageExtraInfo) => void) | undefined;
  readonly hasPerRequestStream?: boolean;
  /** The server asked something that only the SDK's client can answer, and there is none yet. */
  onneeded?: (() => void) | undefined;

  readonly #inner: ServerTransport;
  readonly #lane: LaneDoor;
  /** Requests of the client in flight, so that a lost answer can be told to it as well. */
  readonly #asking = new Set<RequestId>();
  /** Those among them that stay open for as long as the connection does. */
  readonly #listening = new Set<RequestId>();
  /** What the server asks of the client. */
  readonly #asked: AskedLimit;
  /** What came for the client before it was there. */
  #waiting: JSONRPCMessage[] = [];
  /** The client joins a conversation that has begun. */
  #joining: { readonly initializeResult: unknown } | undefined;
  #gone: ToolportError | undefined;

  constructor(inner: ServerTransport, lane: LaneDoor) {
    this.#inner = inner;
    this.#lane = lane;
    this.#asked = new AskedLimit((message) => lane.send(message));
    if (inner.hasPerRequestStream) this.hasPerRequestStream = true;
  }

  get sessionId(): string | undefined {
    // A session that is there already would be taken for one that is resumed, and the handshake left out.
    return this.#joining === undefined ? this.#inner.sessionId : undefined;
  }

  /** Ids of the client's requests that are not answered yet. */
  get inFlight(): readonly RequestId[] {
    return [...this.#asking];
  }

  /** How many requests of the client wait for an answer, those that only listen apart. */
  get calls(): number {
    return this.#asking.size - this.#listening.size;
  }

  setProtocolVersion = (version: string): void => {
    this.#inner.setProtocolVersion?.(version);
  };

  setSupportedProtocolVersions = (versions: string[]): void => {
    this.#inner.setSupportedProtocolVersions?.(versions);
  };

  start(): Promise<void> {
    return this.#lane.start();
  }

  async close(): Promise<void> {
    await this.#inner.close();
  }

  /**
   * Lets the client in: `connect` makes it connect to this transport. The handshake is done and is not done again, and
   * what came for the client meanwhile is given to it in the end.
   */
  async join(initializeResult: unknown, connect: () => Promise<void>): Promise<void> {
    if (this.#gone !== undefined) throw this.#gone;
    this.#joining = { initializeResult };
    try {
      await connect();
    } finally {
      this.#joining = undefined;
    }
    for (const message of this.#waiting.splice(0)) this.onmessage?.(message);
  }

  /** What the client sends. */
  send(message: JSONRPCMessage, options?: TransportSendOptions): Promise<void> {
    if (!("method" in message)) {
      if (message.id !== undefined) this.#asked.done(message.id);
      return this.#lane.send(message, options);
    }
    if (this.#joining !== undefined && isHandshake(message)) {
      const result = this.#joining.initializeResult;
      if ("id" in message) {
        const answer = { jsonrpc: "2.0", id: message.id, result } as JSONRPCMessage;
        queueMicrotask(() => this.onmessage?.(answer));
      }
      return Promise.resolve();
    }
    if ("id" in message) {
      this.#asking.add(message.id);
      if (message.method === LISTEN_METHOD) this.#listening.add(message.id);
    } else if (message.method === "notifications/cancelled") this.#giveUp(message.params?.["requestId"]);
    return this.#lane.send(message, options);
  }

  /** What the lane has no use for. */
  receive(message: JSONRPCMessage, extra?: MessageExtraInfo): void {
    if (!("method" in message)) {
      if (!this.#settle(message.id as RequestId)) this.#lane.drop(message.id);
    } else if (!("id" in message)) {
      if (message.method === "notifications/cancelled") this.#forget(message.params?.["requestId"]);
    } else if (message.method === "ping") return this.#asked.pong(message.id);
    else if (!this.#asked.admit(message.id)) return;
    this.#pass(message, extra);
  }

  /** The answer to this request of the client's will not come. */
  fail(id: RequestId, error: ToolportError): void {
    if (!this.#settle(id)) return;
    this.#lane.giveUp(id);
    // The client only understands answers: give it one.
    this.onmessage?.({
      jsonrpc: "2.0",
      id,
      error: { code: -32000, message: error.message, data: { toolport: error.code } },
    } as JSONRPCMessage);
  }

  /** The transport is gone; `error` is for who comes after that. */
  closed(error: ToolportError): void {
    this.#gone = error;
    this.#asking.clear();
    this.#listening.clear();
    this.#waiting = [];
    this.onclose?.();
  }

  #giveUp(id: unknown): void {
    if (this.#settle(id as RequestId)) this.#lane.giveUp(id as RequestId);
  }

  /** False if the client does not wait for it. */
  #settle(id: RequestId): boolean {
    this.#listening.delete(id);
    return this.#asking.delete(id);
  }

  /** The server no longer wants to know: a client that is not there yet is not to be asked any more. */
  #forget(id: unknown): void {
    this.#asked.done(id as RequestId);
    this.#waiting = this.#waiting.filter((message) => !("id" in message) || message.id !== id);
  }

  /** To the client, or for it to find when it comes. */
  #pass(message: JSONRPCMessage, extra: MessageExtraInfo | undefined): void {
    if (this.#joining === undefined && this.onmessage !== undefined) {
      // The client looks at what it is told a moment later, and at answers at once: progress that came right before its
      // answer would be too late.
      if ("method" in message) this.onmessage(message, extra);
      else queueMicrotask(() => this.onmessage?.(message, extra));
      return;
    }
    const isRequest = "method" in message && "id" in message;
    // What the server merely tells was heard, and a client that is not there has asked nothing.
    if (!isRequest && this.#joining === undefined) return;
    // The oldest goes when somebody floods us before the client is there.
    if (this.#waiting.length >= MAX_WAITING) this.#waiting.shift();
    this.#waiting.push(message);
    if (this.#joining === undefined) this.onneeded?.();
  }
}

/** Requests that the SDK's client has and has not answered yet; more than any server has use for. */
const MAX_ASKED = 64;
/** Answers of our own that a server has not taken yet. One that asks and never reads gets no more of them. */
const MAX_UNTAKEN = 10_000;

const TOO_MANY = { code: -32603, message: "Too many requests at once" };

/** The books of one connection. */
export class AskedLimit {
  readonly #send: (message: JSONRPCMessage) => Promise<void>;
  readonly #asked = new Set<RequestId>();
  #untaken = 0;

  constructor(send: (message: JSONRPCMessage) => Promise<void>) {
    this.#send = send;
  }

  /** True if the request may be looked at; it then counts until it is done. One too many is answered with an error. */
  admit(id: RequestId): boolean {
    if (this.#asked.size >= MAX_ASKED) {
      this.#reply({ jsonrpc: "2.0", id, error: TOO_MANY });
      return false;
    }
    this.#asked.add(id);
    return true;
  }

  /** It is answered, or the server no longer wants to know. */
  done(id: RequestId): void {
    this.#asked.delete(id);
  }

  /** Answers a ping, which is not worth a client. */
  pong(id: RequestId): void {
    this.#reply({ jsonrpc: "2.0", id, result: {} });
  }

  #reply(message: JSONRPCMessage): void {
    if (this.#untaken >= MAX_UNTAKEN) return;
    this.#untaken += 1;
    const sent = () => {
      this.#untaken -= 1;
    };
    // A broken connection is noticed elsewhere.
    this.#send(message).then(sent, sent);
  }
}
