/** The sockets of the Node client: one pool per scheme and purpose, and a limit on the sockets per origin. */
import { type AgentOptions, Agent as HttpAgent } from "node:http";
import type { Agent as HttpsAgent } from "node:https";
import type { LookupFunction, Socket } from "node:net";
import { type AbortSource, onSharedAbort } from "../../../util/shared-abort.js";
import { clientClosed } from "./http-errors.js";
import type { PendingTunnels } from "./proxy/open-tunnel.js";
import type { ProxyServer } from "./proxy/proxy-server.js";

/** `kept`: kept alive. `background`: for long-lived streams, does not keep the process alive. `single`: one response only. */
export type Purpose = "kept" | "background" | "single";

export interface PoolOptions {
  /** How long an idle socket is kept if the server does not set a time. */
  readonly keepAliveMs: number;
  readonly lookup: LookupFunction | undefined;
  /** Timeout for opening a tunnel through a proxy. */
  readonly connectTimeoutMs: number;
}

/** Which pool is needed. */
export interface PoolRequest {
  readonly purpose: Purpose;
  /** For single pools only. @default that of the options */
  readonly lookup?: LookupFunction | undefined;
  /** The proxy to connect through. @default none */
  readonly via?: ProxyServer | undefined;
}

/** An idle socket is closed this long before the server closes it: a request may be in transit. */
const MARGIN_MS = 1_000;
const LONGEST_MS = 60_000;

export type Pool = HttpAgent | HttpsAgent;

export class SocketPools {
  readonly #options: PoolOptions;
  readonly #pools = new Map<string, Pool | Promise<Pool>>();
  readonly #singles = new Set<Pool>();
  /** Tunnels being opened, which are in no pool yet. */
  readonly #pendingTunnels: PendingTunnels = new Map();
  #idleMark = 0;

  constructor(options: PoolOptions) {
    this.#options = options;
  }

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
    const options = { ...agentOptions(lookup ?? this.#options.lookup), keepAlive };
    // Plain HTTP is sent to the proxy itself, which may use TLS.
    const pool = await createPool(isForwarding ? via.protocol === "https:" : isSecure, options);
    if (keepAlive) this.#honourKeepAlive(pool);
    if (purpose === "background") unrefSockets(pool);
    if (via !== undefined && isSecure) {
      const { connectThrough } = await import("./proxy/open-tunnel.js");
      const { connectTimeoutMs: timeoutMs, lookup: proxyLookup } = this.#options;
      const isUnref = purpose === "background";
      connectThrough(via, pool, this.#pendingTunnels, { timeoutMs, lookup: proxyLookup, isUnref });
    }
    return pool;
  }

  /** Incremented with every socket that becomes idle: a larger mark means a later time. */
  get idleMark(): number {
    return this.#idleMark;
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
      for (const idle of Object.values(freeSockets)) closeOlder(idle as IdleSocket[], this.#idleMark);
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
      const ms = socket[KEEP_ALIVE]?.ms ?? this.#options.keepAliveMs;
      if (ms <= 0) return false;
      this.#idleMark += 1;
      socket[IDLE_SINCE] = this.#idleMark;
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
const KEEP_ALIVE = Symbol("promised");
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
export function noteKeepAlive(socket: IdleSocket, hint: string): void {
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
export class OriginSlots {
  readonly #max: number;
  readonly #used = new Map<string, number>();
  readonly #waiting = new Map<string, Set<() => void>>();

  constructor(max: number) {
    this.#max = max;
  }

  /** Takes a slot, as soon as one is free. Rejects with the reason of the signal. */
  async take(origin: string, signal?: AbortSource | null): Promise<void> {
    const used = this.#used.get(origin) ?? 0;
    if (used < this.#max) return void this.#used.set(origin, used + 1);
    const queue = this.#waiting.get(origin) ?? new Set();
    this.#waiting.set(origin, queue);
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
