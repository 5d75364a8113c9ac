/** The MCP endpoint of one connection: adds the user's headers and credentials, and follows redirects within the origin. */

import type { JSONRPCMessage, RequestId } from "@modelcontextprotocol/client";
import {
  AuthError,
  ConfigError,
  ConnectionError,
  encodeHeaderText,
  LightAbort,
  onSharedAbort,
  SlotList,
  type Slotted,
  ToolportError,
} from "@toolport/base";
import { bufferedBody, MAX_REDIRECTS, type Redact, readShortBody, redirectTarget } from "@toolport/http";
import {
  lightResponse,
  openWith,
  toResponse,
  type WireClient,
  type WireResponse,
} from "@toolport/http/wire-client";
import { type KnownSecrets, secretsOf } from "../../config/known-secrets.js";
import type { HeaderSource, HttpConfig, SseConfig } from "../../config/server-config.js";
import type {
  AuthorizedSend,
  Resends,
  ServerSendOptions,
  StreamState,
  TransportContext,
} from "../server-transport.js";
import type { Discard } from "./event-frames.js";

interface EndpointOptions {
  readonly url: URL;
  /** Only a function is called here, for every request; static headers are already in the request. */
  readonly headers: HeaderSource;
  readonly open: WireClient["open"];
  /** Records every header that is sent, so that it can be redacted. */
  readonly secrets: Pick<KnownSecrets, "note">;
  /** Undefined: no credentials, or they are in the headers. */
  readonly sendAuthorized: AuthorizedSend | undefined;
}

export interface EndpointRequest {
  readonly method: "POST" | "GET" | "DELETE";
  /** @default the URL of the endpoint */
  readonly url?: URL | undefined;
  readonly fields: Readonly<Record<string, string>>;
  readonly body?: string | undefined;
  readonly exchange: Exchange;
  /** Does not keep the host process alive. @default false */
  readonly background?: boolean | undefined;
  /** Does not wait for a free socket. @default false */
  readonly isControl?: boolean | undefined;
  /** The request is sent when this promise resolves. Must not reject. @default at once */
  readonly sendAfter?: Promise<void> | undefined;
  /** How often the request may be sent again. @default no limit */
  readonly resends?: Resends | undefined;
  /** Credentials that the caller set for this request; they are not renewed. */
  readonly authorization?: string | undefined;
}

/** A response, with the headers that were sent and the URL that answered. */
export interface EndpointResponse extends WireResponse {
  readonly sent: Readonly<Record<string, string>>;
  readonly url: URL;
}

/** One exchange with the endpoint: a request, which redirects and new credentials may repeat, and its response. */
export class Exchange extends LightAbort implements Slotted {
  slot = -1;
  /** The server may have read the request. */
  isSent = false;
}

/** The endpoint of a server, with the credentials that the port manages, or those of the `authProvider` of its entry. */
export async function openEndpoint(
  config: HttpConfig | SseConfig,
  context: TransportContext,
): Promise<Endpoint> {
  const { name, headers, authProvider: provider } = config;
  const url = new URL(config.url);
  const { http } = context;
  let sendAuthorized = context.authorizedSendOf?.(name);
  if (sendAuthorized === undefined && provider !== undefined) {
    const [{ createGuardedFetch }, { authorizeByProvider }] = await Promise.all([
      import("@toolport/http/guarded-fetch"),
      import("./credentials/provider-authorization.js"),
    ]);
    const fetch = createGuardedFetch(http, { serverUrl: url });
    sendAuthorized = authorizeByProvider({ provider, serverUrl: url, fetch });
  }
  return new Endpoint({ url, headers, secrets: secretsOf(config), open: openWith(http), sendAuthorized });
}

export class Endpoint {
  readonly #options: EndpointOptions;
  readonly #exchanges = new SlotList<Exchange>();
  #closed: { readonly reason: unknown } | undefined;

  constructor(options: EndpointOptions) {
    this.#options = options;
  }

  /** Starts an exchange. The caller has to `release()` it when it ends. */
  begin(): Exchange {
    const exchange = new Exchange();
    if (this.#closed === undefined) this.#exchanges.add(exchange);
    else exchange.abort(this.#closed.reason);
    return exchange;
  }

  release(exchange: Exchange): void {
    this.#exchanges.delete(exchange);
  }

  /** Aborts all exchanges in progress, and those that begin later. */
  close(reason: unknown): void {
    this.#closed = { reason };
    const exchanges = this.#exchanges.toArray();
    this.#exchanges.clear();
    for (const exchange of exchanges) exchange.abort(reason);
  }

  /** Resolves with the status and headers; the body is not read yet. */
  async send(request: EndpointRequest): Promise<EndpointResponse> {
    const { headers: source } = this.#options;
    const { method, fields, exchange, authorization } = request;
    const given = typeof source === "function" ? await withUserHeaders(fields, source) : fields;
    const headers = authorization === undefined ? given : { ...given, authorization };
    // New credentials would not replace those that the caller has set.
    const sendAuthorized = authorization === undefined ? this.#options.sendAuthorized : undefined;
    let { url = this.#options.url } = request;
    for (let followed = 0; ; followed++) {
      exchange.throwIfAborted();
      const response =
        sendAuthorized === undefined
          ? await this.#open(url, request, headers)
          : await this.#openAuthorized(url, request, { headers, sendAuthorized });
      if (response.status < 300 || response.status >= 400 || followed === MAX_REDIRECTS) return response;
      const target = redirectTarget(response, url, method);
      if (target === undefined) return response;
      await readShortBody(response);
      url = target;
    }
  }

  async #open(
    url: URL,
    request: EndpointRequest,
    headers: Readonly<Record<string, string>>,
  ): Promise<EndpointResponse> {
    const { method, body, exchange, background, isControl, sendAfter } = request;
    this.#options.secrets.note(headers);
    exchange.isSent = false;
    const onSent = () => {
      exchange.isSent = true;
    };
    const sending = {
      url,
      method,
      headers,
      body,
      signal: exchange,
      onSent,
      background,
      isControl,
      sendAfter,
    };
    return { ...(await this.#options.open(sending)), sent: headers, url };
  }

  async #openAuthorized(
    url: URL,
    request: EndpointRequest,
    {
      headers,
      sendAuthorized,
    }: { headers: Readonly<Record<string, string>>; sendAuthorized: AuthorizedSend },
  ): Promise<EndpointResponse> {
    const { method, exchange } = request;
    let last: EndpointResponse | undefined;
    const authorization = headers["authorization"];
    const unauthorized = { method, url, signal: exchange, authorization };
    await sendAuthorized(unauthorized, async (fields) => {
      exchange.throwIfAborted();
      if (last !== undefined && !mayResend(last, request.resends)) throw credentialsRefused(last.status);
      last = await this.#open(url, request, { ...headers, ...fields });
      if (last.status !== 401 && last.status !== 403) return lightResponse(last, url);
      const bytes = await readShortBody(last);
      last = { ...last, body: bufferedBody(bytes) };
      return toResponse(last, bytes);
    });
    return last!;
  }
}

/** A resend with new credentials counts as recovery; one with the nonce for a proof (RFC 9449) does not. */
function mayResend({ headers }: WireResponse, resends: Resends | undefined): boolean {
  if (resends === undefined) return true;
  const wantsNonce = headers.get("www-authenticate")?.includes("use_dpop_nonce") === true;
  return wantsNonce ? resends.take() : resends.takeRecovery();
}

/** There are new credentials, but this call must not be sent again. */
function credentialsRefused(status: number): AuthError {
  return new AuthError({
    code: status === 403 ? "INSUFFICIENT_SCOPE" : "AUTH_REQUIRED",
    what: `The server rejected the call again (HTTP ${status})`,
    next: "Call again: the next call uses the new credentials",
    status,
    outcome: "unsent",
  });
}

const PROTOCOL_VERSION_META = "io.modelcontextprotocol/protocolVersion";

type Fields = Record<string, string>;
type Params = { readonly _meta?: Readonly<Record<string, unknown>> } & Readonly<Record<string, unknown>>;

/** The parameter that the header `mcp-name` repeats, by method (stateless revisions only). */
const NAMED_BY: ReadonlyMap<string, string> = new Map([
  ["tools/call", "name"],
  ["prompts/get", "name"],
  ["resources/read", "uri"],
  ["tasks/get", "taskId"],
  ["tasks/update", "taskId"],
  ["tasks/cancel", "taskId"],
]);

/** The protocol version in a request of a stateless revision. */
export function ownVersion(message: object): string | undefined {
  const version = (message as { params?: Params }).params?._meta?.[PROTOCOL_VERSION_META];
  return typeof version === "string" ? version : undefined;
}

/** Headers of one connection. */
export class MessageHeaders {
  sessionId: string | undefined;
  protocolVersion: string | undefined;
  readonly #source: HeaderSource;
  /** Those of the user, checked. Empty for a function, which `Endpoint.send()` calls for every request. */
  #own: Readonly<Fields> | undefined;

  constructor(source: HeaderSource) {
    this.#source = source;
  }

  /** For a POST. `initialize` starts a session, so it has no session id. */
  forMessage(message: JSONRPCMessage, given?: Readonly<Fields>): Fields {
    const method = "method" in message && "id" in message ? message.method : undefined;
    const fields = this.#fields("application/json, text/event-stream");
    fields["content-type"] = "application/json";
    if (method === "initialize") delete fields["mcp-session-id"];
    const version = method === undefined ? undefined : ownVersion(message);
    // Servers of stateless revisions compare these headers with the message.
    if (method !== undefined && version !== undefined) {
      fields["mcp-protocol-version"] = version;
      fields["mcp-method"] = method;
      const source = NAMED_BY.get(method);
      const name = source === undefined ? undefined : (message as { params: Params }).params[source];
      if (typeof name === "string") fields["mcp-name"] = encodeHeaderText(name);
    }
    return given === undefined ? fields : { ...fields, ...givenFields(given) };
  }

  /** For a GET, optionally resuming after an event. */
  forStream(lastEventId?: string): Fields {
    const fields = this.#fields("text/event-stream");
    if (lastEventId !== undefined) fields["last-event-id"] = lastEventId;
    return fields;
  }

  forEnd(): Fields {
    const { accept: _, ...fields } = this.forStream();
    return fields;
  }

  #fields(accept: string): Fields {
    const source = this.#source;
    this.#own ??= typeof source === "function" ? {} : allowedFields(source.reveal());
    const fields: Fields = { ...this.#own, accept, "accept-encoding": "identity" };
    if (this.sessionId !== undefined) fields["mcp-session-id"] = this.sessionId;
    if (this.protocolVersion !== undefined) fields["mcp-protocol-version"] = this.protocolVersion;
    return fields;
  }
}

/** The headers that the caller sets for this message. `Endpoint` adds the credentials. */
function givenFields(given: Readonly<Fields>): Fields {
  const { authorization: _, dpop: __, ...allowed } = allowedFields(given);
  return allowed;
}

/** The `authorization` header that the caller sets for this message. */
export function ownAuthorization(given: Readonly<Fields>): string | undefined {
  return Object.entries(given).find(([name]) => name.toLowerCase() === "authorization")?.[1];
}

const NAME = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/;
const VALUE = /^[\t\x20-\x7e\x80-\xff]*$/;

/** The current headers, not yet checked. A function is called each time. Returns no promise if they are known at once. */
export function revealHeaders(source: HeaderSource): Readonly<Fields> | Promise<Readonly<Fields>> {
  if (typeof source !== "function") return source.reveal();
  const given = source();
  return given instanceof Promise ? given.then((found) => found ?? {}, failed) : given;
}

function failed(cause: unknown): never {
  if (ToolportError.isInstance(cause)) throw cause;
  throw new ConfigError({
    code: "INVALID_CONFIG",
    what: "The `headers` function of the server failed",
    retryable: true,
    cause,
  });
}

/** Throws, without showing the value, if a header cannot be sent: a line break would split it into two. */
export function checkHeader(name: string, value: unknown): asserts value is string {
  const isName = NAME.test(name);
  if (isName && typeof value === "string" && VALUE.test(value)) return;
  const path = `headers.${isName ? name : "?"}`;
  throw new ConfigError({ code: "INVALID_CONFIG", issues: [{ path, message: problemOf(isName, value) }] });
}

/** Names only the character that cannot be sent: the rest of the value may be a secret. */
function problemOf(isName: boolean, value: unknown): string {
  if (!isName) return "is not a valid name of an HTTP header";
  if (typeof value !== "string") return "must be a string (its value is not shown)";
  const characters = [...value];
  const position = characters.findIndex((character) => !VALUE.test(character));
  const character = characters[position]!;
  const code = character.codePointAt(0)!;
  const shown = code > 0xa0 && /^[\p{L}\p{N}\p{P}\p{S}]$/u.test(character) ? ` (${character})` : "";
  const name = `U+${code.toString(16).toUpperCase().padStart(4, "0")}${shown}`;
  const hint = character === "…" ? "; put the real value in its place" : "";
  return `has ${name} at character ${position + 1}, which an HTTP header cannot contain${hint}`;
}

/** Headers that the transport sets; a configured value would contradict the message. */
const OWNED: ReadonlySet<string> = new Set([
  "accept",
  "accept-encoding",
  "connection",
  "content-length",
  "content-type",
  "last-event-id",
  "mcp-method",
  "mcp-name",
  "mcp-protocol-version",
  "mcp-session-id",
  "transfer-encoding",
]);

/** Adds the configured headers to those of the transport, which take precedence (also `authorization` of a provider). */
export function withUserHeaders(
  own: Readonly<Fields>,
  source: HeaderSource,
): Readonly<Fields> | Promise<Readonly<Fields>> {
  const given = revealHeaders(source);
  return given instanceof Promise ? given.then((found) => merge(found, own)) : merge(given, own);
}

function merge(given: Readonly<Fields>, own: Readonly<Fields>): Readonly<Fields> {
  for (const _ in given) return { ...allowedFields(given), ...own };
  return own;
}

/** The headers that a user may set, with lower-case names. */
function allowedFields(given: Readonly<Fields>): Fields {
  const fields: Fields = {};
  for (const [name, value] of Object.entries(given)) {
    checkHeader(name, value);
    const key = name.toLowerCase();
    if (!OWNED.has(key)) fields[key] = value;
  }
  return fields;
}

/** A request without a response. */
export interface OpenRequest extends Slotted {
  readonly id: RequestId;
  /** Sent with a stateless revision: a broken stream cannot be resumed. */
  readonly modern: boolean;
  readonly options: ServerSendOptions | undefined;
  /** The current exchange; replaced by a resume. */
  exchange: Exchange;
  /** No caller waits any more: the request was answered, failed or was given up. */
  settled: boolean;
  /** The exchange is over; the response can only arrive through a resume. */
  streamEnded: boolean;
  /** The last event id of the stream. */
  token?: string | undefined;
  /** Why the stream broke. */
  cause?: unknown;
  /** Stops listening to the caller's signal. */
  release?: (() => void) | undefined;
}

type NewRequest = Pick<OpenRequest, "id" | "modern" | "options" | "exchange">;

/** Whether the event id can be sent in a header. */
const isHeaderSafe = (token: string): boolean => /^[\t\x20-\x7e\x80-\xff]*$/.test(token);

/** Whether the rest of the response can be requested. */
export const isResumable = ({ modern, token }: OpenRequest): boolean =>
  !modern && token !== undefined && isHeaderSafe(token);

/**
 * Uses a `SlotList` and not a `Map`: with high churn, entries of a Map survive minor GCs. Nearly every response arrives in
 * the exchange of its request, so a search by id is rare.
 */
export class OpenRequests {
  readonly #open = new SlotList<OpenRequest>();
  readonly #onCut: (id: RequestId, error: ConnectionError) => void;

  constructor(onCut: (id: RequestId, error: ConnectionError) => void) {
    this.#onCut = onCut;
  }

  add({ id, modern, options, exchange }: NewRequest): OpenRequest {
    const own: OpenRequest = { id, modern, options, exchange, slot: -1, settled: false, streamEnded: false };
    this.#open.add(own);
    const signal = own.options?.requestSignal;
    if (signal !== undefined) {
      const giveUp = () => this.#giveUp(own, signal.reason);
      if (signal.aborted) giveUp();
      else own.release = onSharedAbort(signal, giveUp);
    }
    return own;
  }

  /** Marks the request as done: nothing more is reported for it. */
  settle(own: OpenRequest): void {
    if (own.settled) return;
    own.settled = true;
    this.#open.delete(own);
    // While the stream is open, the caller's signal still has to end it.
    if (own.streamEnded) own.release?.();
  }

  /** Marks the exchange as over. */
  ended(own: OpenRequest): void {
    own.streamEnded = true;
    if (own.settled) own.release?.();
  }

  /** The caller gave up; `reason` aborts the exchange. True if the request was never sent. */
  abandon(id: RequestId, reason: unknown): boolean {
    const own = this.find(id);
    return own !== undefined && this.#giveUp(own, reason);
  }

  /** Reports once that the response will not arrive. */
  cut(own: OpenRequest, error?: ConnectionError): void {
    if (own.settled) return;
    this.settle(own);
    own.options?.onRequestStreamEnd?.();
    this.#onCut(own.id, error ?? streamCut(own.cause));
  }

  /** Whether a caller waits for the rest of a response. */
  get isWaiting(): boolean {
    return this.#open.find(({ streamEnded }) => streamEnded) !== undefined;
  }

  clear(): void {
    for (const own of this.#open.toArray()) this.settle(own);
  }

  find(id: RequestId): OpenRequest | undefined {
    return this.#open.find((own) => own.id === id);
  }

  #giveUp(own: OpenRequest, reason: unknown): boolean {
    // A resumed exchange was not sent yet, but its original request was.
    const isFirst = !own.streamEnded && own.token === undefined;
    this.settle(own);
    own.release?.();
    own.exchange.abort(reason);
    return isFirst && !own.exchange.isSent;
  }
}

export function streamCut(cause?: unknown): ConnectionError {
  return new ConnectionError({
    code: "STREAM_CUT",
    what: "The server's event stream ended before the response",
    next: "Call again if the call may run twice",
    retryable: true,
    outcome: "unknown",
    cause,
  });
}

export interface EndpointContext {
  readonly endpoint: Endpoint;
  readonly messageHeaders: MessageHeaders;
  readonly requests: OpenRequests;
  readonly maxMessageBytes: number;
  /** Redacts secrets in text from the server. Call it before shortening the text: half a secret is still a secret. */
  readonly redact: Redact;
  /** Called for every message; `own` is the request in whose response it arrived. Never throws. */
  readonly onMessage: (message: JSONRPCMessage, own?: OpenRequest) => void;
  /** Called for errors that concern no request. */
  readonly onError: (error: Error) => void;
  readonly onDiscard: Discard;
  readonly onStream: (state: StreamState) => void;
  readonly onSessionLost: (error: ConnectionError) => void;
}
