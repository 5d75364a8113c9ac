/** The network on Node: one undici pool for all servers of a port. */
import type { LookupFunction, Socket } from "node:net";
import type { Agent, buildConnector, Client, Dispatcher } from "undici";
import { loadUndici } from "./load-undici.js";
import { toNetworkError } from "./network-error.js";
import { UndiciExchange } from "./undici-exchange.js";
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
  return new UndiciClient(options);
}

class UndiciClient implements WireClient {
  readonly #options: HttpClientOptions;
  #agent: Promise<Agent> | undefined;
  #ready: Agent | undefined;
  /** Has only streams that stay: their sockets keep no host alive. */
  #standing: Promise<Agent> | undefined;
  readonly #singles = new Set<Client>();
  #closed = false;
  #usedAt = 0;

  constructor(options: HttpClientOptions) {
    this.#options = options;
  }

  readonly fetch: typeof globalThis.fetch = async (input, init) =>
    toResponse(await this.open(await toWireRequest(input, init)));

  open(request: WireRequest): Promise<WireAnswer> {
    const agent = this.#ready;
    const isUsual = agent !== undefined && request.checkAddress === undefined && !request.standing;
    if (!isUsual || performance.now() - this.#usedAt > IDLE_MS) return this.#openLater(request);
    return this.#exchange(agent, request);
  }

  async close(): Promise<void> {
    this.#closed = true;
    const agents = [this.#agent, this.#standing];
    this.#agent = undefined;
    this.#ready = undefined;
    this.#standing = undefined;
    await Promise.all([...this.#singles].map((client) => client.destroy()));
    for (const agent of agents) await (await agent)?.destroy();
  }

  async #openLater(request: WireRequest): Promise<WireAnswer> {
    this.#throwIfClosed(request);
    if (request.checkAddress !== undefined) return this.#openChecked(request, request.checkAddress);
    if (this.#usedAt !== 0) await noticeClosedSockets();
    const agent = request.standing ? await this.#standingPool() : (this.#ready ?? (await this.#pool()));
    this.#throwIfClosed(request);
    return this.#exchange(agent, request);
  }

  #throwIfClosed({ url }: WireRequest): void {
    if (this.#closed) throw toNetworkError(closed(), { host: url.host, sent: false });
  }

  #pool(): Promise<Agent> {
    this.#agent ??= loadUndici().then(({ Agent }) => {
      const agent = new Agent({ ...this.#limits(), connect: this.#connect(this.#options.lookup) });
      if (!this.#closed) this.#ready = agent;
      return agent;
    });
    return this.#agent;
  }

  #standingPool(): Promise<Agent> {
    this.#standing ??= loadUndici().then(({ Agent, buildConnector }) => {
      const connect = letGo(buildConnector(this.#connect(this.#options.lookup)));
      return new Agent({ ...this.#limits(), connect });
    });
    return this.#standing;
  }

  #limits() {
    const keepAliveTimeout = this.#options.keepAliveMs ?? 4_000;
    return {
      headersTimeout: 0,
      bodyTimeout: 0,
      pipelining: 1,
      keepAliveTimeout,
      keepAliveMaxTimeout: 60_000,
    };
  }

  #connect(lookup: LookupFunction | undefined) {
    return {
      timeout: this.#options.connectTimeoutMs ?? 10_000,
      // Explicit, so that no variable of the environment can turn certificate checks off.
      rejectUnauthorized: true,
      ...(lookup === undefined ? {} : { lookup }),
    };
  }

  /**
   * A connection of its own, gone after one answer: in a pool, a request under strict rules could be given a socket that
   * was opened under looser ones.
   */
  async #openChecked(
    request: WireRequest,
    check: NonNullable<WireRequest["checkAddress"]>,
  ): Promise<WireAnswer> {
    const [{ Client }, { checkedLookup }] = await Promise.all([loadUndici(), import("./checked-lookup.js")]);
    this.#throwIfClosed(request);
    const lookup = checkedLookup(check, this.#options.lookup);
    const client = new Client(request.url.origin, { ...this.#limits(), connect: this.#connect(lookup) });
    this.#singles.add(client);
    const discard = () => {
      this.#singles.delete(client);
      client.destroy().catch(() => {});
    };
    return this.#exchange(client, request, discard);
  }

  #exchange(dispatcher: Dispatcher, request: WireRequest, onDone?: () => void): Promise<WireAnswer> {
    const { url, method, body = null } = request;
    const { host, origin, path } = partsOf(url);
    // A stream that stays has sockets of its own, and says nothing about those of the others.
    const onAnswer = request.standing ? undefined : this.#onAnswer;
    const exchange = new UndiciExchange(request, { host, onAnswer, onDone });
    if (!exchange.done) {
      const { headers: given } = request;
      const headers = given["accept-encoding"] ? given : { "accept-encoding": "identity", ...given };
      dispatcher.dispatch({ origin, path, method, headers, body }, exchange);
    }
    return exchange.answer;
  }

  readonly #onAnswer = (): void => {
    this.#usedAt = performance.now();
  };
}

interface UrlParts {
  readonly host: string;
  readonly origin: string;
  readonly path: string;
}

/** Taking a URL apart costs more than anything else we do for a request, and nearly all go to the same few. */
const known = new WeakMap<URL, UrlParts>();

function partsOf(url: URL): UrlParts {
  let parts = known.get(url);
  if (parts === undefined) {
    parts = { host: url.host, origin: url.origin, path: url.pathname + url.search };
    known.set(url, parts);
  }
  return parts;
}

/** Sockets that do not keep the host alive, whatever undici says to them later. */
function letGo(connect: buildConnector.connector): buildConnector.connector {
  return (options, callback) =>
    connect(options, (...result) => {
      // After a failure there is none, whatever the type says.
      const socket = result[1] as Socket | null | undefined;
      if (socket) {
        socket.unref();
        socket.ref = () => socket;
      }
      callback(...result);
    });
}

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

const closed = () => Object.assign(new Error("closed"), { code: "UND_ERR_CLOSED" });
