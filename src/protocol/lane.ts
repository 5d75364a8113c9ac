/**
 * Our own request lane beside the SDK's client, over one transport.
 *
 * The SDK's `Client` sees the lane as its transport. Requests of ours carry ids that begin with `tp-`; their answers
 * and progress are taken here and never reach the client, which keeps its own numeric ids. That spares every call the
 * client's schema passes, lets one malformed tool cost only itself, and lets a lost answer fail at once.
 */
import type {
  JSONRPCMessage,
  MessageExtraInfo,
  RequestId,
  Transport,
  TransportSendOptions,
} from "@modelcontextprotocol/client";
import { ConnectionError } from "../errors/connection-error.js";
import { toToolportError } from "../errors/to-toolport-error.js";
import type { ToolportError } from "../errors/toolport-error.js";
import type { ServerTransport } from "../transports/server-transport.js";
import { PendingRequest, type RequestLimits } from "./pending-request.js";

const PREFIX = "tp-";

/** What one request of the lane may be given. */
export interface LaneRequestOptions extends RequestLimits {
  /** Extra HTTP headers, where the transport has such. */
  headers?: Readonly<Record<string, string>> | undefined;
  /** Progress goes on after the answer, until this is aborted: the answer was a task. */
  progressUntil?: AbortSignal | undefined;
}

type Response = {
  id: RequestId;
  result?: unknown;
  error?: { code: number; message: string; data?: unknown };
};

const isOurs = (id: unknown): id is string => typeof id === "string" && id.startsWith(PREFIX);

export class Lane implements Transport {
  onclose?: (() => void) | undefined;
  onerror?: ((error: Error) => void) | undefined;
  onmessage?: ((message: JSONRPCMessage, extra?: MessageExtraInfo) => void) | undefined;
  readonly hasPerRequestStream?: boolean;
  /** Sees every message that passes, for wire logs. */
  tap: ((direction: "sent" | "received", message: JSONRPCMessage) => void) | undefined;
  /** Set once the era is known: `_meta` for every request, and how a cancellation is told. */
  envelope: Readonly<Record<string, unknown>> | undefined;
  /** `_meta` for every request that does not say otherwise itself. */
  metaDefaults: Readonly<Record<string, unknown>> | undefined;
  /** When the server last showed life outside the requests themselves; their idle clocks count from there. */
  lastSignAt: (() => number) | undefined;
  /** The handshake as it was answered to us; the client's own `initialize` is then answered from here. */
  initializeResult: unknown;

  readonly #inner: ServerTransport;
  readonly #server: string;
  readonly #pending = new Map<string, PendingRequest>();
  /** Requests that are answered while the work for them goes on. */
  readonly #worked = new Map<string, PendingRequest>();
  /** Requests of the SDK's client in flight, so that a lost answer can be told to it as well. */
  readonly #foreign = new Set<RequestId>();
  #lastId = 0;
  #started: Promise<void> | undefined;
  #closed = false;
  /** Set when no new request may be made; called when the last one under way is settled. */
  #onDrained: (() => void) | undefined;
  #closeError: ToolportError | undefined;
  readonly #whenClosed: Promise<ToolportError | undefined>;
  #settleClosed!: (error: ToolportError | undefined) => void;

  constructor(inner: ServerTransport, server: string) {
    this.#inner = inner;
    this.#server = server;
    if (inner.hasPerRequestStream) this.hasPerRequestStream = true;
    this.#whenClosed = new Promise((resolve) => {
      this.#settleClosed = resolve;
    });
    inner.onmessage = (message, extra) => this.#receive(message, extra);
    inner.onerror = (error) => this.onerror?.(error);
    inner.onclose = () => this.#onInnerClose();
    inner.ondiscard = ({ id, error }) => (id === undefined ? this.#failAll(error) : this.#fail(id, error));
    inner.onstreamcut = (id, error) => this.#fail(id, error);
    inner.onsessionlost = (error) => {
      // Nothing on this connection can succeed any more: end it with the reason, and a new one takes its place.
      this.#closeError = error;
      inner.close().catch(() => {});
    };
  }

  get sessionId(): string | undefined {
    return this.#inner.sessionId;
  }

  /** Resolves when the transport is gone; with the reason if nobody asked for it. */
  get closed(): Promise<ToolportError | undefined> {
    return this.#whenClosed;
  }

  setProtocolVersion = (version: string): void => {
    this.#inner.setProtocolVersion?.(version);
  };

  setSupportedProtocolVersions = (versions: string[]): void => {
    this.#inner.setSupportedProtocolVersions?.(versions);
  };

  /** Opens the transport. The client calls it too, after our own negotiation has: once is enough. */
  start(): Promise<void> {
    this.#started ??= this.#inner.start();
    return this.#started;
  }

  async close(): Promise<void> {
    await this.#inner.close();
  }

  /** Takes no new requests; resolves when those under way are settled. */
  drain(): Promise<void> {
    return new Promise((resolve) => {
      this.#onDrained = resolve;
      if (this.#pending.size === 0) resolve();
    });
  }

  /** What the SDK's client sends. */
  send(message: JSONRPCMessage, options?: TransportSendOptions): Promise<void> {
    if (!("method" in message)) return this.#send(message, options);
    if (message.method === "initialize" && "id" in message && this.initializeResult !== undefined) {
      const answer = { jsonrpc: "2.0", id: message.id, result: this.initializeResult } as JSONRPCMessage;
      this.initializeResult = undefined;
      queueMicrotask(() => this.onmessage?.(answer));
      return Promise.resolve();
    }
    if ("id" in message) this.#foreign.add(message.id);
    return this.#send(message, options);
  }

  /** Sends a request of ours. Rejects with a `ToolportError`, or with the signal's own reason on abort. */
  request(method: string, params: Record<string, unknown>, options: LaneRequestOptions): Promise<unknown> {
    if (options.signal?.aborted) return Promise.reject(options.signal.reason);
    if (this.#closed || this.#onDrained) return Promise.reject(this.#gone("unsent"));
    const id = `${PREFIX}${++this.#lastId}`;
    const pending = new PendingRequest({
      server: this.#server,
      method,
      limits: options,
      lastSignAt: this.lastSignAt,
      onCancel: (why) => this.#cancel(id, why),
    });
    this.#pending.set(id, pending);
    if (options.progressUntil !== undefined) this.#keepProgress(id, pending, options.progressUntil);
    this.#transmit(id, { method, params, pending, headers: options.headers });
    return pending.promise;
  }

  #keepProgress(id: string, pending: PendingRequest, until: AbortSignal): void {
    this.#worked.set(id, pending);
    until.addEventListener("abort", () => this.#worked.delete(id), { once: true });
  }

  #transmit(
    id: string,
    request: {
      method: string;
      params: Record<string, unknown>;
      pending: PendingRequest;
      headers: Readonly<Record<string, string>> | undefined;
    },
  ): void {
    const { method, params, pending, headers } = request;
    const meta = this.#meta(
      id,
      params["_meta"] as Record<string, unknown> | undefined,
      pending.wantsProgress,
    );
    // `id` stands early in the text, so that the HTTP layer finds it without parsing large arguments.
    const message = {
      jsonrpc: "2.0",
      id,
      method,
      params: meta ? { ...params, _meta: meta } : params,
    } as JSONRPCMessage;
    const options: TransportSendOptions = this.hasPerRequestStream
      ? {
          requestSignal: pending.openStream(),
          headers,
          onRequestStreamEnd: () => this.#fail(id, this.#cutStream()),
        }
      : {};
    this.#send(message, options).catch((error: ToolportError) => this.#fail(id, error));
  }

  #meta(
    id: string,
    own: Record<string, unknown> | undefined,
    wantsProgress: boolean,
  ): Record<string, unknown> | undefined {
    if (this.envelope === undefined && own === undefined && !wantsProgress) return undefined;
    return { ...this.metaDefaults, ...own, ...this.envelope, ...(wantsProgress && { progressToken: id }) };
  }

  #send(message: JSONRPCMessage, options?: TransportSendOptions): Promise<void> {
    this.tap?.("sent", message);
    return this.#inner.send(message, options);
  }

  #receive(message: JSONRPCMessage, extra?: MessageExtraInfo): void {
    this.tap?.("received", message);
    if (!("method" in message)) {
      const { id } = message as Response;
      // A late answer to a request that was given up is nobody's business.
      if (isOurs(id)) return this.#answer(id, message as Response);
      this.#foreign.delete(id);
    } else if (message.method === "notifications/progress") {
      const token = (message.params as { progressToken?: unknown } | undefined)?.progressToken;
      if (isOurs(token)) {
        const request = this.#pending.get(token) ?? this.#worked.get(token);
        return request?.progress(message.params as Record<string, unknown>);
      }
    }
    this.onmessage?.(message, extra);
  }

  /** Takes a request out of the books. */
  #take(id: string): PendingRequest | undefined {
    const pending = this.#pending.get(id);
    this.#pending.delete(id);
    if (this.#onDrained && this.#pending.size === 0) this.#onDrained();
    return pending;
  }

  #answer(id: string, response: Response): void {
    const pending = this.#take(id);
    if (pending === undefined) return;
    if (response.error === undefined) pending.resolve(response.result);
    else pending.refuse(response.error);
  }

  /** The answer to this one request will not come. */
  #fail(id: RequestId, cause: ToolportError): void {
    const error = toToolportError(cause, { server: this.#server });
    const pending = isOurs(id) ? this.#take(id) : undefined;
    if (pending !== undefined) {
      pending.reject(error);
    } else if (this.#foreign.delete(id)) {
      // The client only understands answers: give it one.
      this.onmessage?.({
        jsonrpc: "2.0",
        id,
        error: { code: -32000, message: error.message, data: { toolport: error.code } },
      } as JSONRPCMessage);
    }
  }

  #failAll(error: ToolportError): void {
    for (const id of [...this.#pending.keys(), ...this.#foreign]) this.#fail(id, error);
  }

  /** The caller no longer waits: tell the server in the way its era understands. */
  #cancel(id: string, why: string): void {
    const pending = this.#take(id);
    // The modern era cancels over HTTP by closing the answer's stream; everywhere else a notification says so.
    const byStream = this.hasPerRequestStream && this.envelope !== undefined;
    if (!byStream && !this.#closed && pending?.quiet !== true) {
      const message = {
        jsonrpc: "2.0",
        method: "notifications/cancelled",
        params: { requestId: id, reason: why, ...(this.envelope && { _meta: this.envelope }) },
      } as JSONRPCMessage;
      // The connection may be the very thing that is broken; then there is nobody to tell.
      this.#send(message).catch(() => {});
    }
    // In both eras the request itself is freed, or a timed-out call would hold its place in the pool for good.
    pending?.closeStream();
  }

  #onInnerClose(): void {
    if (this.#closed) return;
    this.#closed = true;
    this.#closeError ??= this.#inner.closeError;
    const error = this.#gone("unknown");
    for (const id of [...this.#pending.keys()]) this.#take(id)?.reject(error);
    this.#foreign.clear();
    this.#worked.clear();
    this.onclose?.();
    this.#settleClosed(this.#closeError);
  }

  #gone(outcome: "unsent" | "unknown"): ToolportError {
    if (this.#closeError !== undefined && outcome === "unknown") return this.#closeError;
    return new ConnectionError({
      code: "CLOSED",
      server: this.#server,
      what: "The connection is closed",
      next: "Call again to use the new connection",
      retryable: true,
      outcome,
      cause: this.#closeError,
    });
  }

  #cutStream(): ToolportError {
    return new ConnectionError({
      code: "STREAM_CUT",
      server: this.#server,
      what: "The answer's stream ended before the answer",
      next: "Call again if it is safe to run twice",
      retryable: true,
    });
  }
}
