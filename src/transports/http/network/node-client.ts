/** The network on Node: one client, with its sockets, for all servers of a port. */
import { type ClientRequest, request as httpRequest, type IncomingMessage } from "node:http";
import type { LookupFunction, Socket } from "node:net";
import { clientClosed, connectTimedOut, toNetworkError } from "./network-error.js";
import { type ExchangeOwner, NodeExchange } from "./node-exchange.js";
import { notePromise, type Pool, SocketPools } from "./socket-pools.js";
import type { WireAnswer, WireClient, WireRequest } from "./wire.js";
import { toResponse, toWireRequest } from "./wire-response.js";

export interface HttpClientOptions {
  /** How long a connection may take to open, TLS included. @default 10000 */
  connectTimeoutMs?: number;
  /** How long an idle connection is kept when the server does not say. @default 4000 */
  keepAliveMs?: number;
  /** How host names become addresses. @default the system's resolver */
  lookup?: LookupFunction;
}

/**
 * A pooled network client. Its `fetch` never follows redirects. There is no limit on how long an answer may take: an
 * MCP call may run for minutes, and its deadline comes with its `AbortSignal`.
 */
export function createHttpClient(options: HttpClientOptions = {}): WireClient {
  return new NodeClient(options);
}

class NodeClient implements WireClient, ExchangeOwner {
  readonly #lookup: LookupFunction | undefined;
  readonly #connectTimeoutMs: number;
  readonly #pools: SocketPools;
  #closed = false;
  #usedAt = 0;

  constructor({ connectTimeoutMs = 10_000, keepAliveMs = 4_000, lookup }: HttpClientOptions) {
    this.#connectTimeoutMs = connectTimeoutMs;
    this.#lookup = lookup;
    this.#pools = new SocketPools({ keepAliveMs, lookup });
  }

  readonly fetch: typeof globalThis.fetch = async (input, init) =>
    toResponse(await this.open(await toWireRequest(input, init)));

  open(request: WireRequest): Promise<WireAnswer> {
    const isUsual = request.checkAddress === undefined && !request.standing;
    const pool = isUsual ? this.#pools.ready(partsOf(request.url).isSecure) : undefined;
    if (pool === undefined || performance.now() - this.#usedAt > IDLE_MS) return this.#openLater(request);
    return this.#exchange(pool, request);
  }

  async close(): Promise<void> {
    this.#closed = true;
    await this.#pools.destroy();
  }

  async #openLater(request: WireRequest): Promise<WireAnswer> {
    this.#throwIfClosed();
    const { checkAddress, standing } = request;
    const { isSecure } = partsOf(request.url);
    if (checkAddress === undefined) {
      if (this.#usedAt !== 0) await noticeClosedSockets();
      const pool = await this.#pools.open(isSecure, standing ? "standing" : "kept");
      this.#throwIfClosed();
      return this.#exchange(pool, request);
    }
    // A socket of its own: in a pool, a request under strict rules could be given one that was opened under looser ones.
    const { checkedLookup } = await import("./checked-lookup.js");
    const pool = await this.#pools.open(isSecure, "single", checkedLookup(checkAddress, this.#lookup));
    this.#throwIfClosed();
    return this.#exchange(pool, request, () => this.#pools.discard(pool));
  }

  get idleMark(): number {
    return this.#pools.idleMark;
  }

  onAnswer({ standing }: WireRequest, { headers, socket }: IncomingMessage): void {
    const hint = headers["keep-alive"];
    if (hint !== undefined) notePromise(socket, hint as string);
    // A stream that stays has sockets of its own, and says nothing about those of the others.
    if (!standing) this.#usedAt = performance.now();
  }

  toError({ url }: WireRequest, error: unknown, sent: boolean): unknown {
    return this.#closed
      ? clientClosed(!sent, error)
      : toNetworkError(error, { host: partsOf(url).host, sent });
  }

  onDeadSocket({ url }: WireRequest, mark: number): void {
    const { hostname, port, isSecure } = partsOf(url);
    this.#pools.closeIdle({ hostname, port: Number(port) || (isSecure ? 443 : 80) }, mark);
  }

  #throwIfClosed(): void {
    if (this.#closed) throw clientClosed(true);
  }

  #exchange(pool: Pool, request: WireRequest, onDone?: () => void): Promise<WireAnswer> {
    const exchange = new NodeExchange(request, this, onDone);
    if (!exchange.done) {
      try {
        this.#begin(pool, request, exchange);
      } catch (error) {
        // A header field that cannot be sent, for one.
        exchange.fail(error);
      }
    }
    return exchange.answer;
  }

  #begin(agent: Pool, { url, method, headers, body }: WireRequest, exchange: NodeExchange): void {
    const { host, hostname, port, path, protocol } = partsOf(url);
    const fields = toFields(headers, host);
    if (body !== undefined) fields.push("content-length", String(Buffer.byteLength(body)));
    else if (method === "POST" || method === "PUT") fields.push("content-length", "0");
    const request = httpRequest({ agent, protocol, hostname, port, path, method, headers: fields });
    exchange.watch(request);
    request.on("socket", (socket) => {
      if (isOpen(socket)) exchange.sent();
      else this.#awaitOpening(socket, { request, exchange, host, protocol });
    });
    request.end(body);
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

/** As Node takes them without another look at each: names and values in turn. */
function toFields(headers: WireRequest["headers"], host: string): string[] {
  const fields = ["host", host];
  let hasEncoding = false;
  for (const name in headers) {
    if (name === "accept-encoding") hasEncoding = true;
    fields.push(name, headers[name]!);
  }
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
}

/** Taking a URL apart costs more than anything else we do for a request, and nearly all go to the same few. */
const known = new WeakMap<URL, UrlParts>();

function partsOf(url: URL): UrlParts {
  let parts = known.get(url);
  if (parts === undefined) {
    const { host, hostname, port, protocol, pathname, search } = url;
    parts = {
      host,
      // An IPv6 address has brackets in a URL only.
      hostname: hostname.startsWith("[") ? hostname.slice(1, -1) : hostname,
      port,
      path: pathname + search,
      protocol,
      isSecure: protocol === "https:",
    };
    known.set(url, parts);
  }
  return parts;
}

/** Whether bytes can be written to it now, TLS included. */
const isOpen = (socket: Socket): boolean =>
  !socket.connecting && (socket as Socket & { secureConnecting?: boolean }).secureConnecting !== true;

/** Longer than the gap between two calls that follow each other. */
const IDLE_MS = 0.2;

/**
 * A server that went away while we were idle has closed its sockets, but we only know after a look at them. Without it
 * the request would be written to a dead socket, and nobody could say whether it was read.
 */
async function noticeClosedSockets(): Promise<void> {
  // Twice: the first may come in the same turn of the event loop, before it has looked at its sockets again.
  for (let turn = 0; turn < 2; turn += 1) await new Promise((resolve) => setImmediate(resolve));
}
