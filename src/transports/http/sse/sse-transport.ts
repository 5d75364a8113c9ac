/** Legacy HTTP+SSE: the SDK's transport over our network client. It closes when its stream ends instead of reconnecting. */
import type * as Sdk from "@modelcontextprotocol/client";
import type {
  JSONRPCMessage,
  MessageExtraInfo,
  RequestId,
  SSEClientTransport,
  SseError,
} from "@modelcontextprotocol/client";
import { type KnownSecrets, secretsOf } from "../../../config/known-secrets.js";
import type { HeaderSource, SseConfig } from "../../../config/server-config.js";
import { AuthError, ConnectionError, ToolportError } from "../../../errors/toolport-error.js";
import { canParseUrl } from "../../../util/text.js";
import { onSharedAbort } from "../../../util/timers.js";
import type {
  AuthorizedSend,
  GiveUpReason,
  Resends,
  ServerSendOptions,
  ServerTransport,
  TransportContext,
} from "../../server-transport.js";
import { checkedProvider, dropUnknownLifetimes } from "../credentials/checked-provider.js";
import { isOAuth, shareAuthorization } from "../credentials/provider-authorization.js";
import { credentialsRefused, Exchange, withUserHeaders } from "../endpoint.js";
import { type Discard, readSharedEvents, type SharedEventsHooks } from "../event-frames.js";
import { createGuardedFetch } from "../network/guarded-fetch.js";
import { badResponse, type Redact, sessionLost, statusError } from "../network/http-errors.js";
import { redirectError, redirectTarget } from "../network/redirect.js";
import { discardBody, isEventStream, readShortBody } from "../network/response-body.js";
import {
  ABANDONED,
  isAbandoned,
  lightResponse,
  NO_RESPONSE,
  openWith,
  type ResponseBody,
  toHeaderRecord,
  toResponse,
  type WireClient,
  type WireRequest,
  type WireResponse,
} from "../network/wire-client.js";

/** Creates the transport for one legacy HTTP+SSE server; `start()` opens the event stream and waits for the endpoint. */
export async function createSseTransport(
  config: SseConfig,
  context: TransportContext,
): Promise<ServerTransport> {
  return new SseTransport(config, context, await import("@modelcontextprotocol/client"));
}

class SseTransport implements ServerTransport {
  readonly kind = "sse";
  closeError: ToolportError | undefined;
  onmessage?: <T extends JSONRPCMessage>(message: T, extra?: MessageExtraInfo) => void;
  onerror?: (error: Error) => void;
  onclose?: () => void;
  ondiscard?: ServerTransport["ondiscard"];

  readonly #inner: SSEClientTransport;
  readonly #posts = new Map<string, Exchange>();
  /** The last request without a waiting caller; there is one at a time. */
  #background: RequestId | undefined;
  readonly #SseError: typeof SseError;
  #started = false;
  #abandonStart: ((error: ConnectionError) => void) | undefined;
  /** The last error of the event stream, more specific than the SDK's. */
  #failure: ToolportError | undefined;
  #closing: Promise<void> | undefined;
  /** The resends left for each request in flight. */
  readonly #resends = new Map<RequestId, Resends>();

  constructor(config: SseConfig, context: TransportContext, sdk: typeof Sdk) {
    const url = new URL(config.url);
    const { authProvider: provider } = config;
    const guarded = dropUnknownLifetimes(createGuardedFetch(context.http, { serverUrl: url }));
    this.#SseError = sdk.SseError;
    this.#inner = new sdk.SSEClientTransport(url, {
      fetch: createSseFetch({
        url,
        headers: config.headers,
        secrets: secretsOf(config),
        hasAuthProvider: provider !== undefined,
        maxMessageBytes: context.maxMessageBytes,
        open: openWith(context.http),
        guarded,
        withAuthorization:
          context.authorize?.(config.name) ??
          shareAuthorization({ provider, serverUrl: url, fetch: guarded }),
        mayResend: (id) => this.#resends.get(id)?.takeHealing() ?? true,
        posts: this.#posts,
        isBackground: (id) => id === this.#background,
        onDiscard: (discarded) => this.ondiscard?.(discarded),
        onStreamEnd: (cause) => {
          this.#failure ??= streamEnded(cause);
        },
        onFailure: (error) => {
          if (ToolportError.isInstance(error)) this.#failure ??= error;
        },
      }),
      ...(provider !== undefined && {
        authProvider: isOAuth(provider)
          ? checkedProvider(provider, { serverUrl: url, fetch: guarded })
          : provider,
      }),
    });
    this.#inner.onmessage = (message: JSONRPCMessage) => this.onmessage?.(message);
    this.#inner.onerror = (error) => this.#onInnerError(error);
    this.#inner.onclose = () => {
      // The SDK closes itself if a later `endpoint` event is not acceptable.
      if (this.#started && this.#closing === undefined) this.#fail();
    };
  }

  async start(): Promise<void> {
    const abandoned = new Promise<never>((_, reject) => {
      this.#abandonStart = reject;
    });
    try {
      await Promise.race([this.#inner.start(), abandoned]);
      this.#started = true;
    } catch (error) {
      this.#stopInner();
      const failure = this.#startError(error);
      // Only the request for the stream was sent.
      throw ToolportError.isInstance(failure) ? failure.withOutcome("unsent") : failure;
    } finally {
      this.#abandonStart = undefined;
    }
  }

  setProtocolVersion(version: string): void {
    this.#inner.setProtocolVersion(version);
  }

  async send(message: JSONRPCMessage, options?: ServerSendOptions): Promise<void> {
    if (this.#closing !== undefined) throw closed("unsent");
    const id = "id" in message ? message.id : undefined;
    if (id !== undefined && options?.resends !== undefined) this.#resends.set(id, options.resends);
    if (options?.background && id !== undefined) this.#background = id;
    try {
      await this.#inner.send(message);
    } catch (error) {
      if (isAbandoned(error)) return;
      if (this.#closing !== undefined) throw closed("unknown", error);
      const what = "The server did not accept the message";
      throw isPlain(error) ? new ConnectionError({ code: "HTTP_STATUS", what, cause: error }) : error;
    } finally {
      if (id !== undefined) this.#resends.delete(id);
    }
  }

  /** A request that the server has not accepted would hold its socket until the connection is closed. */
  abandon(id: RequestId, why: GiveUpReason): boolean {
    const post = this.#posts.get(String(id));
    post?.abort(why === "timeout" ? NO_RESPONSE : ABANDONED);
    return post?.isSent === false;
  }

  close(): Promise<void> {
    this.#closing ??= this.#shut();
    return this.#closing;
  }

  async #shut(): Promise<void> {
    this.#abandonStart?.(closed("unsent"));
    await this.#stopInner();
    this.onclose?.();
  }

  /**
   * The `eventsource` package sets its reconnect timer after it has reported the error; closing in a later microtask
   * clears that timer too.
   */
  async #stopInner(): Promise<void> {
    await undefined;
    await this.#inner.close();
  }

  #onInnerError(error: Error): void {
    if (this.#closing !== undefined || isAbandoned(error)) return;
    const broken = this.#started && error instanceof this.#SseError;
    if (broken) this.#fail();
    else this.onerror?.(error);
  }

  /** Closes, because `eventsource` would reconnect to a session that the server no longer knows. */
  #fail(): void {
    this.closeError = this.#failure ?? streamEnded();
    this.onerror?.(this.closeError);
    this.close().catch(() => {});
  }

  #startError(error: unknown): unknown {
    if (ToolportError.isInstance(error)) return error;
    if (this.#failure !== undefined && (isPlain(error) || error instanceof TypeError)) return this.#failure;
    if (!(error instanceof this.#SseError)) return error;
    return this.#failure ?? unreachable(error);
  }
}

/** A plain `Error`, which the SDK throws if a message or an endpoint is not accepted. */
const isPlain = (error: unknown): boolean =>
  error instanceof Error && Object.getPrototypeOf(error) === Error.prototype;

function unreachable(cause: SseError): ConnectionError {
  const status = cause.code;
  return new ConnectionError({
    code: status === undefined ? "UNREACHABLE" : "HTTP_STATUS",
    what: `The event stream could not be opened${status === undefined ? "" : ` (HTTP ${status})`}`,
    status,
    retryable: status === undefined,
    outcome: "unsent",
    cause,
  });
}

function streamEnded(cause?: unknown): ToolportError {
  if (ToolportError.isInstance(cause) && cause.code === "MESSAGE_TOO_LARGE") return cause;
  return new ConnectionError({
    code: "STREAM_CUT",
    what: "The server's event stream ended",
    next: "A new connection is needed",
    retryable: true,
    cause,
  });
}

function closed(outcome: "unsent" | "unknown", cause?: unknown): ConnectionError {
  const what = "The connection is closed";
  return new ConnectionError({ code: "CLOSED", what, retryable: true, outcome, cause });
}

interface SseFetchContext {
  readonly url: URL;
  readonly headers: HeaderSource;
  readonly secrets: KnownSecrets;
  /** The SDK has a provider that it calls when the server requires authorization. */
  readonly hasAuthProvider: boolean;
  readonly maxMessageBytes: number;
  readonly open: WireClient["open"];
  readonly guarded: typeof globalThis.fetch;
  /** Renews rejected credentials, once for all concurrent requests. */
  readonly withAuthorization: AuthorizedSend;
  /** Takes one resend with new credentials for the request with this id; false if none is left. */
  readonly mayResend: (id: string) => boolean;
  /** Requests that the server has not accepted yet, by id. */
  readonly posts: Map<string, Exchange>;
  /** No caller waits for this request: it does not keep the host process alive. */
  readonly isBackground: (id: string) => boolean;
  readonly onDiscard: Discard;
  /** The event stream has ended; the SDK may not have read all of it yet. */
  readonly onStreamEnd: (error: unknown) => void;
  /** A typed error, which the SDK will report as a less specific one. */
  readonly onFailure: (error: unknown) => void;
}

/** The id is at the beginning of a request's text, before anything that may be large. */
const OWN_ID = /^\{"jsonrpc":"2\.0","id":"([^"\\]{1,64})"/;

/** Requests that do not wait for a socket behind calls. */
const CONTROL_REQUEST = /^\{"jsonrpc":"2\.0","id":"[^"\\]{1,64}","method":"(?:initialize|ping)"/;

/** Statuses that mean an unknown session on the message endpoint, whose URL contains the session. */
const SESSION_STATUSES: ReadonlySet<number> = new Set([400, 404, 410]);

function createSseFetch(context: SseFetchContext): typeof globalThis.fetch {
  let endpoint: string | undefined;
  const onEndpoint = (data: string) => {
    const url = canParseUrl(data, context.url.href) ? new URL(data, context.url) : undefined;
    if (url?.origin === context.url.origin) endpoint = url.href;
    else context.onFailure(wrongEndpoint(url));
  };
  return async (input, init) => {
    const url = input instanceof URL ? input : new URL(input instanceof Request ? input.url : input);
    const method = init?.method ?? "GET";
    const own = toHeaderRecord(init?.headers);
    const listens =
      method === "GET" && url.origin === context.url.origin && own.accept === "text/event-stream";
    if (!listens && !(method === "POST" && url.href === endpoint)) return context.guarded(input, init);
    const body = (init?.body ?? undefined) as string | undefined;
    const id = OWN_ID.exec(body ?? "")?.[1];
    const exchange = new Exchange();
    const { signal } = init ?? {};
    if (signal?.aborted) exchange.abort(signal.reason);
    // The stream lasts as long as the connection, whose signal this is.
    const stopListening = signal ? onSharedAbort(signal, () => exchange.abort(signal.reason)) : undefined;
    if (id !== undefined) context.posts.set(id, exchange);
    try {
      const headers = await withUserHeaders(own, context.headers);
      let refusedWith: number | undefined;
      const send = async (fields: Readonly<Record<string, string>>): Promise<Response> => {
        if (refusedWith !== undefined && id !== undefined && !context.mayResend(id))
          throw credentialsRefused(refusedWith);
        const request: WireRequest = {
          url,
          method,
          headers: { ...headers, ...fields },
          body,
          signal: exchange,
          onSent: () => {
            exchange.isSent = true;
          },
          background: listens || (id !== undefined && context.isBackground(id)),
          // Calls that hold all sockets may be waiting for this response or notification.
          isControl: id === undefined || CONTROL_REQUEST.test(body ?? ""),
        };
        exchange.isSent = false;
        context.secrets.note(request.headers);
        context.secrets.noteAddress(url);
        const response = await (listens ? listen(context, request, onEndpoint) : deliver(context, request));
        refusedWith = response.status;
        return response;
      };
      const { authorization } = headers;
      const response = await context.withAuthorization({ method, url, signal, authorization }, send);
      return passable(context, response, id);
    } catch (error) {
      if (listens) context.onFailure(error);
      throw error;
    } finally {
      if (id !== undefined) context.posts.delete(id);
      if (!listens) stopListening?.();
    }
  };
}

async function listen(
  context: SseFetchContext,
  request: WireRequest,
  onEndpoint: (data: string) => void,
): Promise<Response> {
  const response = await context.open(request);
  if (response.status === 200 && isEventStream(response)) {
    const stream = eventBody(response.body, createEndpointReader(onEndpoint), {
      maxBytes: context.maxMessageBytes,
      onDiscard: context.onDiscard,
      onEnd: context.onStreamEnd,
    });
    return lightResponse(response, request.url, stream);
  }
  const bytes = await readShortBody(response);
  const redact = context.secrets.foreign;
  if (response.status < 300) throw badResponse({ response, why: "is not an event stream", bytes, redact });
  return refusal(request, response, bytes, redact);
}

async function deliver(context: SseFetchContext, request: WireRequest): Promise<Response> {
  const response = await context.open(request);
  const { status } = response;
  if (status >= 200 && status < 300) {
    discardBody(response);
    return lightResponse({ ...response, status: 202 }, request.url);
  }
  const bytes = await readShortBody(response);
  if (SESSION_STATUSES.has(status)) throw sessionLost(status);
  return refusal(request, response, bytes, context.secrets.foreign);
}

/** The SDK follows redirects within the origin, and `withAuthorization` handles 401 and 403; other statuses are errors. */
function refusal(
  { url, method }: WireRequest,
  response: WireResponse,
  bytes: Uint8Array,
  redact: Redact,
): Response {
  const { status } = response;
  if (status < 400 && redirectTarget(response, url, method) === undefined)
    throw redirectError(response, url, method);
  if (status < 400 || status === 401 || status === 403) return toResponse(response, bytes);
  throw statusError(response, bytes, redact);
}

/** Throws for a 401 or 403 that could not be resolved. With a provider the SDK handles a 401 itself and sends again. */
function passable(
  { hasAuthProvider, mayResend }: SseFetchContext,
  response: Response,
  id: string | undefined,
): Response {
  const { status } = response;
  if ((status === 401 && !hasAuthProvider) || status === 403) throw unauthorized(status);
  if (status === 401 && id !== undefined && !mayResend(id)) throw credentialsRefused(status);
  return response;
}

function unauthorized(status: 401 | 403): AuthError {
  return new AuthError({
    code: status === 401 ? "AUTH_REQUIRED" : "FORBIDDEN",
    what: status === 401 ? "The server requires authorization" : "The server denies access",
    next: "Set `headers` or an `authProvider` for this server",
    status,
    outcome: "unsent",
  });
}

function wrongEndpoint(url: URL | undefined): ConnectionError {
  if (url === undefined) {
    return new ConnectionError({
      code: "BAD_RESPONSE",
      what: "The server sent an invalid URL as its message endpoint",
    });
  }
  return new ConnectionError({
    code: "ADDRESS_REFUSED",
    what: `The server named a message endpoint on another origin: ${url.origin}`,
    next: "Use the URL on the origin that the server names",
    outcome: "unsent",
  });
}

/** The `endpoint` event is the first of the stream; stop looking for it after this much text. */
const GIVE_UP_CHARS = 64 * 1024;

/** Returns a function that reads the stream and calls back with the data of the first `endpoint` event. */
function createEndpointReader(onEndpoint: (data: string) => void): (bytes: Uint8Array) => void {
  const decoder = new TextDecoder();
  let text = "";
  let done = false;
  return (bytes) => {
    if (done) return;
    text += decoder.decode(bytes, { stream: true });
    const data = findEndpoint(text);
    done = data !== undefined || text.length > GIVE_UP_CHARS;
    if (done) text = "";
    if (data !== undefined) onEndpoint(data);
  };
}

function findEndpoint(text: string): string | undefined {
  let event = "";
  let data: string | undefined;
  const lines = text.split(/\r\n|\n|\r/);
  // The last element is an incomplete line.
  for (const line of lines.slice(0, -1)) {
    if (line === "") {
      if (event === "endpoint" && data !== undefined) return data;
      event = "";
      data = undefined;
    } else if (line.startsWith("event:")) event = line.slice(6).trim();
    else if (line.startsWith("data:")) data = line.slice(5).replace(/^ /, "");
  }
  return undefined;
}

/** The event stream for the SDK's parser. When `onEnd` is called, the SDK may not have read all bytes. */
function eventBody(
  body: ResponseBody,
  onBytes: (event: Uint8Array) => void,
  hooks: Omit<SharedEventsHooks, "onEvent">,
): ReadableStream<Uint8Array> {
  return new ReadableStream<Uint8Array>({
    start(controller) {
      readSharedEvents(body, {
        ...hooks,
        onEvent: (bytes) => {
          onBytes(bytes);
          controller.enqueue(bytes);
          return (controller.desiredSize ?? 0) > 0;
        },
        // Close, do not fail: an error would discard events that are not read yet, and the SDK reacts to both in the same way.
        onEnd: (error) => {
          hooks.onEnd(error);
          controller.close();
        },
      });
    },
    pull: () => body.resume(),
    cancel: () => body.cancel(),
  });
}
