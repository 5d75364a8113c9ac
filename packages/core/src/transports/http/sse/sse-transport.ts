/** Legacy HTTP+SSE: an event stream for what the server sends, and an address, named by its first event, for what the client sends. */
import type { JSONRPCMessage, RequestId } from "@modelcontextprotocol/client";
import { AuthError, ConnectionError, canParseUrl, ToolportError } from "@toolport/base";
import {
  badResponse,
  discardBody,
  isEventStream,
  readShortBody,
  redirectError,
  sessionLost,
  statusError,
} from "@toolport/http";
import { ABANDONED, isAbandoned, NO_RESPONSE } from "@toolport/http/wire-client";
import { secretsOf } from "../../../config/known-secrets.js";
import type { SseConfig } from "../../../config/server-config.js";
import {
  closedError,
  type GiveUpReason,
  type ServerSendOptions,
  type ServerTransport,
  type TransportContext,
} from "../../server-transport.js";
import {
  type Endpoint,
  type EndpointResponse,
  type Exchange,
  MessageHeaders,
  openEndpoint,
} from "../endpoint.js";
import { readMessage } from "../endpoint-streams.js";
import { parseEvent, readSharedEvents } from "../event-frames.js";

/** Creates the transport for one legacy HTTP+SSE server; `start()` opens the event stream and waits for the address. */
export async function createSseTransport(
  config: SseConfig,
  context: TransportContext,
): Promise<ServerTransport> {
  return new SseTransport(config, context, await openEndpoint(config, context));
}

/** It closes when its stream ends: the server ends the session then. */
class SseTransport implements ServerTransport {
  readonly kind = "sse";
  closeError: ToolportError | undefined;
  onmessage?: ServerTransport["onmessage"];
  onerror?: (error: Error) => void;
  onclose?: () => void;
  ondiscard?: ServerTransport["ondiscard"];

  readonly #config: SseConfig;
  readonly #maxMessageBytes: number;
  readonly #endpoint: Endpoint;
  readonly #headers: MessageHeaders;
  /** Requests that the server has not accepted yet. */
  readonly #posts = new Map<RequestId, Exchange>();
  /** Where messages are sent to. Contains the session. */
  #messagesUrl: URL | undefined;
  /** Settles `start()`, with the reason if it failed. */
  #started: ((failure?: unknown) => void) | undefined;
  #closing: Promise<void> | undefined;

  constructor(config: SseConfig, { maxMessageBytes }: TransportContext, endpoint: Endpoint) {
    this.#config = config;
    this.#maxMessageBytes = maxMessageBytes;
    this.#endpoint = endpoint;
    this.#headers = new MessageHeaders(config.headers);
  }

  async start(): Promise<void> {
    const named = new Promise<void>((resolve, reject) => {
      this.#started = (failure) => (failure === undefined ? resolve() : reject(failure));
    });
    named.catch(() => {});
    try {
      const exchange = this.#endpoint.begin();
      const fields = this.#headers.forStream();
      const response = await this.#endpoint.send({ method: "GET", fields, exchange, background: true });
      if (!isEventStream(response)) throw await this.#refusal(response, "GET");
      readSharedEvents(response.body, {
        maxBytes: this.#maxMessageBytes,
        onEvent: (bytes) => this.#receive(bytes),
        onDiscard: (discarded) => this.ondiscard?.(discarded),
        onEnd: (cause) => this.#lose(streamEnded(cause)),
      });
      await named;
    } catch (error) {
      this.#endpoint.close(error);
      // Only the request for the stream was sent.
      throw ToolportError.isInstance(error) ? error.withOutcome("unsent") : error;
    } finally {
      this.#started = undefined;
    }
  }

  setProtocolVersion(version: string): void {
    this.#headers.protocolVersion = version;
  }

  async send(message: JSONRPCMessage, options: ServerSendOptions = {}): Promise<void> {
    if (this.#closing !== undefined || this.#messagesUrl === undefined) throw closedError("unsent");
    const { background, resends } = options;
    const request = "method" in message && "id" in message ? message : undefined;
    const exchange = this.#endpoint.begin();
    if (request !== undefined) this.#posts.set(request.id, exchange);
    try {
      const response = await this.#endpoint.send({
        method: "POST",
        url: this.#messagesUrl,
        fields: this.#headers.forMessage(message),
        body: JSON.stringify(message),
        exchange,
        background,
        resends,
        // Calls that hold all sockets may be waiting for a response or a notification.
        isControl: request === undefined || request.method === "initialize" || request.method === "ping",
      });
      if (response.status < 200 || response.status >= 300) throw await this.#refusal(response, "POST");
      discardBody(response);
    } catch (error) {
      if (isAbandoned(error)) return;
      throw this.#closing === undefined ? error : closedError("unknown", error);
    } finally {
      if (request !== undefined) this.#posts.delete(request.id);
      this.#endpoint.release(exchange);
    }
  }

  /** A request that the server has not accepted would hold its socket until the connection is closed. */
  abandon(id: RequestId, why: GiveUpReason): boolean {
    const exchange = this.#posts.get(id);
    exchange?.abort(why === "timeout" ? NO_RESPONSE : ABANDONED);
    return exchange?.isSent === false;
  }

  close(): Promise<void> {
    this.#closing ??= this.#shut();
    return this.#closing;
  }

  async #shut(): Promise<void> {
    // `#closing` is set by now: errors after this point come from our own `close()`.
    await undefined;
    this.#started?.(closedError("unsent"));
    this.#endpoint.close(closedError("unknown"));
    this.onclose?.();
  }

  #receive(bytes: Uint8Array): void {
    const event = parseEvent(bytes);
    if (event.type === "endpoint") this.#setMessagesUrl(event.data ?? "");
    const message = readMessage(event, {
      onDiscard: (discarded) => this.ondiscard?.(discarded),
      onError: (error) => this.onerror?.(error),
    });
    try {
      if (message !== undefined && this.#closing === undefined) this.onmessage?.(message);
    } catch (error) {
      this.onerror?.(error as Error);
    }
  }

  #setMessagesUrl(address: string): void {
    const base = new URL(this.#config.url);
    const url = canParseUrl(address, base.href) ? new URL(address, base) : undefined;
    if (url?.origin !== base.origin) return this.#lose(wrongAddress(url));
    secretsOf(this.#config).noteAddress(url);
    this.#messagesUrl = url;
    this.#started?.();
  }

  /** The stream has ended, or cannot be used. */
  #lose(error: ConnectionError): void {
    if (this.#closing !== undefined || this.closeError !== undefined) return;
    if (this.#started !== undefined && this.#messagesUrl === undefined) return this.#started(error);
    this.closeError = error;
    this.onerror?.(error);
    this.close().catch(() => {});
  }

  /** The error for a response with another status than 2xx, or another body than an event stream. */
  async #refusal(response: EndpointResponse, method: "GET" | "POST"): Promise<ToolportError> {
    const { status, url } = response;
    const bytes = await readShortBody(response);
    const redact = secretsOf(this.#config).foreign;
    if (status < 300) return badResponse({ response, why: "is not an event stream", bytes, redact });
    if (status < 400) return redirectError(response, url, method);
    if (status === 401 || status === 403) return unauthorized(status);
    // The address of messages contains the session.
    if (method === "POST" && SESSION_STATUSES.has(status)) return sessionLost(status);
    return statusError(response, bytes, redact);
  }
}

/** Statuses that mean an unknown session. */
const SESSION_STATUSES: ReadonlySet<number> = new Set([400, 404, 410]);

function streamEnded(cause: unknown): ConnectionError {
  if (cause instanceof ConnectionError && cause.code === "MESSAGE_TOO_LARGE") return cause;
  return new ConnectionError({
    code: "STREAM_CUT",
    what: "The server's event stream ended",
    next: "A new connection is needed",
    retryable: true,
    cause,
  });
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

function wrongAddress(url: URL | undefined): ConnectionError {
  if (url === undefined)
    return new ConnectionError({
      code: "BAD_RESPONSE",
      what: "The server sent an invalid URL as its message endpoint",
    });
  return new ConnectionError({
    code: "ADDRESS_REFUSED",
    what: `The server named a message endpoint on another origin: ${url.origin}`,
    next: "Use the URL on the origin that the server names",
    outcome: "unsent",
  });
}
