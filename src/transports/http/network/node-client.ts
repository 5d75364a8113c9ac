/** The network client on Node: one client with pooled sockets for all servers of a port. */
import {
  type ClientRequest,
  request as httpRequest,
  type IncomingHttpHeaders,
  type IncomingMessage,
  type RequestOptions,
} from "node:http";
import type { LookupFunction, Socket } from "node:net";
import type { Duplex } from "node:stream";
import type { ProxyOption } from "../../../config/server-entry.js";
import { ConnectionError } from "../../../errors/connection-error.js";
import { onSharedAbort } from "../../../util/shared-abort.js";
import { USER_AGENT } from "../../user-agent.js";
import { toResponse, toWireRequest } from "./fetch-response.js";
import { clientClosed, connectTimedOut, toNetworkError } from "./http-errors.js";
import type { TunnelRequest } from "./proxy/open-tunnel.js";
import { mayNeedProxy } from "./proxy/proxy-option.js";
import type { ProxyRoutes } from "./proxy/proxy-routes.js";
import type { ProxyServer } from "./proxy/proxy-server.js";
import { noteKeepAlive, OriginSlots, type Pool, SocketPools } from "./socket-pools.js";
import {
  type BodySink,
  NO_RESPONSE,
  type ResponseBody,
  type ResponseHeaders,
  type WireClient,
  type WireRequest,
  type WireResponse,
} from "./wire-client.js";

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

/** A request, where it goes, and the sockets that it may use. */
interface RoutedRequest {
  readonly request: WireRequest;
  readonly target: Target;
  /** The proxy that it is sent through. */
  readonly via: ProxyServer | undefined;
  readonly pool: Pool;
}

/**
 * Creates a pooled network client. Its `fetch` never follows redirects. It has no timeout for responses: an MCP call may
 * run for minutes, and its deadline comes with its `AbortSignal`.
 */
export function createHttpClient(options: HttpClientOptions = {}): WireClient {
  return new NodeClient(options);
}

class NodeClient implements WireClient {
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

  closeIdle(): boolean {
    return this.#pools.closeAllIdle();
  }

  async close(): Promise<void> {
    this.#closed = true;
    await this.#pools.destroy();
  }

  /** Sends one request: finds its way, waits for a socket, and resolves with the headers of the response. */
  async open(request: WireRequest): Promise<WireResponse> {
    const { url, signal, background, isControl, checkAddress } = request;
    if (this.#closed) throw clientClosed(true);
    const target = targetOf(url);
    const via = this.#routes && (await this.#routes())(url);
    const pool = await this.#poolFor(request, target, via);
    signal?.throwIfAborted();
    const isSingle = checkAddress !== undefined;
    // Single requests belong to a login: there are few of them, and calls wait for them.
    const slots = background || isControl || isSingle ? undefined : this.#slots;
    await slots?.take(target.origin, signal);
    const release = () => {
      slots?.release(target.origin);
      if (isSingle) this.#pools.discard(pool);
    };
    if (this.#closed || signal?.aborted) {
      release();
      throw signal?.aborted ? signal.reason : clientClosed(true);
    }
    return this.#send({ request, target, via, pool }, release);
  }

  async #poolFor(
    { checkAddress, background }: WireRequest,
    { isSecure, hostname }: Target,
    via: ProxyServer | undefined,
  ): Promise<Pool> {
    if (checkAddress === undefined) {
      if (this.#usedAt !== 0 && performance.now() - this.#usedAt > IDLE_MS) await this.#polled();
      return this.#pools.open(isSecure, { purpose: background ? "background" : "kept", via });
    }
    // Use a separate socket: a pooled one may have been opened without this address check.
    const { checkedLookup, checkTarget } = await import("./checked-lookup.js");
    if (via !== undefined) await checkTarget(hostname, checkAddress, this.#lookup);
    const lookup = via === undefined ? checkedLookup(checkAddress, this.#lookup) : undefined;
    return this.#pools.open(isSecure, { purpose: "single", lookup, via });
  }

  /** Requests that begin meanwhile wait together. Those that follow closely need not wait again. */
  #polled(): Promise<void> {
    this.#polling ??= noticeClosedSockets().then(() => {
      this.#polling = undefined;
      this.#usedAt = performance.now();
    });
    return this.#polling;
  }

  /**
   * Sends the request on a socket of its pool.
   *
   * @param onClosed called once, when the socket is closed or free
   */
  #send(routed: RoutedRequest, onClosed: () => void): Promise<WireResponse> {
    const { signal, body, sendAfter, onSent, background } = routed.request;
    const { target, via } = routed;
    return new Promise((resolve, reject) => {
      let isOver = false;
      /** The idle mark when the socket was open. From then on it is unknown what the server has read. */
      let sentAtMark: number | undefined;
      let responseBody: IncomingBody | undefined;
      let stopTunnel: (() => void) | undefined;
      const onTunnelOpening = (giveUp: () => void) => {
        if (isOver) giveUp();
        else stopTunnel = giveUp;
      };
      let outgoing: ClientRequest;
      try {
        outgoing = httpRequest({ ...optionsOf(routed), ...(via !== undefined && { onTunnelOpening }) });
      } catch (error) {
        // For example a header that cannot be sent.
        onClosed();
        return reject(this.#toError(routed, error, false));
      }
      const onOver = () => {
        isOver = true;
        // All requests of a connection may share this signal.
        stopListening?.();
        stopTunnel?.();
      };
      const fail = (error: unknown) => {
        onOver();
        if (responseBody === undefined) reject(error);
        else responseBody.fail(error);
      };
      /** A request on a kept-alive socket failed: the socket may have been dead before. */
      const suspectSocket = () => {
        if (sentAtMark !== undefined && responseBody === undefined && outgoing.reusedSocket)
          this.#pools.closeIdle(peerOf(routed), sentAtMark);
      };
      const onError = (error: unknown) => {
        if (isOver) return;
        suspectSocket();
        fail(this.#toError(routed, error, sentAtMark !== undefined));
      };
      const onAbort = () => {
        if (isOver) return;
        if (signal?.reason === NO_RESPONSE) suspectSocket();
        fail(signal?.reason);
        outgoing.destroy();
      };
      const stopListening = signal ? onSharedAbort(signal, onAbort) : undefined;
      const onOpen = () => {
        if (isOver) return;
        sentAtMark = this.#pools.idleMark;
        onSent?.();
      };
      outgoing.on("error", onError);
      outgoing.on("upgrade", onUpgrade);
      outgoing.on("close", onClosed);
      outgoing.on("socket", (socket) => {
        if (isOpen(socket)) onOpen();
        else this.#awaitOpening(outgoing, socket, { target, onOpen });
      });
      outgoing.on("response", (incoming) => {
        // Already aborted: an unread response would hold its socket forever.
        if (isOver) return void incoming.resume();
        const refusal = refusalOf(routed, incoming);
        if (refusal !== undefined) return void outgoing.destroy(refusal);
        const hint = incoming.headers["keep-alive"];
        if (hint !== undefined) noteKeepAlive(incoming.socket, hint as string);
        // Background streams have their own sockets, so they say nothing about the others.
        if (!background) this.#usedAt = performance.now();
        incoming.on("error", onError);
        responseBody = new IncomingBody(outgoing, incoming, onOver);
        resolve(toWireResponse(incoming, responseBody));
      });
      if (sendAfter === undefined) outgoing.end(body);
      else void sendAfter.then(() => outgoing.end(body));
    });
  }

  /** Destroys a request whose socket does not open in time. */
  #awaitOpening(
    outgoing: ClientRequest,
    socket: Socket,
    { target: { host, protocol }, onOpen }: { readonly target: Target; readonly onOpen: () => void },
  ): void {
    const giveUp = () => outgoing.destroy(connectTimedOut(host, this.#connectTimeoutMs));
    const timer = setTimeout(giveUp, this.#connectTimeoutMs);
    socket.once("close", () => clearTimeout(timer));
    socket.once(protocol === "https:" ? "secureConnect" : "connect", () => {
      clearTimeout(timer);
      onOpen();
    });
  }

  /** @param sent a byte of the request may have been sent */
  #toError({ target, via }: RoutedRequest, error: unknown, sent: boolean): unknown {
    if (this.#closed) return clientClosed(!sent, error);
    const { host, isSecure } = target;
    // Plain HTTP uses a socket to the proxy: if that does not open, the proxy is the cause.
    if (via !== undefined && !isSecure && !sent) return via.unreachable(error);
    return toNetworkError(error, {
      host: via === undefined ? host : `${host} (through the proxy ${via.host})`,
      sent,
    });
  }
}

/** The body of a response of Node. */
class IncomingBody implements ResponseBody {
  readonly #outgoing: ClientRequest;
  readonly #incoming: IncomingMessage;
  readonly #onOver: () => void;
  #sink: BodySink | undefined;
  #isOver = false;
  /** The error that broke the body before it was piped. */
  #broken: { readonly error: unknown } | undefined;

  /** @param onOver called when the body has ended or is cancelled */
  constructor(outgoing: ClientRequest, incoming: IncomingMessage, onOver: () => void) {
    this.#outgoing = outgoing;
    this.#incoming = incoming;
    this.#onOver = onOver;
  }

  pipe(sink: BodySink): void {
    if (this.#broken !== undefined) return sink.fail(this.#broken.error);
    if (this.#isOver) return;
    this.#sink = sink;
    this.#incoming.on("end", () => {
      if (this.#isOver) return;
      this.#end();
      sink.end();
    });
    // Starts the flow in a later turn.
    this.#incoming.on("data", (chunk: Uint8Array) => {
      if (this.#sink !== undefined && !this.#sink.chunk(chunk)) this.#incoming.pause();
    });
  }

  resume(): void {
    this.#incoming.resume();
  }

  cancel(): void {
    this.#sink = undefined;
    if (this.#isOver) return;
    this.#end();
    // The whole body has arrived: the socket can be reused.
    if (this.#incoming.complete) this.#incoming.resume();
    else this.#outgoing.destroy();
  }

  /** The exchange has failed. */
  fail(error: unknown): void {
    const sink = this.#sink;
    this.#sink = undefined;
    this.#isOver = true;
    if (sink === undefined) this.#broken = { error };
    else sink.fail(error);
  }

  #end(): void {
    this.#sink = undefined;
    this.#isOver = true;
    this.#onOver();
  }
}

/** Response headers over the object that Node provides (lower-case names). */
class IncomingHeaders implements ResponseHeaders {
  readonly #fields: IncomingHttpHeaders;

  constructor(fields: IncomingHttpHeaders) {
    this.#fields = fields;
  }

  get(name: string): string | null {
    const value = this.#fields[name.toLowerCase()];
    return value === undefined ? null : Array.isArray(value) ? value.join(", ") : value;
  }

  has(name: string): boolean {
    return this.#fields[name.toLowerCase()] !== undefined;
  }

  *[Symbol.iterator](): Iterator<[string, string]> {
    for (const [name, value] of Object.entries(this.#fields)) {
      if (typeof value === "string") yield [name, value];
      else for (const one of value ?? []) yield [name, one];
    }
  }
}

async function toWireResponse(incoming: IncomingMessage, body: ResponseBody): Promise<WireResponse> {
  const { statusCode: status = 0, statusMessage: statusText = "", headers } = incoming;
  const response = { status, statusText, headers: new IncomingHeaders(headers), body };
  // Requests ask for uncompressed bodies, so this is rarely needed.
  if (headers["content-encoding"] === undefined) return response;
  const { decompress } = await import("./decompress.js");
  return decompress(response);
}

/** An error for a response that does not come from the server, or belongs to another protocol. */
function refusalOf({ target, via }: RoutedRequest, { statusCode }: IncomingMessage): Error | undefined {
  if (statusCode === SWITCHING_PROTOCOLS) return switchedProtocols();
  // Only a proxy asks for proxy credentials.
  const isOfProxy = via !== undefined && statusCode === PROXY_AUTHENTICATION;
  return isOfProxy ? via.refused(target.host, statusCode) : undefined;
}

const SWITCHING_PROTOCOLS = 101;
const PROXY_AUTHENTICATION = 407;

/** Without this listener Node drops the socket silently. One function serves all requests: `this` is the request. */
function onUpgrade(this: ClientRequest, _response: IncomingMessage, socket: Duplex): void {
  socket.destroy();
  this.emit("error", switchedProtocols());
  // Node does not emit this for a request whose socket was upgraded.
  this.emit("close");
}

/** No final response follows HTTP 101: the connection then belongs to another protocol. */
function switchedProtocols(): ConnectionError {
  return new ConnectionError({
    code: "BAD_RESPONSE",
    what: "The server answered with HTTP 101 (switching protocols), which Toolport did not request",
    next: 'Check that the URL is an MCP endpoint over HTTP; for a WebSocket server set transport to "websocket"',
    status: SWITCHING_PROTOCOLS,
    outcome: "unknown",
  });
}

/** Plain HTTP goes to the proxy with the absolute URL; TLS goes through a tunnel that the pool opens. */
function optionsOf({ request, target, via, pool }: RoutedRequest): RequestOptions & TunnelRequest {
  const { method, headers: given } = request;
  const { host, path } = target;
  const headers = { host, "user-agent": USER_AGENT, "accept-encoding": "identity", ...given };
  if (via === undefined || target.isSecure) {
    const { hostname, port, protocol } = target;
    return { agent: pool, method, hostname, port, protocol, path, headers };
  }
  const { hostname, port, protocol, authorization } = via;
  const proxied =
    authorization === undefined ? headers : { ...headers, "proxy-authorization": authorization };
  return { agent: pool, method, hostname, port, protocol, path: `http://${host}${path}`, headers: proxied };
}

/** The other end of the socket. */
const peerOf = ({ target, via }: RoutedRequest): { hostname: string; port: number } =>
  via === undefined || target.isSecure
    ? { hostname: target.hostname, port: Number(target.port) || (target.isSecure ? 443 : 80) }
    : via;

/** Whether bytes can be written now, which requires the TLS handshake to be done. */
const isOpen = (socket: Socket): boolean =>
  !socket.connecting && (socket as Socket & { secureConnecting?: boolean }).secureConnecting !== true;

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

type Target = ReturnType<typeof targetOf>;

/** The parts of a URL that `node:http` needs. */
function targetOf({ host, hostname, port, protocol, pathname, search }: URL) {
  return {
    host,
    // `node:http` expects IPv6 addresses without brackets.
    hostname: hostname.startsWith("[") ? hostname.slice(1, -1) : hostname,
    port,
    path: pathname + search,
    protocol,
    isSecure: protocol === "https:",
    origin: `${protocol}//${host}`,
  };
}
