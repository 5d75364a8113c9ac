/** Streamable HTTP: sends every message by POST, reads responses as JSON or event streams, and reopens broken streams. */
import type { JSONRPCMessage, RequestId } from "@modelcontextprotocol/client";
import { ConnectionError, isRecord, parseJson, type ToolportError, withDeadline } from "@toolport/base";
import {
  badResponse,
  collectBody,
  decodeText,
  discardBody,
  mediaType,
  readShortBody,
  tooLarge,
} from "@toolport/http";
import { ABANDONED, isAbandoned, NO_RESPONSE, type WireResponse } from "@toolport/http/wire-client";
import { secretsOf } from "../../config/known-secrets.js";
import type { HttpConfig } from "../../config/server-config.js";
import {
  asRpcError,
  closedError,
  type GiveUpReason,
  type ServerSendOptions,
  type ServerTransport,
  type TransportContext,
} from "../server-transport.js";
import {
  type Endpoint,
  type EndpointContext,
  type EndpointRequest,
  isResumable,
  MessageHeaders,
  type OpenRequest,
  OpenRequests,
  openEndpoint,
  ownAuthorization,
  ownVersion,
  streamCut,
} from "./endpoint.js";
import { EndpointStreams } from "./endpoint-streams.js";
import { explainErrorResponse } from "./error-response.js";

const END_SESSION_MS = 1_000;

/** Creates the transport for one Streamable HTTP server. It sends nothing before the first message. */
export async function createHttpTransport(
  config: HttpConfig,
  context: TransportContext,
): Promise<ServerTransport> {
  return new HttpTransport(config, context, await openEndpoint(config, context));
}

class HttpTransport implements ServerTransport {
  readonly kind = "http";
  readonly hasPerRequestStream = true;
  readonly closeError: ToolportError | undefined;
  onmessage?: ServerTransport["onmessage"];
  onerror?: (error: Error) => void;
  onclose?: () => void;
  ondiscard?: ServerTransport["ondiscard"];
  onstreamcut?: ServerTransport["onstreamcut"];
  onsessionlost?: ServerTransport["onsessionlost"];
  onstream?: ServerTransport["onstream"];

  readonly #context: EndpointContext;
  readonly #streams: EndpointStreams;
  #closing: Promise<void> | undefined;
  /** The client advertised capabilities, so the server may send requests. */
  #acceptsRequests = true;
  /** Open the listening stream after the handshake. */
  readonly #listensAtOnce: boolean;
  /** Number of callers of `listen()` that have not stopped. */
  #listeners = 0;

  constructor(
    config: HttpConfig,
    { maxMessageBytes, listensAtOnce = true }: TransportContext,
    endpoint: Endpoint,
  ) {
    this.#listensAtOnce = listensAtOnce;
    this.#context = {
      endpoint,
      redact: secretsOf(config).foreign,
      messageHeaders: new MessageHeaders(config.headers),
      requests: new OpenRequests((id, error) => this.onstreamcut?.(id, error)),
      maxMessageBytes,
      onMessage: this.#receive,
      onError: (error) => this.#report(error),
      onDiscard: (discarded) => this.ondiscard?.(discarded),
      onStream: (state) => this.onstream?.(state),
      onSessionLost: (error) => this.onsessionlost?.(error),
    };
    this.#streams = new EndpointStreams(this.#context);
  }

  get sessionId(): string | undefined {
    return this.#context.messageHeaders.sessionId;
  }

  async start(): Promise<void> {}

  setProtocolVersion(version: string): void {
    this.#context.messageHeaders.protocolVersion = version;
  }

  send(message: JSONRPCMessage, options?: ServerSendOptions): Promise<void> {
    if (this.#closing !== undefined) return Promise.reject(closedError("unsent"));
    if ("method" in message && "id" in message) return this.#request(message, options);
    return this.#notify(message, options);
  }

  abandon(id: RequestId, why: GiveUpReason): boolean {
    return this.#context.requests.abandon(id, why === "timeout" ? NO_RESPONSE : ABANDONED);
  }

  resumeSession(id: string | undefined): void {
    this.#context.messageHeaders.sessionId = id;
    this.#acceptsRequests = false;
  }

  listen(): () => void {
    if (this.#listensAtOnce || this.#acceptsRequests || this.#closing !== undefined) return () => {};
    this.#listeners += 1;
    if (this.#listeners === 1) void this.#streams.listen();
    let isOver = false;
    return () => {
      if (isOver) return;
      isOver = true;
      this.#listeners -= 1;
      if (this.#listeners === 0) this.#streams.stopListening();
    };
  }

  async endSession(): Promise<void> {
    const { endpoint, messageHeaders } = this.#context;
    if (messageHeaders.sessionId === undefined || this.#closing !== undefined) return;
    const exchange = endpoint.begin();
    const end = async () => {
      const response = await endpoint.send({
        method: "DELETE",
        fields: messageHeaders.forEnd(),
        exchange,
        isControl: true,
      });
      await readShortBody(response);
      messageHeaders.sessionId = undefined;
    };
    // The session ends here, whatever the server responds.
    const ended = end()
      .catch(() => {})
      .finally(() => endpoint.release(exchange));
    await withDeadline(ended, { timeoutMs: END_SESSION_MS, onTimeout: () => closedError("unknown") }).catch(
      () => {},
    );
  }

  close(): Promise<void> {
    this.#closing ??= this.#shut();
    return this.#closing;
  }

  async #shut(): Promise<void> {
    // `#closing` is set by now: errors after this point come from our own `close()`.
    await undefined;
    const { endpoint, requests } = this.#context;
    this.#streams.close();
    requests.clear();
    endpoint.close(closedError("unknown"));
    this.onclose?.();
  }

  /** Resolves when the response has been passed on, or its stream has started. */
  async #request(
    message: JSONRPCMessage & { id: RequestId; method: string },
    options: ServerSendOptions = {},
  ): Promise<void> {
    const context = this.#context;
    const { endpoint, requests, messageHeaders, redact } = context;
    const { method } = message;
    if (method === "initialize") this.#acceptsRequests = hasCapabilities(message as object);
    const modern = ownVersion(message) !== undefined;
    const exchange = endpoint.begin();
    const own = requests.add({ id: message.id, modern, options, exchange });
    if (options.resumptionToken !== undefined) return this.#resume(own, options.resumptionToken);
    const { headers } = options;
    let streaming = false;
    try {
      const request: EndpointRequest = {
        method: "POST",
        fields: messageHeaders.forMessage(message, headers),
        body: JSON.stringify(message),
        exchange,
        background: method === LISTEN_METHOD || options.background === true,
        authorization: headers && ownAuthorization(headers),
        resends: options.resends,
        isControl: CONTROL_METHODS.has(method),
      };
      const response = await endpoint.send(request);
      const { status } = response;
      if (status < 200 || status >= 300)
        return context.onMessage(await explainErrorResponse(response, request, { own, redact }), own);
      if (method === "initialize")
        messageHeaders.sessionId = response.headers.get("mcp-session-id") || undefined;
      // The response arrives on the listening stream.
      if (status === 202) return discardBody(response);
      const type = status === 204 ? "" : mediaType(response.headers.get("content-type"));
      if (type === "text/event-stream") {
        streaming = true;
        return this.#streams.read(own, response.body);
      }
      if (type === "application/json") return await readJson(context, response, own);
      const bytes = await readShortBody(response);
      throw badResponse({ response, why: "is neither JSON nor an event stream", bytes, redact });
    } catch (error) {
      requests.settle(own);
      if (!isAbandoned(error)) throw error;
    } finally {
      if (!streaming) {
        endpoint.release(exchange);
        requests.ended(own);
      }
    }
  }

  /** Asks for the rest of an earlier response. */
  #resume(own: OpenRequest, token: string): void {
    own.token = token;
    own.streamEnded = true;
    if (isResumable(own)) void this.#streams.resume(own);
    else this.#context.requests.cut(own);
  }

  async #notify(message: JSONRPCMessage, options: ServerSendOptions | undefined): Promise<void> {
    const method = "method" in message ? message.method : undefined;
    if (method === "notifications/cancelled") this.#cancelled(message);
    const posting = postNotification(this.#context, message, options?.headers);
    if (method !== "notifications/initialized") return posting;
    if (!this.#listensAtOnce && !this.#acceptsRequests) return posting;
    await this.#listenAfter(posting);
  }

  /** Opens the listening stream after the handshake. Its socket is opened before, so that no list is requested earlier. */
  async #listenAfter(posting: Promise<void>): Promise<void> {
    let accepted = () => {};
    const listening = this.#streams.listen(
      new Promise((resolve) => {
        accepted = resolve;
      }),
    );
    try {
      await posting;
    } catch (error) {
      this.#streams.stopListening();
      throw error;
    }
    accepted();
    // Without client capabilities the server sends no requests that could be lost before the stream is open.
    if (this.#acceptsRequests) await listening;
  }

  /** Also frees the request here, or it would hold its socket until the server responds. */
  #cancelled(message: JSONRPCMessage): void {
    const { requestId } = (message as { params?: { requestId?: unknown } }).params ?? {};
    if (typeof requestId === "string" || typeof requestId === "number") this.abandon(requestId, "abort");
  }

  readonly #receive = (message: JSONRPCMessage, own?: OpenRequest): void => {
    const isResponse = !("method" in message);
    if (isResponse && message.id !== undefined) {
      const { requests } = this.#context;
      const answered = own?.id === message.id ? own : requests.find(message.id);
      if (answered !== undefined) requests.settle(answered);
    }
    try {
      // Requests and log messages of the server belong to the request whose stream they arrive on.
      if (isResponse || own === undefined) this.onmessage?.(message);
      else this.onmessage?.(message, { ownRequestId: own.id });
    } catch (error) {
      this.#report(error as Error);
    }
  };

  #report(error: Error): void {
    if (this.#closing === undefined) this.onerror?.(error);
  }
}

const hasCapabilities = ({ params }: { params?: { capabilities?: object } }): boolean =>
  Object.keys(params?.capabilities ?? {}).length > 0;

/** Its response stream stays open as long as the connection. */
const LISTEN_METHOD = "subscriptions/listen";

/** Short requests on which the connection depends: they do not wait for a socket behind calls. */
const CONTROL_METHODS: ReadonlySet<string> = new Set(["initialize", "ping", "server/discover"]);

/** Throws if the body is not a response to the request. */
async function readJson(context: EndpointContext, response: WireResponse, own: OpenRequest): Promise<void> {
  const { maxMessageBytes: maxBytes, redact } = context;
  const { bytes, cut } = await collectBody(response.body, { maxBytes }).catch((error: unknown) => {
    own.exchange.throwIfAborted();
    throw error instanceof ConnectionError && error.code !== "UNREACHABLE" ? error : streamCut(error);
  });
  if (cut) {
    const error = tooLarge(maxBytes);
    context.requests.cut(own, error);
    throw error;
  }
  const text = decodeText(bytes, response.headers.get("content-type"));
  const body = text === undefined ? undefined : parseJson(text);
  const found = body === undefined ? undefined : findResponse(own.id, body);
  if (found !== undefined) {
    for (const message of found) context.onMessage(message, own);
    return;
  }
  const why =
    text === undefined
      ? "is in an unknown character set"
      : bytes.byteLength === 0
        ? "is empty"
        : body === undefined
          ? "is not valid JSON"
          : "does not answer the request";
  throw badResponse({ response, why, bytes: text === undefined ? undefined : bytes, redact });
}

/** Maximum number of messages in a batch, which only servers of old revisions send. */
const MAX_BATCH = 1_000;

/**
 * Finds the response to request `id` in a JSON body. Any other message would be dropped silently, and the request would
 * wait for its timeout. An error without an id (the server could not parse the request) gets this id. Returns undefined
 * if there is no response.
 */
function findResponse(id: RequestId, body: unknown): readonly JSONRPCMessage[] | undefined {
  if (Array.isArray(body)) {
    const fits = body.length <= MAX_BATCH && body.every((one) => isRecord(one) && one["jsonrpc"] === "2.0");
    return fits && body.some((one) => one.id === id && !("method" in one)) ? body : undefined;
  }
  if (!isRecord(body) || body["jsonrpc"] !== "2.0" || "method" in body) return undefined;
  if (body["id"] === id) return [body as JSONRPCMessage];
  const error = asRpcError(body);
  return error !== undefined && (error.id === null || error.id === undefined)
    ? [{ ...error, id } as JSONRPCMessage]
    : undefined;
}

/** Sends a notification, or a response to a request of the server. Resolves when the server has accepted it. */
async function postNotification(
  { endpoint, messageHeaders, redact }: EndpointContext,
  message: JSONRPCMessage,
  headers: Readonly<Record<string, string>> | undefined,
): Promise<void> {
  const exchange = endpoint.begin();
  try {
    const request: EndpointRequest = {
      method: "POST",
      fields: messageHeaders.forMessage(message, headers),
      body: JSON.stringify(message),
      exchange,
      authorization: headers && ownAuthorization(headers),
      // Calls that hold all sockets may be waiting for this message.
      isControl: true,
    };
    const response = await endpoint.send(request);
    if (response.status < 200 || response.status >= 300)
      await explainErrorResponse(response, request, { redact });
    discardBody(response);
  } finally {
    endpoint.release(exchange);
  }
}
