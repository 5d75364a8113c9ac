/** The sockets of a network client: a pool for each scheme and purpose, and the way to be rid of them all. */
import { type AgentOptions, Agent as HttpAgent } from "node:http";
import type { Agent as HttpsAgent } from "node:https";
import type { LookupFunction, Socket } from "node:net";
import { clientClosed } from "./http-errors.js";
import type { PendingTunnels } from "./proxy/open-tunnel.js";
import type { ProxyServer } from "./proxy/proxy-server.js";

/** `kept`: the usual ones. `background`: for streams that stay; they keep no host alive. `single`: gone after one response. */
export type Purpose = "kept" | "background" | "single";

export interface PoolOptions {
  /** How long an idle socket is kept when the server does not say. */
  readonly keepAliveMs: number;
  readonly lookup: LookupFunction | undefined;
  /** How long a tunnel through a proxy may take to open. */
  readonly connectTimeoutMs: number;
}

/** What is asked of a pool besides its purpose. */
export interface PoolRequest {
  readonly purpose: Purpose;
  /** Only for single ones. @default that of the options */
  readonly lookup?: LookupFunction | undefined;
  /** The proxy that leads to the target. @default none */
  readonly via?: ProxyServer | undefined;
}

/** An idle socket is closed this long before its server does it: a request may be on its way. */
const MARGIN_MS = 1_000;
const LONGEST_MS = 60_000;

export type Pool = HttpAgent | HttpsAgent;

export class SocketPools {
  readonly #options: PoolOptions;
  readonly #pools = new Map<string, Pool | Promise<Pool>>();
  readonly #singles = new Set<Pool>();
  /** Tunnels that are being opened: no pool knows them yet. */
  readonly #pendingTunnels: PendingTunnels = new Map();
  #idleMark = 0;

  constructor(options: PoolOptions) {
    this.#options = options;
  }

  /** The usual pool, if it is there already. */
  ready(isSecure: boolean): Pool | undefined {
    const pool = this.#pools.get(isSecure ? "kept https" : "kept http");
    return pool instanceof Promise ? undefined : pool;
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
    // Proxies (tinyproxy for one) close such sockets without saying so: a kept one may be dead, and a call on it lost.
    const keepAlive = purpose !== "single" && !isForwarding;
    const options = { ...agentOptions(lookup ?? this.#options.lookup), keepAlive };
    // Plain HTTP is sent to the proxy itself, which may want TLS.
    const pool = await createPool(isForwarding ? via.protocol === "https:" : isSecure, options);
    if (keepAlive) this.#honourKeepAlive(pool);
    if (purpose === "background") unrefSockets(pool);
    if (via !== undefined && isSecure) {
      const { connectThrough } = await import("./proxy/open-tunnel.js");
      const { connectTimeoutMs: timeoutMs } = this.#options;
      const isUnref = purpose === "background";
      connectThrough(via, pool, {
        timeoutMs,
        lookup: this.#options.lookup,
        isUnref,
        pendingTunnels: this.#pendingTunnels,
      });
    }
    return pool;
  }

  /** Grows with every socket that becomes idle, so that it tells what was idle before. */
  get idleMark(): number {
    return this.#idleMark;
  }

  /**
   * Closes the sockets to a server that have been idle since `mark`: one like them turned out to be dead, and a router
   * that forgot one of them has most likely forgotten all.
   */
  closeIdle({ hostname, port }: { hostname: string; port: number }, mark: number): void {
    for (const pool of this.#pools.values()) {
      if (pool instanceof Promise) continue;
      // The names that Node gives to the servers of a pool begin so.
      const names = Object.keys(pool.freeSockets).filter((name) => name.startsWith(`${hostname}:${port}:`));
      for (const name of names) closeOlder(pool.freeSockets[name] as IdleSocket[], mark);
    }
  }

  /** A single pool is of no more use. */
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
      // It stays set while the socket is used; Node only ends idle sockets because of it.
      if (socket.timeout !== ms) socket.setTimeout(ms);
      return true;
    };
  }

  /** Ends whatever is under way; resolves when the last socket is closed. */
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
  // Explicit, so that no variable of the environment can turn certificate checks off.
  rejectUnauthorized: true,
  ...(lookup !== undefined && { lookup }),
});

/** TLS is loaded with the first server that wants it. */
async function createPool(isSecure: boolean, options: AgentOptions): Promise<Pool> {
  if (!isSecure) return new HttpAgent(options);
  const https = await import("node:https");
  return new https.Agent(options);
}

/** When an idle socket has to go, as its server said with its last response. */
const KEEP_ALIVE = Symbol("promised");
/** The mark at which it became idle. */
const IDLE_SINCE = Symbol("idle since");
interface IdleSocket extends Socket {
  [KEEP_ALIVE]?: { readonly hint: string; readonly ms: number } | undefined;
  [IDLE_SINCE]?: number;
}

/** Taken out of the list first: the pool would hand out a destroyed socket until its `close` event has come. */
function closeOlder(idle: IdleSocket[], mark: number): void {
  const old = idle.filter((socket) => (socket[IDLE_SINCE] ?? 0) <= mark);
  for (const socket of old) {
    idle.splice(idle.indexOf(socket), 1);
    socket.destroy();
  }
}

/** Notes what an response says about its socket (`keep-alive: timeout=5`). */
export function noteKeepAlive(socket: IdleSocket, hint: string): void {
  if (socket[KEEP_ALIVE]?.hint === hint) return;
  const seconds = /\btimeout=(\d{1,6})/.exec(hint)?.[1];
  if (seconds === undefined) return;
  socket[KEEP_ALIVE] = { hint, ms: Math.min(Number(seconds) * 1000 - MARGIN_MS, LONGEST_MS) };
}

/** Sockets that do not keep the host alive, whatever is said to them later. */
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

type Start = () => void;

export class OriginSlots {
  readonly #max: number;
  readonly #used = new Map<string, number>();
  readonly #waiting = new Map<string, Set<Start>>();

  constructor(max: number) {
    this.#max = max;
  }

  /** Takes a slot; false if all are taken. */
  take(origin: string): boolean {
    const used = this.#used.get(origin) ?? 0;
    if (used >= this.#max) return false;
    this.#used.set(origin, used + 1);
    return true;
  }

  /** Calls `start` when a slot is free; that slot is taken then. Returns a function that stops waiting. */
  wait(origin: string, start: Start): () => void {
    let queue = this.#waiting.get(origin);
    if (queue === undefined) {
      queue = new Set();
      this.#waiting.set(origin, queue);
    }
    queue.add(start);
    return () => void this.#remove(origin, start);
  }

  /** Gives a slot back: to the request that has waited longest, if one waits. */
  release(origin: string): void {
    const [next] = this.#waiting.get(origin) ?? [];
    if (next === undefined) {
      const used = (this.#used.get(origin) ?? 1) - 1;
      if (used === 0) this.#used.delete(origin);
      else this.#used.set(origin, used);
      return;
    }
    this.#remove(origin, next);
    // Node returns the socket to its pool right after it said that the request is closed.
    process.nextTick(next);
  }

  #remove(origin: string, start: Start): void {
    const queue = this.#waiting.get(origin);
    queue?.delete(start);
    if (queue?.size === 0) this.#waiting.delete(origin);
  }
}
