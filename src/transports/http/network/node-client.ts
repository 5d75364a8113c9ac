/** The network client on Node: one client with pooled sockets for all servers of a port. */
import {
  type ClientRequest,
  request as httpRequest,
  type IncomingMessage,
  type RequestOptions,
} from "node:http";
import type { LookupFunction, Socket } from "node:net";
import type { ProxyOption } from "../../../config/server-entry.js";
import { USER_AGENT } from "../../user-agent.js";
import { toResponse, toWireRequest } from "./fetch-response.js";
import { clientClosed, connectTimedOut, toNetworkError } from "./http-errors.js";
import { type ExchangeOwner, NodeExchange } from "./node-exchange.js";
import type { TunnelRequest } from "./proxy/open-tunnel.js";
import { mayNeedProxy } from "./proxy/proxy-option.js";
import type { ProxyRoutes } from "./proxy/proxy-routes.js";
import type { ProxyServer } from "./proxy/proxy-server.js";
import { noteKeepAlive, OriginSlots, type Pool, SocketPools } from "./socket-pools.js";
import type { WireClient, WireRequest, WireResponse } from "./wire-client.js";

export interface HttpClientOptions {
  /** Timeout for opening a connection, including TLS. @default 10000 */
  connectTimeoutMs?: number;
  /** How long an idle connection is kept if the server does not set a time. @default 4000 */
  keepAliveMs?: number;
  /** Resolves host names. @default the system's resolver */
  lookup?: LookupFunction;
  /** Which proxy to use. The environment is read once, when the client is created. @default "env" */
  proxy?: ProxyOption;
  /** Maximum number of sockets for requests to one origin. @default 256 */
  maxSockets?: number;
}

/** Default of `maxSockets`. */
const DEFAULT_MAX_SOCKETS = 256;

/** A request and the proxy it is sent through. */
interface RoutedRequest extends WireRequest {
  readonly via?: ProxyServer | undefined;
}

/**
 * Creates a pooled network client. Its `fetch` never follows redirects. It has no timeout for responses: an MCP call may
 * run for minutes, and its deadline comes with its `AbortSignal`.
 */
export function createHttpClient(options: HttpClientOptions = {}): WireClient {
  return new NodeClient(options);
}

class NodeClient implements WireClient, ExchangeOwner {
  readonly #lookup: LookupFunction | undefined;
  readonly #connectTimeoutMs: number;
  readonly #pools: SocketPools;
  readonly #slots: OriginSlots | undefined;
  /** Undefined if no proxy is set. */
  readonly #routes: (() => Promise<ProxyRoutes>) | undefined;
  #closed = false;
  /** When a response arrived last, or the sockets were polled for a request. */
  #usedAt = 0;
  #polling: Promise<void> | undefined;

  constructor({
    connectTimeoutMs = 10_000,
    keepAliveMs = 4_000,
    lookup,
    proxy = "env",
    maxSockets = DEFAULT_MAX_SOCKETS,
  }: HttpClientOptions) {
    this.#connectTimeoutMs = connectTimeoutMs;
    this.#lookup = lookup;
    this.#pools = new SocketPools({ keepAliveMs, lookup, connectTimeoutMs });
    this.#slots = Number.isFinite(maxSockets) ? new OriginSlots(maxSockets) : undefined;
    this.#routes = mayNeedProxy(proxy) ? loadRoutes(proxy) : undefined;
  }

  readonly fetch: typeof globalThis.fetch = async (input, init) =>
    toResponse(await this.open(await toWireRequest(input, init)));

  open(request: WireRequest): Promise<WireResponse> {
    return this.#routes === undefined ? this.#openDirect(request) : this.#openByRoute(request, this.#routes);
  }

  async #openByRoute(request: WireRequest, routes: () => Promise<ProxyRoutes>): Promise<WireResponse> {
    const via = (await routes())(request.url);
    if (via === undefined) return this.#openDirect(request);
    const { checkAddress, background, url } = request;
    if (checkAddress !== undefined) {
      const { checkTarget } = await import("./checked-lookup.js");
      await checkTarget(partsOf(url).hostname, checkAddress, this.#lookup);
    }
    this.#throwIfClosed();
    const purpose = checkAddress === undefined ? (background ? "background" : "kept") : "single";
    const pool = await this.#pools.open(partsOf(url).isSecure, { purpose, via });
    this.#throwIfClosed();
    const discard = () => this.#pools.discard(pool);
    return this.#exchange(pool, { ...request, via }, purpose === "single" ? discard : undefined);
  }

  #openDirect(request: WireRequest): Promise<WireResponse> {
    const isUsual = request.checkAddress === undefined && !request.background;
    const pool = isUsual ? this.#pools.ready(partsOf(request.url).isSecure) : undefined;
    if (pool === undefined || performance.now() - this.#usedAt > IDLE_MS) return this.#openLater(request);
    return this.#exchange(pool, request);
  }

  async close(): Promise<void> {
    this.#closed = true;
    await this.#pools.destroy();
  }

  async #openLater(request: WireRequest): Promise<WireResponse> {
    this.#throwIfClosed();
    const { checkAddress, background } = request;
    const { isSecure } = partsOf(request.url);
    if (checkAddress === undefined) {
      if (this.#usedAt !== 0) await this.#polled();
      const pool = await this.#pools.open(isSecure, { purpose: background ? "background" : "kept" });
      this.#throwIfClosed();
      return this.#exchange(pool, request);
    }
    // Use a separate socket: a pooled one may have been opened without this address check.
    const { checkedLookup } = await import("./checked-lookup.js");
    const lookup = checkedLookup(checkAddress, this.#lookup);
    const pool = await this.#pools.open(isSecure, { purpose: "single", lookup });
    this.#throwIfClosed();
    return this.#exchange(pool, request, () => this.#pools.discard(pool));
  }

  /** Requests that begin meanwhile wait together. Those that follow closely need not wait again. */
  #polled(): Promise<void> {
    this.#polling ??= noticeClosedSockets().then(() => {
      this.#polling = undefined;
      this.#usedAt = performance.now();
    });
    return this.#polling;
  }

  get idleMark(): number {
    return this.#pools.idleMark;
  }

  onResponse({ background, url, via }: RoutedRequest, response: IncomingMessage): Error | undefined {
    const { headers, socket, statusCode } = response;
    // Only a proxy asks for proxy credentials.
    if (via !== undefined && statusCode === PROXY_AUTHENTICATION)
      return via.refused(partsOf(url).host, statusCode);
    const hint = headers["keep-alive"];
    if (hint !== undefined) noteKeepAlive(socket, hint as string);
    // Background streams have their own sockets, so they say nothing about the others.
    if (!background) this.#usedAt = performance.now();
    return undefined;
  }

  toError({ url, via }: RoutedRequest, error: unknown, sent: boolean): unknown {
    if (this.#closed) return clientClosed(!sent, error);
    const { host, isSecure } = partsOf(url);
    // Plain HTTP uses a socket to the proxy: if that does not open, the proxy is the cause.
    if (via !== undefined && !isSecure && !sent) return via.unreachable(error);
    return toNetworkError(error, {
      host: via === undefined ? host : `${host} (through the proxy ${via.host})`,
      sent,
    });
  }

  onDeadSocket({ url, via }: RoutedRequest, mark: number): void {
    const { hostname, port, isSecure } = partsOf(url);
    const peer =
      via === undefined || isSecure ? { hostname, port: Number(port) || (isSecure ? 443 : 80) } : via;
    this.#pools.closeIdle(peer, mark);
  }

  onReleased({ url }: WireRequest): void {
    this.#slots?.release(partsOf(url).origin);
  }

  #throwIfClosed(): void {
    if (this.#closed) throw clientClosed(true);
  }

  #exchange(pool: Pool, request: RoutedRequest, onDone?: () => void): Promise<WireResponse> {
    const exchange = new NodeExchange(request, this, onDone);
    if (exchange.done) return exchange.response;
    const { background, isControl } = request;
    // Single requests (`onDone`) belong to a login: there are few of them, and calls wait for them.
    const slots = background || isControl || onDone !== undefined ? undefined : this.#slots;
    if (slots === undefined) this.#begin(pool, request, exchange);
    else this.#beginInSlot(slots, { pool, request, exchange });
    return exchange.response;
  }

  #beginInSlot(
    slots: OriginSlots,
    { pool, request, exchange }: { pool: Pool; request: RoutedRequest; exchange: NodeExchange },
  ): void {
    const { origin } = partsOf(request.url);
    if (slots.take(origin)) {
      exchange.holdSlot();
      return this.#begin(pool, request, exchange);
    }
    const start = () => {
      if (exchange.done) return slots.release(origin);
      exchange.holdSlot();
      if (this.#closed) exchange.fail(clientClosed(true));
      else this.#begin(pool, request, exchange);
    };
    exchange.prepare(slots.wait(origin, start));
  }

  #begin(pool: Pool, request: RoutedRequest, exchange: NodeExchange): void {
    try {
      this.#send(pool, request, exchange);
    } catch (error) {
      // For example a header that cannot be sent.
      exchange.fail(error);
    }
  }

  #send(agent: Pool, wanted: RoutedRequest, exchange: NodeExchange): void {
    const { url, method, headers, body, via, sendAfter } = wanted;
    const parts = partsOf(url);
    const fields = toFields(headers, parts.host);
    if (body !== undefined) fields.push("content-length", String(Buffer.byteLength(body)));
    else if (method === "POST" || method === "PUT") fields.push("content-length", "0");
    // Plain HTTP goes to the proxy with the absolute URL; TLS goes through a tunnel that the pool opens.
    const isForwarded = via !== undefined && !parts.isSecure;
    if (isForwarded && via.authorization !== undefined) fields.push("proxy-authorization", via.authorization);
    const { hostname, port, protocol } = isForwarded ? via : parts;
    const path = isForwarded ? `http://${parts.host}${parts.path}` : parts.path;
    const options: RequestOptions & TunnelRequest = {
      agent,
      protocol,
      hostname,
      port,
      path,
      method,
      headers: fields,
      onTunnelOpening: via === undefined ? undefined : exchange.prepare,
    };
    const request = httpRequest(options);
    exchange.watch(request);
    request.on("socket", (socket) => {
      if (isOpen(socket)) exchange.sent();
      else this.#awaitOpening(socket, { request, exchange, host: parts.host, protocol });
    });
    if (sendAfter === undefined) request.end(body);
    else void sendAfter.then(() => request.end(body));
  }

  #awaitOpening(
    socket: Socket,
    {
      request,
      exchange,
      host,
      protocol,
    }: { request: ClientRequest; exchange: NodeExchange; host: string; protocol: string },
  ): void {
    const giveUp = () => request.destroy(connectTimedOut(host, this.#connectTimeoutMs));
    const timer = setTimeout(giveUp, this.#connectTimeoutMs);
    const opened = protocol === "https:" ? "secureConnect" : "connect";
    const onOpen = () => {
      clearTimeout(timer);
      exchange.sent();
    };
    socket.once(opened, onOpen);
    socket.once("close", () => clearTimeout(timer));
  }
}

/** Whether bytes can be written now, which requires the TLS handshake to be done. */
const isOpen = (socket: Socket): boolean =>
  !socket.connecting && (socket as Socket & { secureConnecting?: boolean }).secureConnecting !== true;

const PROXY_AUTHENTICATION = 407;

/** Loads the proxy routes with the first request. */
function loadRoutes(proxy: ProxyOption): () => Promise<ProxyRoutes> {
  let routes: Promise<ProxyRoutes> | undefined;
  const load = async () => (await import("./proxy/proxy-routes.js")).createProxyRoutes(proxy);
  return () => {
    routes ??= load();
    return routes;
  };
}

/** Longer than the time between two consecutive calls. */
const IDLE_MS = 0.2;

/**
 * If the server closed its sockets while the client was idle, Node notices it only when the event loop polls them. Without
 * this wait the request would be written to a dead socket, and it would be unknown whether the server read it.
 */
async function noticeClosedSockets(): Promise<void> {
  // Twice: the first `setImmediate` may run before the event loop polls its sockets.
  for (let turn = 0; turn < 2; turn += 1) await new Promise((resolve) => setImmediate(resolve));
}

/** Names and values in turn, the form that Node accepts without further processing. */
function toFields(headers: WireRequest["headers"], host: string): string[] {
  const fields = ["host", host];
  let hasEncoding = false;
  let hasAgent = false;
  for (const name in headers) {
    if (name === "accept-encoding") hasEncoding = true;
    else if (name === "user-agent") hasAgent = true;
    fields.push(name, headers[name]!);
  }
  if (!hasAgent) fields.push("user-agent", USER_AGENT);
  if (!hasEncoding) fields.push("accept-encoding", "identity");
  return fields;
}

interface UrlParts {
  readonly host: string;
  readonly hostname: string;
  readonly port: string;
  readonly path: string;
  readonly protocol: string;
  readonly isSecure: boolean;
  readonly origin: string;
}

/** Splitting a URL is the most expensive step of a request, and nearly all requests go to the same few URLs. */
const known = new WeakMap<URL, UrlParts>();

function partsOf(url: URL): UrlParts {
  let parts = known.get(url);
  if (parts === undefined) {
    const { host, hostname, port, protocol, pathname, search } = url;
    parts = {
      host,
      // `node:http` expects IPv6 addresses without brackets.
      hostname: hostname.startsWith("[") ? hostname.slice(1, -1) : hostname,
      port,
      path: pathname + search,
      protocol,
      isSecure: protocol === "https:",
      origin: `${protocol}//${host}`,
    };
    known.set(url, parts);
  }
  return parts;
}
