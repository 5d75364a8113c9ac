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
import type { SseConfig } from "../../../config/server-config.js";
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
import { readSharedEvents, type SharedEventsHooks } from "../event-frames.js";
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

  readonly #url: URL;
  readonly #secrets: KnownSecrets;
  readonly #open: WireClient["open"];
  /** For requests to the authorization server. */
  readonly #guarded: typeof globalThis.fetch;
  /** Renews rejected credentials, once for all concurrent requests. */
  readonly #authorize: AuthorizedSend;
  readonly #inner: SSEClientTransport;
  /** The address for messages, as the server named it. */
  #endpoint: string | undefined;
  /** Requests that the server has not accepted yet, by id. */
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

  constructor(
    private readonly config: SseConfig,
    private readonly context: TransportContext,
    sdk: typeof Sdk,
  ) {
    const { authProvider: provider } = config;
    const serverUrl = new URL(config.url);
    const fetch = dropUnknownLifetimes(createGuardedFetch(context.http, { serverUrl }));
    this.#url = serverUrl;
    this.#secrets = secretsOf(config);
    this.#open = openWith(context.http);
    this.#guarded = fetch;
    this.#authorize = context.authorize?.(config.name) ?? shareAuthorization({ provider, serverUrl, fetch });
    this.#SseError = sdk.SseError;
    this.#inner = new sdk.SSEClientTransport(serverUrl, {
      fetch: (input, init) => this.#fetch(input, init),
      ...(provider !== undefined && {
        authProvider: isOAuth(provider) ? checkedProvider(provider, { serverUrl, fetch }) : provider,
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

  /** The `fetch` of the SDK's transport: the stream, messages, and requests to the authorization server. */
  async #fetch(input: Parameters<typeof globalThis.fetch>[0], init?: RequestInit): Promise<Response> {
    const url = input instanceof URL ? input : new URL(input instanceof Request ? input.url : input);
    const method = init?.method ?? "GET";
    const own = toHeaderRecord(init?.headers);
    const listens = method === "GET" && url.origin === this.#url.origin && own.accept === "text/event-stream";
    if (!listens && !(method === "POST" && url.href === this.#endpoint)) return this.#guarded(input, init);
    const body = (init?.body ?? undefined) as string | undefined;
    const id = OWN_ID.exec(body ?? "")?.[1];
    const exchange = new Exchange();
    const { signal } = init ?? {};
    if (signal?.aborted) exchange.abort(signal.reason);
    // The stream lasts as long as the connection, whose signal this is.
    const stopListening = signal ? onSharedAbort(signal, () => exchange.abort(signal.reason)) : undefined;
    if (id !== undefined) this.#posts.set(id, exchange);
    try {
      const headers = await withUserHeaders(own, this.config.headers);
      let refusedWith: number | undefined;
      const send = async (fields: Readonly<Record<string, string>>): Promise<Response> => {
        if (refusedWith !== undefined && !this.#mayResend(id)) throw credentialsRefused(refusedWith);
        const request: WireRequest = {
          url,
          method,
          headers: { ...headers, ...fields },
          body,
          signal: exchange,
          onSent: () => {
            exchange.isSent = true;
          },
          // Without a caller that waits, it does not keep the host process alive.
          background: listens || (id !== undefined && id === this.#background),
          // Calls that hold all sockets may be waiting for this response or notification.
          isControl: id === undefined || CONTROL_REQUEST.test(body ?? ""),
        };
        exchange.isSent = false;
        this.#secrets.note(request.headers);
        this.#secrets.noteAddress(url);
        const response = await (listens ? this.#listen(request) : this.#deliver(request));
        refusedWith = response.status;
        return response;
      };
      const { authorization } = headers;
      const response = await this.#authorize({ method, url, signal, authorization }, send);
      const { status } = response;
      // With a provider the SDK handles a 401 itself and sends again.
      if ((status === 401 && this.config.authProvider === undefined) || status === 403)
        throw unauthorized(status);
      if (status === 401 && !this.#mayResend(id)) throw credentialsRefused(status);
      return response;
    } catch (error) {
      // The SDK reports a less specific one.
      if (listens && ToolportError.isInstance(error)) this.#failure ??= error;
      throw error;
    } finally {
      if (id !== undefined) this.#posts.delete(id);
      if (!listens) stopListening?.();
    }
  }

  /** Takes one resend with new credentials for a request; false if none is left. */
  #mayResend(id: string | undefined): boolean {
    return id === undefined || (this.#resends.get(id)?.takeHealing() ?? true);
  }

  async #listen(request: WireRequest): Promise<Response> {
    const response = await this.#open(request);
    if (response.status === 200 && isEventStream(response)) {
      const onEndpoint = (data: string) => {
        const url = canParseUrl(data, this.#url.href) ? new URL(data, this.#url) : undefined;
        if (url?.origin === this.#url.origin) this.#endpoint = url.href;
        else this.#failure ??= wrongEndpoint(url);
      };
      const stream = eventBody(response.body, createEndpointReader(onEndpoint), {
        maxBytes: this.context.maxMessageBytes,
        onDiscard: (discarded) => this.ondiscard?.(discarded),
        // The SDK may not have read all of the stream yet.
        onEnd: (cause) => {
          this.#failure ??= streamEnded(cause);
        },
      });
      return lightResponse(response, request.url, stream);
    }
    const bytes = await readShortBody(response);
    const redact = this.#secrets.foreign;
    if (response.status < 300) throw badResponse({ response, why: "is not an event stream", bytes, redact });
    return refusal(request, response, bytes, redact);
  }

  async #deliver(request: WireRequest): Promise<Response> {
    const response = await this.#open(request);
    const { status } = response;
    if (status >= 200 && status < 300) {
      discardBody(response);
      return lightResponse({ ...response, status: 202 }, request.url);
    }
    const bytes = await readShortBody(response);
    if (SESSION_STATUSES.has(status)) throw sessionLost(status);
    return refusal(request, response, bytes, this.#secrets.foreign);
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

/** The id is at the beginning of a request's text, before anything that may be large. */
const OWN_ID = /^\{"jsonrpc":"2\.0","id":"([^"\\]{1,64})"/;

/** Requests that do not wait for a socket behind calls. */
const CONTROL_REQUEST = /^\{"jsonrpc":"2\.0","id":"[^"\\]{1,64}","method":"(?:initialize|ping)"/;

/** Statuses that mean an unknown session on the message endpoint, whose URL contains the session. */
const SESSION_STATUSES: ReadonlySet<number> = new Set([400, 404, 410]);

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
