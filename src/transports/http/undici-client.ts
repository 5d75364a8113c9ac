/** The network on Node: one undici pool for all servers of a port. */
import type { LookupFunction } from "node:net";
import type { Agent, Client, Dispatcher } from "undici";
import { checkedLookup } from "./checked-lookup.js";
import { decompress } from "./decompress.js";
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
  readonly #singles = new Set<Client>();
  #closed = false;
  #usedAt = 0;

  constructor(options: HttpClientOptions) {
    this.#options = options;
  }

  readonly fetch: typeof globalThis.fetch = async (input, init) =>
    toResponse(await this.open(await toWireRequest(input, init)));

  async open(request: WireRequest): Promise<WireAnswer> {
    if (this.#closed) throw toNetworkError(closed(), { host: request.url.host, sent: false });
    if (request.checkAddress !== undefined) return this.#openChecked(request, request.checkAddress);
    if (performance.now() - this.#usedAt > IDLE_MS) await noticeClosedSockets();
    return this.#exchange(this.#ready ?? (await this.#pool()), request);
  }

  async close(): Promise<void> {
    if (this.#closed && this.#agent === undefined) return;
    this.#closed = true;
    const agent = this.#agent;
    this.#agent = undefined;
    this.#ready = undefined;
    await Promise.all([...this.#singles].map((client) => client.destroy()));
    await (await agent)?.destroy();
  }

  /** undici is loaded with the first request: a port without HTTP servers never pays for it. */
  #pool(): Promise<Agent> {
    this.#agent ??= import("undici").then(({ Agent }) => {
      const agent = new Agent({ ...this.#limits(), connect: this.#connect(this.#options.lookup) });
      if (!this.#closed) this.#ready = agent;
      return agent;
    });
    return this.#agent;
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
    const { Client } = await import("undici");
    const lookup = checkedLookup(check, this.#options.lookup);
    const client = new Client(request.url.origin, { ...this.#limits(), connect: this.#connect(lookup) });
    this.#singles.add(client);
    const discard = () => {
      this.#singles.delete(client);
      client.destroy().catch(() => {});
    };
    return this.#exchange(client, request, discard);
  }

  async #exchange(dispatcher: Dispatcher, request: WireRequest, onDone?: () => void): Promise<WireAnswer> {
    const { url, method, body } = request;
    const exchange = new UndiciExchange(request, onDone);
    if (!exchange.done) {
      const headers = { "accept-encoding": "identity", ...request.headers };
      const path = url.pathname + url.search;
      dispatcher.dispatch({ origin: url.origin, path, method, headers, body: body ?? null }, exchange);
    }
    const answer = await exchange.answer;
    this.#usedAt = performance.now();
    return decompress(answer);
  }
}

/** Longer than the gap between two calls that follow each other. */
const IDLE_MS = 1;

/**
 * A server that went away while we were idle has closed its sockets, but we only know after a look at them. Without it
 * the request would be written to a dead socket, and nobody could say whether it was read.
 */
async function noticeClosedSockets(): Promise<void> {
  // Twice: the first may come in the same turn of the event loop, before it has looked at its sockets again.
  for (let turn = 0; turn < 2; turn += 1) await new Promise((resolve) => setImmediate(resolve));
}

const closed = () => Object.assign(new Error("closed"), { code: "UND_ERR_CLOSED" });
