/**
 * Sends Toolport's own requests over one transport and matches the responses to them.
 *
 * Own requests carry ids that begin with `toolport-`; the channel handles their responses and progress. It passes every
 * other message to an `SdkTransport`, the transport of the SDK's `Client`, which uses numeric ids. Own requests skip the
 * client's schema validation, so one malformed tool does not fail a whole list, and a lost response fails its request at once.
 */
import type { JSONRPCMessage, JSONRPCRequest, RequestId } from "@modelcontextprotocol/client";
import { ConnectionError, type Fields, type ToolportError, toToolportError } from "@toolport/base";
import type { KnownSecrets } from "../config/known-secrets.js";
import type { MessageTap } from "../config/server-config.js";
import type {
  GiveUpReason,
  MessageOrigin,
  Resends,
  ServerSendOptions,
  ServerTransport,
} from "../transports/server-transport.js";
import {
  DeadlineClock,
  IdTable,
  PendingRequest,
  type RequestContext,
  type RequestLimits,
} from "./pending-request.js";
import { SdkTransport } from "./sdk-transport.js";

/** Makes ids longer than the strings that V8's JSON parser interns: interned ids would pile up on the heap. */
const PREFIX = "toolport-";

/** Options of one request. */
export interface ChannelRequestOptions extends RequestLimits {
  /** Extra HTTP headers; other transports ignore them. */
  headers?: Readonly<Record<string, string>> | undefined;
  /** Limits how often the transport may resend the request. @default no limit: the request may run twice */
  resends?: Resends | undefined;
  /** `_meta` in place of that of the connection. */
  envelope?: Readonly<Record<string, unknown>> | undefined;
  /** Leave out the defaults for `_meta` of the connection. @default false */
  skipsMetaDefaults?: boolean | undefined;
  /** Keeps reporting progress after the response until this signal aborts: the response may be a task. */
  progressUntil?: AbortSignal | undefined;
}

export interface LiveTap {
  /** Asked for every message, because it may change. */
  isOn(): boolean;
  readonly tap: MessageTap;
}

const isOwnId = (id: unknown): id is string => typeof id === "string" && id.startsWith(PREFIX);

export class RequestChannel implements RequestContext {
  readonly server: string;
  /** For the deadlines of all requests. */
  readonly clock = new DeadlineClock();
  /** Resolves when the transport is closed; with the reason unless Toolport closed it. */
  readonly closed: Promise<ToolportError | undefined>;
  /** The transport to connect the SDK's client to. */
  readonly sdkTransport: SdkTransport;
  /** Observes every message in both directions, for wire logs. */
  tap: MessageTap | undefined;
  /** A further tap, for as long as something observes the port. */
  liveTap: LiveTap | undefined;
  /** `_meta` of every request. Set for modern servers once the era is known; also decides how requests are cancelled. */
  envelope: Readonly<Record<string, unknown>> | undefined;
  /** Defaults for `_meta`; the request's own fields take precedence. */
  metaDefaults: Readonly<Record<string, unknown>> | undefined;
  /** Last activity of the server that requests do not see themselves. Their idle timeouts restart from there. */
  lastActivityAt: (() => number) | undefined;
  /** Receive every notification except progress of own requests, before the SDK's client does. */
  readonly notificationListeners = new Set<
    (method: string, params: Readonly<Record<string, unknown>>, origin: MessageOrigin | undefined) => void
  >();
  /** Receives every request of the server before the SDK's client does. Returns true if it answers the request. */
  onrequest?:
    | ((request: JSONRPCRequest, origin: MessageOrigin | undefined) => boolean | undefined)
    | undefined;
  /** Redacts the configured secrets of this server from errors. */
  secrets: KnownSecrets | undefined;
  /** Advice for errors about a lost connection that will not be replaced. @default call again */
  adviceAfterLoss: string | undefined;
  /** The server sent an invalid message, a too large one, or a response to no open request. The connection stays open. */
  oninvalidmessage?: ((error: ConnectionError, source: InvalidMessageSource) => void) | undefined;
  /** A request timed out and no message had arrived for as long as its timeout. */
  onsilence?: (() => void) | undefined;

  readonly #inner: ServerTransport;
  readonly #pending = new IdTable<PendingRequest>(PREFIX);
  /** Requests whose progress is reported beyond their response. */
  readonly #withProgress = new Map<string, PendingRequest>();
  readonly #hasPerRequestStream: boolean;
  readonly #droppedResponses: DroppedResponses;
  #received = 0;
  #receivedAt = Number.NEGATIVE_INFINITY;
  #started: Promise<void> | undefined;
  #isClosed = false;
  /** Set by `drain()`: new requests are rejected. Called when the last open request settles. */
  #onDrained: (() => void) | undefined;
  #closeError: ToolportError | undefined;
  #settleClosed!: (error: ToolportError | undefined) => void;

  constructor(inner: ServerTransport, server: string) {
    this.#inner = inner;
    this.server = server;
    this.#hasPerRequestStream = inner.hasPerRequestStream === true;
    this.#droppedResponses = new DroppedResponses(server, (error) =>
      this.oninvalidmessage?.(error, "response"),
    );
    this.sdkTransport = new SdkTransport(inner, {
      start: () => this.start(),
      send: (message, options) => this.#send(message, options),
      expectLate: (id) => this.#droppedResponses.expectLate(id),
      drop: (id) => this.#droppedResponses.drop(id),
    });
    this.closed = new Promise((resolve) => {
      this.#settleClosed = resolve;
    });
    inner.onmessage = this.#receive;
    inner.onerror = (error) => {
      this.redactError(error);
      if (isInvalidMessage(error)) this.oninvalidmessage?.(error, "transport");
      this.sdkTransport.onerror?.(error);
    };
    inner.onclose = () => this.#onInnerClose();
    inner.ondiscard = ({ id, error }) => {
      this.#received += 1;
      this.#receivedAt = performance.now();
      if (id === undefined) this.#failAll(error);
      else this.#fail(id, error);
    };
    inner.onstreamcut = (id, error) => this.#fail(id, error);
    inner.onsessionlost = (error) => {
      // No request can succeed without the session. Close, so that the owner of the connection opens a new one.
      this.#closeError = error;
      inner.close().catch(() => {});
    };
  }

  /** Goes on with a session that is open at the server. Call after `start()`. */
  resumeSession(id: string | undefined): void {
    this.#inner.resumeSession?.(id);
  }

  get sessionId(): string | undefined {
    return this.#inner.sessionId;
  }

  /** Number of messages received so far, including discarded ones. */
  get received(): number {
    return this.#received;
  }

  /** Number of open requests: own ones and those of the SDK's client. */
  get inFlight(): number {
    return this.#pending.size + this.sdkTransport.calls;
  }

  /** Number of responses that matched no open request, not counting late ones. */
  get droppedAnswers(): number {
    return this.#droppedResponses.count;
  }

  /** When the last message arrived (`performance.now()`). */
  get lastReceivedAt(): number {
    return this.#receivedAt;
  }

  redact(text: string): string {
    return this.secrets?.foreign(text) ?? text;
  }

  redactError<Value>(error: Value): Value {
    return this.secrets?.redactError(error) ?? error;
  }

  setProtocolVersion(version: string): void {
    this.#inner.setProtocolVersion?.(version);
  }

  /** Opens the transport. Further calls return the same promise. */
  start(): Promise<void> {
    this.#started ??= this.#inner.start();
    return this.#started;
  }

  async close(): Promise<void> {
    await this.#inner.close();
  }

  /** Rejects new requests from now on; resolves when all open ones are settled. */
  drain(): Promise<void> {
    return new Promise((resolve) => {
      this.#onDrained = resolve;
      if (this.#pending.size === 0) resolve();
    });
  }

  notify(method: string): Promise<void> {
    return this.#send({ jsonrpc: "2.0", method, ...(this.envelope && { params: { _meta: this.envelope } }) });
  }

  /** The call on whose stream a message arrived: the `owner` of its request. Undefined if the transport does not know. */
  ownerOf(origin: MessageOrigin | undefined): object | undefined {
    const id = origin?.ownRequestId;
    return isOwnId(id) ? this.#pending.get(id)?.owner : undefined;
  }

  /** Sends an own request. Rejects with a `ToolportError`, or with the signal's reason on abort. */
  async request(
    method: string,
    params: Record<string, unknown>,
    options: ChannelRequestOptions,
  ): Promise<unknown> {
    options.signal?.throwIfAborted();
    if (this.#isClosed || this.#onDrained) throw this.#closedError("unsent");
    const id = this.#pending.nextId();
    const pending = new PendingRequest({ id, method, limits: options, context: this });
    this.#pending.put(pending);
    if (options.progressUntil !== undefined) {
      this.#withProgress.set(id, pending);
      options.progressUntil.addEventListener("abort", () => this.#withProgress.delete(id), { once: true });
    }
    const own = params["_meta"] as Fields | undefined;
    const { envelope = this.envelope, skipsMetaDefaults = false, onProgress } = options;
    const _meta = (onProgress !== undefined || envelope !== undefined || own !== undefined) && {
      ...(skipsMetaDefaults ? undefined : this.metaDefaults),
      ...own,
      ...envelope,
      ...(onProgress !== undefined && { progressToken: id }),
    };
    // `id` comes early in the text, so that the HTTP transport finds it without parsing large arguments.
    const message = { jsonrpc: "2.0", id, method, params: _meta ? { ...params, _meta } : params } as const;
    this.#send(message, this.#sendOptions(pending, options)).catch((error: ToolportError) =>
      this.#fail(id, error),
    );
    return await pending.promise;
  }

  #sendOptions(
    pending: PendingRequest,
    { headers, resends }: ChannelRequestOptions,
  ): ServerSendOptions | undefined {
    const background = pending.isBackground;
    if (!this.#hasPerRequestStream && !background) return resends && { resends };
    if (this.#inner.abandon !== undefined)
      return background || headers || resends ? { background, headers, resends } : undefined;
    return {
      background,
      requestSignal: pending.openStream(),
      headers,
      resends,
      onRequestStreamEnd: () => this.#fail(pending.id, responseCut(this.server)),
    };
  }

  async #send(message: JSONRPCMessage, options?: ServerSendOptions): Promise<void> {
    this.tap?.("sent", message);
    if (this.liveTap?.isOn()) this.liveTap.tap("sent", message);
    await this.#inner.send(message, options);
  }

  readonly #receive = (message: JSONRPCMessage, origin?: MessageOrigin): void => {
    this.#received += 1;
    this.#receivedAt = performance.now();
    this.tap?.("received", message);
    if (this.liveTap?.isOn()) this.liveTap.tap("received", message);
    if (!("method" in message)) {
      const { id } = message;
      const pending = typeof id === "string" ? this.#take(id) : undefined;
      if (pending !== undefined) return pending.settle(message);
      if (isOwnId(id)) return this.#droppedResponses.drop(id);
    } else if (message.method === "notifications/progress") {
      const token = (message.params as { progressToken?: unknown } | undefined)?.progressToken;
      if (isOwnId(token)) {
        const request = this.#pending.get(token) ?? this.#withProgress.get(token);
        return request?.progress(message.params as Record<string, unknown>);
      }
    } else if (!("id" in message)) {
      const { method, params = {} } = message;
      for (const listener of this.notificationListeners) listener(method, params, origin);
    } else if (this.onrequest?.(message, origin) === true) return;
    this.sdkTransport.receive(message, origin);
  };

  #take(id: string): PendingRequest | undefined {
    const pending = this.#pending.take(id);
    if (this.#onDrained && this.#pending.size === 0) this.#onDrained();
    return pending;
  }

  /** Rejects one request of either side: its response will not arrive. */
  #fail(id: RequestId, cause: ToolportError): void {
    const error = this.redactError(toToolportError(cause, { server: this.server }));
    const pending = isOwnId(id) ? this.#take(id) : undefined;
    if (pending === undefined) return this.sdkTransport.fail(id, error);
    this.#droppedResponses.expectLate(id);
    pending.reject(error);
  }

  #failAll(error: ToolportError): void {
    const ours = this.#pending.toArray().map(({ id }) => id);
    for (const id of [...ours, ...this.sdkTransport.inFlight]) this.#fail(id, error);
  }

  /** Cancels a request that its caller gave up. Returns true if the request was never sent. */
  cancel(id: string, why: GiveUpReason): boolean {
    const pending = this.#take(id);
    this.#droppedResponses.expectLate(id);
    // Frees the socket of the request in both eras; otherwise a timed-out call would occupy it for good.
    const isUnsent = this.#inner.abandon?.(id, why) === true;
    // Modern servers over HTTP treat the closed response stream as cancellation; all others need a notification. Only modern ones have an
    // envelope.
    const byStream = this.#hasPerRequestStream && this.envelope !== undefined;
    if (!isUnsent && !byStream && !this.#isClosed && pending?.quiet !== true) {
      // Ignore failures: the connection itself may be broken.
      this.#send(toCancellation(id, why, this.envelope)).catch(() => {});
    }
    if (this.#inner.abandon === undefined) pending?.closeStream();
    return isUnsent;
  }

  #onInnerClose(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#closeError = withAdvice(this.#closeError ?? this.#inner.closeError, this.adviceAfterLoss);
    this.redactError(this.#closeError);
    const error = this.#closedError("unknown");
    for (const { id } of this.#pending.toArray()) this.#take(id)?.reject(error);
    this.#withProgress.clear();
    this.clock.close();
    this.sdkTransport.closed(this.#closedError("unsent"));
    this.#settleClosed(this.#closeError);
  }

  #closedError(outcome: "unsent" | "unknown"): ToolportError {
    // Requests in flight may have run, even if the request that hit the error first was never sent.
    if (this.#closeError !== undefined && outcome === "unknown")
      return this.#closeError.withOutcome("unknown");
    return new ConnectionError({
      code: "CLOSED",
      server: this.server,
      what: "The connection is closed",
      next: this.adviceAfterLoss ?? "Call again to use the new connection",
      retryable: true,
      outcome,
      cause: this.#closeError,
    });
  }
}

const CANCEL_REASONS: Readonly<Record<GiveUpReason, string>> = {
  abort: "The caller aborted the request",
  timeout: "The request timed out",
};

function toCancellation(id: string, why: GiveUpReason, envelope: Fields | undefined): JSONRPCMessage {
  return {
    jsonrpc: "2.0",
    method: "notifications/cancelled",
    params: { requestId: id, reason: CANCEL_REASONS[why], ...(envelope && { _meta: envelope }) },
  } as JSONRPCMessage;
}

/** Maximum number of cancelled requests that are remembered. */
const MAX_LATE_IDS = 1_000;

/** Ids that are safe to quote in a message. */
const PLAIN_ID = /^[\w.:-]{1,64}$/;

/** Responses that match no open request: late ones are ignored, all others are counted, and the first is reported. */
class DroppedResponses {
  readonly #server: string;
  readonly #report: (error: ConnectionError) => void;
  readonly #lateIds = new Set<RequestId>();
  #count = 0;

  constructor(server: string, report: (error: ConnectionError) => void) {
    this.#server = server;
    this.#report = report;
  }

  /** Number of dropped responses so far, not counting late ones. */
  get count(): number {
    return this.#count;
  }

  /** The request was cancelled or has failed; its response may still arrive, once. */
  expectLate(id: RequestId): void {
    if (this.#lateIds.size >= MAX_LATE_IDS) {
      const [oldest] = this.#lateIds;
      this.#lateIds.delete(oldest!);
    }
    this.#lateIds.add(id);
  }

  /** A response arrived that matches no open request. */
  drop(id: unknown): void {
    if (this.#lateIds.delete(id as RequestId)) return;
    this.#count += 1;
    if (this.#count > 1) return;
    const text = String(id ?? "none");
    const error = new ConnectionError({
      code: "BAD_RESPONSE",
      server: this.#server,
      what: `The server sent a response to no open request (id ${PLAIN_ID.test(text) ? text : "unreadable"}): the id is unknown, or the request was answered before. The response is dropped`,
      next: "Report this to the author of the server; snapshot() counts further responses",
    });
    this.#report(error);
  }
}

/** Codes that only say that the connection is lost. */
const LOSSES: ReadonlySet<string> = new Set(["CLOSED", "STREAM_CUT", "SESSION_LOST"]);

/** What was invalid: something the transport read, or a response to no open request. */
export type InvalidMessageSource = "transport" | "response";

/** The server sent something that is not a message, or a message that is too large. */
const isInvalidMessage = (error: Error): error is ConnectionError =>
  error instanceof ConnectionError && (error.code === "BAD_RESPONSE" || error.code === "MESSAGE_TOO_LARGE");

/** Replaces the advice of an error about a lost connection; the transport does not know whether Toolport reconnects. */
function withAdvice(error: ToolportError | undefined, next: string | undefined): ToolportError | undefined {
  return next === undefined || error === undefined || !LOSSES.has(error.code) ? error : error.withNext(next);
}

function responseCut(server: string): ConnectionError {
  return new ConnectionError({
    code: "STREAM_CUT",
    server,
    what: "The response stream ended before the response arrived",
    next: "Call again if the call may run twice",
    retryable: true,
  });
}

export function closedDuringInput(server: string): ConnectionError {
  return new ConnectionError({
    code: "CLOSED",
    server,
    what: "The connection was closed while the server waited for input",
    next: "Call again",
    retryable: true,
  });
}
