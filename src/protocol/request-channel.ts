/**
 * Our own request lane beside the SDK's client, over one transport.
 *
 * Requests of ours carry ids that begin with `toolport-`; their answers and progress are taken here. What is left goes to the
 * client's side, which the SDK's `Client` sees as its transport; it keeps its own numeric ids. That spares every call the
 * client's schema passes, lets one malformed tool cost only itself, and lets a lost answer fail at once.
 */
import type { JSONRPCMessage, MessageExtraInfo, RequestId } from "@modelcontextprotocol/client";
import type { KnownSecrets } from "../config/known-secrets.js";
import type { ConnectionError } from "../errors/connection-error.js";
import { toToolportError } from "../errors/to-toolport-error.js";
import type { ToolportError } from "../errors/toolport-error.js";
import type { Resends } from "../transports/resends.js";
import type { GiveUpReason, ServerSendOptions, ServerTransport } from "../transports/server-transport.js";
import {
  answerCut,
  connectionClosed,
  isOddity,
  type OddSource,
  REASONS,
  withAdvice,
} from "./channel-errors.js";
import { DeadlineClock } from "./deadline-clock.js";
import { DroppedAnswers } from "./dropped-responses.js";
import { type OutgoingRequest, toMessage, toText } from "./outgoing-request.js";
import { IdTable, PendingRequest, type RequestHost, type RequestLimits } from "./pending-request.js";
import { ClientSide } from "./sdk-transport.js";

/** Long enough that parsers do not take ids for words that come again, and keep each of them for good. */
const PREFIX = "toolport-";

/** What one request of the lane may be given. */
export interface LaneRequestOptions extends RequestLimits {
  /** Extra HTTP headers, where the transport has such. */
  headers?: Readonly<Record<string, string>> | undefined;
  /** How often the request may be sent again. @default no limit: it may run twice */
  resends?: Resends | undefined;
  /** Progress goes on after the answer, until this is aborted: the answer was a task. */
  progressUntil?: AbortSignal | undefined;
}

type Response = {
  id: RequestId;
  result?: unknown;
  /** By right an object with a code and a message. */
  error?: unknown;
};

const isOurs = (id: unknown): id is string => typeof id === "string" && id.startsWith(PREFIX);

export class Lane {
  /** What the SDK's client sees. */
  readonly clientSide: ClientSide;
  /** Sees every message that passes, for wire logs. */
  tap: ((direction: "sent" | "received", message: JSONRPCMessage) => void) | undefined;
  /** Set once the era is known: `_meta` for every request, and how a cancellation is told. */
  envelope: Readonly<Record<string, unknown>> | undefined;
  /** `_meta` for every request that does not say otherwise itself. */
  metaDefaults: Readonly<Record<string, unknown>> | undefined;
  /** When the server last showed life outside the requests themselves; their idle clocks count from there. */
  lastSignAt: (() => number) | undefined;
  /** Hear what the server tells by itself, progress of requests apart; before the SDK's client does. */
  readonly hearers = new Set<(method: string, params: Readonly<Record<string, unknown>>) => void>();
  /** Takes what the server was entrusted with out of what becomes an error. */
  secrets: KnownSecrets | undefined;
  /** What to do when this connection is lost, where no other takes its place. @default call again */
  nextAfterLoss: string | undefined;
  /** The server sent what is no message, or one that is too large and answers nothing. The connection goes on. */
  onoddity?: ((error: ConnectionError, source: OddSource) => void) | undefined;
  /** A request timed out, and nothing at all arrived while it waited. */
  onsilence?: (() => void) | undefined;

  readonly #inner: ServerTransport;
  readonly #server: string;
  readonly #pending = new IdTable<PendingRequest>(PREFIX);
  /** Requests that are answered while the work for them goes on. */
  readonly #worked = new Map<string, PendingRequest>();
  readonly #hasPerRequestStream: boolean;
  readonly #clock = new DeadlineClock();
  readonly #dropped: DroppedAnswers;
  readonly #host: RequestHost;
  /** What is handed over in one go, and fails together if it does. */
  #handover: { readonly sent: Promise<void>; readonly ids: string[] } | undefined;
  #received = 0;
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
    this.#hasPerRequestStream = inner.hasPerRequestStream === true;
    this.#host = {
      server,
      clock: this.#clock,
      lastSignAt: () => this.lastSignAt?.() ?? 0,
      redact: (text) => this.secrets?.foreign(text) ?? text,
      redactError: (error) => this.secrets?.redactError(error) ?? error,
      received: () => this.#received,
      cancel: (id, why) => this.#cancel(id, why),
      silent: () => this.onsilence?.(),
    };
    this.#dropped = new DroppedAnswers(server, (error) => this.onoddity?.(error, "answer"));
    this.clientSide = new ClientSide(inner, {
      start: () => this.start(),
      send: (message, options) => this.#send(message, options),
      giveUp: (id) => this.#dropped.giveUp(id),
      drop: (id) => this.#dropped.drop(id),
    });
    this.#whenClosed = new Promise((resolve) => {
      this.#settleClosed = resolve;
    });
    inner.onmessage = (message, extra) => this.#receive(message, extra);
    inner.onerror = (error) => {
      this.#host.redactError(error);
      if (isOddity(error)) this.onoddity?.(error, "transport");
      this.clientSide.onerror?.(error);
    };
    inner.onclose = () => this.#onInnerClose();
    inner.ondiscard = ({ id, error }) => {
      this.#received += 1;
      if (id === undefined) this.#failAll(error);
      else this.#fail(id, error);
    };
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

  /** Messages that arrived so far, those that were thrown away included. */
  get received(): number {
    return this.#received;
  }

  /** Requests that wait for their answer: ours, and those of the SDK's client. */
  get inFlight(): number {
    return this.#pending.size + this.clientSide.calls;
  }

  /** Answers of the server that belonged to no open request, late ones apart. */
  get droppedAnswers(): number {
    return this.#dropped.count;
  }

  /** Resolves when the transport is gone; with the reason if nobody asked for it. */
  get closed(): Promise<ToolportError | undefined> {
    return this.#whenClosed;
  }

  setProtocolVersion(version: string): void {
    this.#inner.setProtocolVersion?.(version);
  }

  /** Opens the transport, once. */
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

  /** Tells the server something. */
  notify(method: string): Promise<void> {
    return this.#send({ jsonrpc: "2.0", method, ...(this.envelope && { params: { _meta: this.envelope } }) });
  }

  /** Sends a request of ours. Rejects with a `ToolportError`, or with the signal's own reason on abort. */
  request(method: string, params: Record<string, unknown>, options: LaneRequestOptions): Promise<unknown> {
    if (options.signal?.aborted) return Promise.reject(options.signal.reason);
    if (this.#closed || this.#onDrained) return Promise.reject(this.#gone("unsent"));
    const id = this.#pending.nextId();
    const pending = new PendingRequest({ id, method, limits: options, host: this.#host });
    this.#pending.put(pending);
    if (options.progressUntil !== undefined) this.#keepProgress(id, pending, options.progressUntil);
    const wantsProgress = options.onProgress !== undefined;
    const { envelope, metaDefaults } = this;
    const request = { id, method, params, wantsProgress, envelope, metaDefaults };
    if (this.#hasPerRequestStream || pending.isBackground) this.#sendAlone(request, pending, options);
    else this.#sendWithOthers(request, options.resends);
    return pending.promise;
  }

  #keepProgress(id: string, pending: PendingRequest, until: AbortSignal): void {
    this.#worked.set(id, pending);
    until.addEventListener("abort", () => this.#worked.delete(id), { once: true });
  }

  #sendAlone(request: OutgoingRequest, pending: PendingRequest, options: LaneRequestOptions): void {
    const sent = this.#send(toMessage(request), this.#streamOptions(pending, options));
    sent.catch((error: ToolportError) => this.#fail(pending.id, error));
  }

  #sendWithOthers(request: OutgoingRequest, resends: Resends | undefined): void {
    const sent = this.#sendPlain(request, resends);
    // Whatever is written together comes back as one promise: it is enough to look at it once.
    if (this.#handover?.sent === sent) this.#handover.ids.push(request.id);
    else this.#watch(sent, request.id);
  }

  #sendPlain(request: OutgoingRequest, resends: Resends | undefined): Promise<void> {
    if (this.#inner.sendText === undefined || this.tap !== undefined)
      return this.#send(toMessage(request), resends && { resends });
    try {
      return this.#inner.sendText(toText(request), request.id);
    } catch (error) {
      // Arguments that are no JSON.
      return Promise.reject(error);
    }
  }

  #watch(sent: Promise<void>, id: string): void {
    const handover = { sent, ids: [id] };
    this.#handover = handover;
    const done = (error?: ToolportError): void => {
      if (this.#handover === handover) this.#handover = undefined;
      if (error !== undefined) for (const each of handover.ids) this.#fail(each, error);
    };
    sent.then(() => done(), done);
  }

  #streamOptions(
    pending: PendingRequest,
    { headers, resends }: LaneRequestOptions,
  ): ServerSendOptions | undefined {
    const background = pending.isBackground;
    if (this.#inner.abandon !== undefined)
      return background || headers || resends ? { background, headers, resends } : undefined;
    return {
      background,
      requestSignal: pending.openStream(),
      headers,
      resends,
      onRequestStreamEnd: () => this.#fail(pending.id, answerCut(this.#server)),
    };
  }

  #send(message: JSONRPCMessage, options?: ServerSendOptions): Promise<void> {
    this.tap?.("sent", message);
    return this.#inner.send(message, options);
  }

  #receive(message: JSONRPCMessage, extra?: MessageExtraInfo): void {
    this.#received += 1;
    this.tap?.("received", message);
    if (!("method" in message)) {
      const { id } = message as Response;
      if (isOurs(id)) return this.#answer(id, message as Response);
    } else if (message.method === "notifications/progress") {
      const token = (message.params as { progressToken?: unknown } | undefined)?.progressToken;
      if (isOurs(token)) {
        const request = this.#pending.get(token) ?? this.#worked.get(token);
        return request?.progress(message.params as Record<string, unknown>);
      }
    } else if (!("id" in message)) {
      for (const hear of this.hearers) hear(message.method, message.params ?? {});
    }
    this.clientSide.receive(message, extra);
  }

  /** Takes a request out of the books. */
  #take(id: string): PendingRequest | undefined {
    const pending = this.#pending.take(id);
    if (this.#onDrained && this.#pending.size === 0) this.#onDrained();
    return pending;
  }

  #answer(id: string, response: Response): void {
    const pending = this.#take(id);
    if (pending === undefined) return this.#dropped.drop(id);
    // Servers with the manners of JSON-RPC 1.0 send `"error": null` beside a result.
    if (response.error === undefined || response.error === null) pending.resolve(response.result);
    else pending.refuse(response.error);
  }

  /** The answer to this one request will not come. */
  #fail(id: RequestId, cause: ToolportError): void {
    const error = this.#host.redactError(toToolportError(cause, { server: this.#server }));
    const pending = isOurs(id) ? this.#take(id) : undefined;
    if (pending === undefined) return this.clientSide.fail(id, error);
    this.#dropped.giveUp(id);
    pending.reject(error);
  }

  #failAll(error: ToolportError): void {
    const ours = this.#pending.toArray().map(({ id }) => id);
    for (const id of [...ours, ...this.clientSide.inFlight]) this.#fail(id, error);
  }

  /** The caller no longer waits: tell the server in the way its era understands. Returns true if the request was never sent. */
  #cancel(id: string, why: GiveUpReason): boolean {
    const pending = this.#take(id);
    this.#dropped.giveUp(id);
    // In both eras the request itself is freed, or a timed-out call would hold its place in the pool for good.
    const isUnsent = this.#inner.abandon?.(id, why) === true;
    // The modern era cancels over HTTP by closing the answer's stream; everywhere else a notification says so.
    const byStream = this.#hasPerRequestStream && this.envelope !== undefined;
    // The server knows nothing of a request that was never sent.
    if (!isUnsent && !byStream && !this.#closed && pending?.quiet !== true) {
      const message = {
        jsonrpc: "2.0",
        method: "notifications/cancelled",
        params: { requestId: id, reason: REASONS[why], ...(this.envelope && { _meta: this.envelope }) },
      } as JSONRPCMessage;
      // The connection may be the very thing that is broken; then there is nobody to tell.
      this.#send(message).catch(() => {});
    }
    if (this.#inner.abandon === undefined) pending?.closeStream();
    return isUnsent;
  }

  #onInnerClose(): void {
    if (this.#closed) return;
    this.#closed = true;
    this.#closeError = withAdvice(this.#closeError ?? this.#inner.closeError, this.nextAfterLoss);
    this.#host.redactError(this.#closeError);
    const error = this.#gone("unknown");
    for (const { id } of this.#pending.toArray()) this.#take(id)?.reject(error);
    this.#worked.clear();
    this.#clock.close();
    this.clientSide.closed(this.#gone("unsent"));
    this.#settleClosed(this.#closeError);
  }

  #gone(outcome: "unsent" | "unknown"): ToolportError {
    // What was in flight may have run, whatever the reason says about the request that met it first.
    if (this.#closeError !== undefined && outcome === "unknown")
      return this.#closeError.withOutcome("unknown");
    return connectionClosed(this.#server, { outcome, next: this.nextAfterLoss, cause: this.#closeError });
  }
}
