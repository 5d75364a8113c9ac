/** The network client on Node: one client with pooled sockets for all servers of a port. */
import {
  type AgentOptions,
  type ClientRequest,
  Agent as HttpAgent,
  request as httpRequest,
  type IncomingHttpHeaders,
  type IncomingMessage,
  type RequestOptions,
} from "node:http";
import type { Agent as HttpsAgent } from "node:https";
import type { LookupFunction, Socket } from "node:net";
import type { Duplex } from "node:stream";
import { setImmediate as nextTurn } from "node:timers/promises";
import {
  type AbortSource,
  ConnectionError,
  getOrMake,
  oncePerObject,
  onSharedAbort,
  USER_AGENT,
} from "@toolport/base";
import { clientClosed, connectTimedOut, toNetworkError } from "./http-errors.js";
import { mayNeedProxy, type ProxyOption } from "./proxy/proxy-option.js";
import type { PendingTunnels, ProxyRoutes, ProxyServer, TunnelRequest } from "./proxy/proxy-routes.js";
import {
  type BodySink,
  NO_RESPONSE,
  type ResponseBody,
  type ResponseHeaders,
  toResponse,
  toWireRequest,
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
      // Requests that begin meanwhile wait together.
      if (this.#usedAt !== 0 && performance.now() - this.#usedAt > IDLE_MS) {
        this.#polling ??= this.#poll();
        await this.#polling;
      }
      return this.#pools.open(isSecure, { purpose: background ? "background" : "kept", via });
    }
    // Use a separate socket: a pooled one may have been opened without this address check.
    const { checkedLookup, checkTarget } = await import("./checked-lookup.js");
    if (via !== undefined) await checkTarget(hostname, checkAddress, this.#lookup);
    const lookup = via === undefined ? checkedLookup(checkAddress, this.#lookup) : undefined;
    return this.#pools.open(isSecure, { purpose: "single", lookup, via });
  }

  /**
   * If the server closed its sockets while the client was idle, Node notices it only when the event loop polls them. Without
   * this wait the request would be written to a dead socket, and it would be unknown whether the server read it.
   */
  async #poll(): Promise<void> {
    // Twice: the first one may run before the event loop polls its sockets.
    await nextTurn();
    await nextTurn();
    this.#polling = undefined;
    // Requests that follow closely need not wait again.
    this.#usedAt = performance.now();
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
      outgoing.on("socket", (socket) => this.#whenOpen(outgoing, socket, { target, onOpen }));
      outgoing.on("response", (incoming) => {
        // Already aborted: an unread response would hold its socket forever.
        if (isOver) return void incoming.resume();
        const { statusCode } = incoming;
        if (statusCode === SWITCHING_PROTOCOLS) return void outgoing.destroy(switchedProtocols());
        // Only a proxy asks for proxy credentials.
        if (via !== undefined && statusCode === PROXY_AUTHENTICATION)
          return void outgoing.destroy(via.refused(target.host, statusCode));
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

  /** Calls `onOpen` when bytes can be written. Destroys a request whose socket does not open in time. */
  #whenOpen(
    outgoing: ClientRequest,
    socket: Socket,
    { target: { host, protocol }, onOpen }: { readonly target: Target; readonly onOpen: () => void },
  ): void {
    // A TLS socket is open after its handshake.
    const { secureConnecting } = socket as Socket & { secureConnecting?: boolean };
    if (!socket.connecting && secureConnecting !== true) return onOpen();
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
  #sink: BodySink | undefined;
  #isOver = false;
  /** The error that broke the body before it was piped. */
  #broken: { readonly error: unknown } | undefined;

  /** @param onOver called when the body has ended or is cancelled */
  constructor(
    private readonly outgoing: ClientRequest,
    private readonly incoming: IncomingMessage,
    private readonly onOver: () => void,
  ) {}

  pipe(sink: BodySink): void {
    if (this.#broken !== undefined) return sink.fail(this.#broken.error);
    if (this.#isOver) return;
    this.#sink = sink;
    this.incoming.on("end", () => {
      if (this.#isOver) return;
      this.#end();
      sink.end();
    });
    // Starts the flow in a later turn.
    this.incoming.on("data", (chunk: Uint8Array) => {
      if (this.#sink !== undefined && !this.#sink.chunk(chunk)) this.incoming.pause();
    });
  }

  resume(): void {
    this.incoming.resume();
  }

  cancel(): void {
    this.#sink = undefined;
    if (this.#isOver) return;
    this.#end();
    // The whole body has arrived: the socket can be reused.
    if (this.incoming.complete) this.incoming.resume();
    else this.outgoing.destroy();
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
    this.onOver();
  }
}

/** Response headers over the object that Node provides (lower-case names). */
class IncomingHeaders implements ResponseHeaders {
  constructor(private readonly fields: IncomingHttpHeaders) {}

  get(name: string): string | null {
    const value = this.fields[name.toLowerCase()];
    return value === undefined ? null : Array.isArray(value) ? value.join(", ") : value;
  }

  has(name: string): boolean {
    return this.fields[name.toLowerCase()] !== undefined;
  }

  *[Symbol.iterator](): Iterator<[string, string]> {
    for (const [name, value] of Object.entries(this.fields)) {
      if (typeof value === "string") yield [name, value];
      else for (const one of value ?? []) yield [name, one];
    }
  }
}

function toWireResponse(incoming: IncomingMessage, body: ResponseBody): WireResponse | Promise<WireResponse> {
  const { statusCode: status = 0, statusMessage: statusText = "", headers } = incoming;
  const response = { status, statusText, headers: new IncomingHeaders(headers), body };
  // Requests ask for uncompressed bodies, so this is rarely needed.
  if (headers["content-encoding"] === undefined) return response;
  return import("./decompress.js").then(({ decompress }) => decompress(response));
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
  const { method, body } = request;
  const { host, path } = target;
  // Names and values in turn: with this, and `targetOf`, the row "echo call → HTTP" of `bench/README.md` takes 8 % less.
  const headers: string[] = [];
  const fields = { host, "user-agent": USER_AGENT, "accept-encoding": "identity", ...request.headers };
  for (const [name, value] of Object.entries(fields)) headers.push(name, value);
  // Node adds it only to headers that are an object.
  if (body !== undefined) headers.push("content-length", String(Buffer.byteLength(body)));
  else if (method === "POST" || method === "PUT") headers.push("content-length", "0");
  if (via === undefined || target.isSecure) {
    const { hostname, port, protocol } = target;
    return { agent: pool, method, hostname, port, protocol, path, headers };
  }
  const { hostname, port, protocol, authorization } = via;
  if (authorization !== undefined) headers.push("proxy-authorization", authorization);
  return { agent: pool, method, hostname, port, protocol, path: `http://${host}${path}`, headers };
}

/** The other end of the socket. */
const peerOf = ({ target, via }: RoutedRequest): { hostname: string; port: number } =>
  via === undefined || target.isSecure
    ? { hostname: target.hostname, port: Number(target.port) || (target.isSecure ? 443 : 80) }
    : via;

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

type Target = ReturnType<typeof targetOf>;

/** The parts of a URL that `node:http` needs. Nearly all requests go to the same few URLs. */
const targetOf = oncePerObject(({ host, hostname, port, protocol, pathname, search }: URL) => ({
  host,
  // `node:http` expects IPv6 addresses without brackets.
  hostname: hostname.startsWith("[") ? hostname.slice(1, -1) : hostname,
  port,
  path: pathname + search,
  protocol,
  isSecure: protocol === "https:",
  origin: `${protocol}//${host}`,
}));

/** `kept`: kept alive. `background`: for long-lived streams, does not keep the process alive. `single`: one response only. */
type Purpose = "kept" | "background" | "single";

interface PoolOptions {
  /** How long an idle socket is kept if the server does not set a time. */
  readonly keepAliveMs: number;
  readonly lookup: LookupFunction | undefined;
  /** Timeout for opening a tunnel through a proxy. */
  readonly connectTimeoutMs: number;
}

/** Which pool is needed. */
interface PoolRequest {
  readonly purpose: Purpose;
  /** For single pools only. @default that of the options */
  readonly lookup?: LookupFunction | undefined;
  /** The proxy to connect through. @default none */
  readonly via?: ProxyServer | undefined;
}

/** An idle socket is closed this long before the server closes it: a request may be in transit. */
const MARGIN_MS = 1_000;
const LONGEST_MS = 60_000;

type Pool = HttpAgent | HttpsAgent;

class SocketPools {
  readonly #pools = new Map<string, Pool | Promise<Pool>>();
  readonly #singles = new Set<Pool>();
  /** Tunnels being opened, which are in no pool yet. */
  readonly #pendingTunnels: PendingTunnels = new Map();
  /** Incremented with every socket that becomes idle: a larger mark means a later time. */
  idleMark = 0;

  constructor(private readonly options: PoolOptions) {}

  async open(isSecure: boolean, request: PoolRequest): Promise<Pool> {
    const { purpose, via } = request;
    if (purpose === "single") {
      const pool = await this.#create(isSecure, request);
      this.#singles.add(pool);
      return pool;
    }
    const key = `${purpose} ${isSecure ? "https" : "http"}${via === undefined ? "" : ` ${via.key}`}`;
    const known = this.#pools.get(key);
    if (known !== undefined) return known;
    const making = this.#create(isSecure, request);
    this.#pools.set(key, making);
    const pool = await making;
    if (this.#pools.get(key) === making) this.#pools.set(key, pool);
    return pool;
  }

  async #create(isSecure: boolean, { purpose, lookup, via }: PoolRequest): Promise<Pool> {
    const isForwarding = via !== undefined && !isSecure;
    // Proxies (tinyproxy, for example) close such sockets without notice: a call on a kept one could be lost.
    const keepAlive = purpose !== "single" && !isForwarding;
    const options = { ...agentOptions(lookup ?? this.options.lookup), keepAlive };
    // Plain HTTP is sent to the proxy itself, which may use TLS.
    const pool = await createPool(isForwarding ? via.protocol === "https:" : isSecure, options);
    if (keepAlive) this.#honourKeepAlive(pool);
    if (purpose === "background") unrefSockets(pool);
    if (via !== undefined && isSecure) {
      const { connectThrough } = await import("./proxy/proxy-routes.js");
      const { connectTimeoutMs: timeoutMs, lookup: proxyLookup } = this.options;
      const isUnref = purpose === "background";
      connectThrough(via, pool, this.#pendingTunnels, { timeoutMs, lookup: proxyLookup, isUnref });
    }
    return pool;
  }

  /**
   * Closes the sockets to a server that have been idle since `mark`. One of them was dead, and a NAT router that dropped one
   * connection has most likely dropped all.
   */
  closeIdle({ hostname, port }: { hostname: string; port: number }, mark: number): void {
    for (const pool of this.#pools.values()) {
      if (pool instanceof Promise) continue;
      // The keys of Node's pools start with host and port.
      const names = Object.keys(pool.freeSockets).filter((name) => name.startsWith(`${hostname}:${port}:`));
      for (const name of names) closeOlder(pool.freeSockets[name] as IdleSocket[], mark);
    }
  }

  /** Closes all idle sockets. True if no others are left. */
  closeAllIdle(): boolean {
    const pools = [...this.#pools.values(), ...this.#singles].filter(
      (pool): pool is Pool => !(pool instanceof Promise),
    );
    for (const { freeSockets } of pools)
      for (const idle of Object.values(freeSockets)) closeOlder(idle as IdleSocket[], this.idleMark);
    const isPending = pools.length < this.#pools.size + this.#singles.size || this.#pendingTunnels.size > 0;
    return !isPending && pools.every(({ sockets, requests }) => isEmpty(sockets) && isEmpty(requests));
  }

  /** Destroys a single pool after its response. */
  discard(pool: Pool): void {
    this.#singles.delete(pool);
    pool.destroy();
  }

  #honourKeepAlive(pool: Pool): void {
    pool.keepSocketAlive = (socket: IdleSocket) => {
      const ms = socket[KEEP_ALIVE]?.ms ?? this.options.keepAliveMs;
      if (ms <= 0) return false;
      this.idleMark += 1;
      socket[IDLE_SINCE] = this.idleMark;
      socket.unref();
      // Node applies the timeout to idle sockets only, so it can stay set while the socket is in use.
      if (socket.timeout !== ms) socket.setTimeout(ms);
      return true;
    };
  }

  /** Aborts all requests; resolves when the last socket is closed. */
  async destroy(): Promise<void> {
    const pools = [...this.#pools.values(), ...this.#singles];
    const pendingTunnels = [...this.#pendingTunnels];
    this.#pools.clear();
    this.#singles.clear();
    for (const [, dial] of pendingTunnels) dial.abort(clientClosed(true));
    await Promise.allSettled(pendingTunnels.map(([connecting]) => connecting));
    await Promise.all(
      pools.map(async (made) => {
        const pool = await made;
        const sockets = [pool.sockets, pool.freeSockets].flatMap((byHost) => Object.values(byHost).flat());
        const closed = sockets.map((socket) => socket && whenClosed(socket));
        pool.destroy();
        await Promise.all(closed);
      }),
    );
  }
}

const whenClosed = (socket: Socket): Promise<void> | undefined =>
  socket.closed ? undefined : new Promise((resolve) => socket.once("close", () => resolve()));

const agentOptions = (lookup: LookupFunction | undefined): AgentOptions & { rejectUnauthorized: true } => ({
  maxFreeSockets: Number.POSITIVE_INFINITY,
  // Explicit, so that no environment variable can turn certificate checks off.
  rejectUnauthorized: true,
  ...(lookup !== undefined && { lookup }),
});

const isEmpty = (lists: NodeJS.ReadOnlyDict<readonly unknown[]>): boolean =>
  Object.values(lists).every((list) => list === undefined || list.length === 0);

/** Loads TLS with the first server that uses it. */
async function createPool(isSecure: boolean, options: AgentOptions): Promise<Pool> {
  if (!isSecure) return new HttpAgent(options);
  const https = await import("node:https");
  return new https.Agent(options);
}

/** How long the server keeps the socket idle, from its last `keep-alive` header. */
const KEEP_ALIVE = Symbol("keep alive");
/** The idle mark at which the socket became idle. */
const IDLE_SINCE = Symbol("idle since");
interface IdleSocket extends Socket {
  [KEEP_ALIVE]?: { readonly hint: string; readonly ms: number } | undefined;
  [IDLE_SINCE]?: number;
}

/** Removes them from the list first: the pool would hand out a destroyed socket until its `close` event. */
function closeOlder(idle: IdleSocket[], mark: number): void {
  const old = idle.filter((socket) => (socket[IDLE_SINCE] ?? 0) <= mark);
  for (const socket of old) {
    idle.splice(idle.indexOf(socket), 1);
    socket.destroy();
  }
}

/** Reads the `keep-alive` header of a response (`timeout=5`). */
function noteKeepAlive(socket: IdleSocket, hint: string): void {
  if (socket[KEEP_ALIVE]?.hint === hint) return;
  const seconds = /\btimeout=(\d{1,6})/.exec(hint)?.[1];
  if (seconds === undefined) return;
  socket[KEEP_ALIVE] = { hint, ms: Math.min(Number(seconds) * 1000 - MARGIN_MS, LONGEST_MS) };
}

/** New sockets do not keep the process alive, even if Node calls `ref()` on them later. */
function unrefSockets(pool: Pool): void {
  const create = pool.createConnection;
  pool.createConnection = function (this: Pool, ...args: Parameters<typeof create>) {
    const socket = create.apply(this, args);
    if (socket) {
      const { unref } = socket as Socket;
      unref.call(socket);
      (socket as Socket).ref = () => socket as Socket;
    }
    return socket;
  } as typeof create;
}

/** Limits how many requests have a socket to one origin; the others wait in order of arrival. */
class OriginSlots {
  readonly #used = new Map<string, number>();
  readonly #waiting = new Map<string, Set<() => void>>();

  constructor(private readonly max: number) {}

  /** Takes a slot, as soon as one is free. Rejects with the reason of the signal. */
  async take(origin: string, signal?: AbortSource | null): Promise<void> {
    const used = this.#used.get(origin) ?? 0;
    if (used < this.max) return void this.#used.set(origin, used + 1);
    const queue = getOrMake(this.#waiting, origin, () => new Set());
    await new Promise<void>((resolve, reject) => {
      const start = () => {
        stopListening?.();
        resolve();
      };
      const giveUp = () => {
        // Otherwise the request has got its slot: it releases the slot when it finds the signal aborted.
        if (this.#remove(origin, start)) reject(signal?.reason);
      };
      queue.add(start);
      const stopListening = signal ? onSharedAbort(signal, giveUp) : undefined;
    });
  }

  /** Releases a slot, or passes it to the request that has waited longest. */
  release(origin: string): void {
    const [next] = this.#waiting.get(origin) ?? [];
    if (next === undefined) {
      const used = (this.#used.get(origin) ?? 1) - 1;
      if (used === 0) this.#used.delete(origin);
      else this.#used.set(origin, used);
      return;
    }
    this.#remove(origin, next);
    // Node returns the socket to its pool right after the `close` event of the request.
    process.nextTick(next);
  }

  #remove(origin: string, start: () => void): boolean {
    const queue = this.#waiting.get(origin);
    const wasWaiting = queue?.delete(start) === true;
    if (queue?.size === 0) this.#waiting.delete(origin);
    return wasWaiting;
  }
}
