/** Provides the lists of a port when a gateway needs them, and listens for changes while a client does. */
import type { InternedLists } from "../../catalog/interned-lists.js";
import { OnDemandLists } from "../../catalog/on-demand-lists.js";
import type { ListKey } from "../../catalog/server-lists.js";
import type { ServerConfig } from "../../config/server-config.js";
import { type ListName, listNameOf } from "../../protocol/change-watch.js";
import type { Session } from "../../protocol/session.js";
import { withDeadline } from "../../util/with-deadline.js";
import type { PortCore } from "../port-core.js";
import { MissingLists } from "./missing-lists.js";
import { WatchedLists } from "./watched-lists.js";

/** Options of `port.need`. */
export interface NeedOptions {
  /** Names of the servers. @default all */
  readonly servers?: readonly string[] | undefined;
  /** How long to wait for servers that are not connected, or whose old lists can be used. @default 1000 */
  readonly limitMs?: number | undefined;
  readonly signal?: AbortSignal | undefined;
}

const LIMIT_MS = 1_000;
/** Limit for the first list of a server that has not failed yet: a program may take seconds to start, and many clients ask once. */
const FIRST_LIST_MS = 10_000;
/** Age at which a list is read again if the server gives no time to live and the port does not listen. */
const UNWATCHED_MS = 30_000;
/** A server that failed is not tried again by every request. */
const REST_MS = 5_000;

interface Reading {
  read: Promise<boolean>;
  /** When the list was requested, in the order of `OnDemandLists`. Infinity before that. */
  begunAt: number;
}

export class PortLists {
  /** Reads single lists. */
  readonly onDemand: OnDemandLists;
  readonly #port: PortCore;
  readonly #watched: WatchedLists;
  /** Reads under way, by list and server, and when they began. */
  #reading: Map<string, Reading> | undefined;
  /** Servers that a request has waited for in vain. */
  #late: Set<string> | undefined;
  /** When a server could not be reached (`performance.now()`). */
  #failedAt: Map<string, number> | undefined;
  /** While a client listens, the lists of failed servers are tried again. */
  #missing: MissingLists | undefined;

  /** @param interned equal lists of different users are kept once */
  constructor(port: PortCore, interned: InternedLists) {
    this.#port = port;
    this.onDemand = new OnDemandLists(port.catalog.host(), interned);
    this.#watched = new WatchedLists({
      onDemand: this.onDemand,
      isLean: port.isLean,
      pool: port.pool,
      provide: (server, key) => this.provide(server, key),
      onStop: () => {
        this.#missing?.close();
        this.#missing = undefined;
      },
    });
  }

  get isListening(): boolean {
    return this.#watched.isListening;
  }

  /** Makes a list of these servers known. Rejects only if the port is closed or the signal aborts. */
  async need(key: ListKey, { servers, limitMs = LIMIT_MS, signal }: NeedOptions = {}): Promise<void> {
    await this.#port.opened();
    signal?.throwIfAborted();
    const { catalog, pool } = this.#port;
    if (servers !== undefined)
      for (const name of servers) if (pool.configOf(name) === undefined) pool.require(name);
    const pending = (servers ?? pool.names).flatMap((name) => {
      const providing = this.provide(name, key);
      if (providing === undefined) return [];
      const timeoutMs = this.#isFirst(name, key) ? Math.max(limitMs, FIRST_LIST_MS) : limitMs;
      return [this.#within(providing, { name, key }, { limitMs, timeoutMs, signal })];
    });
    if (key === "tools") pending.push(catalog.checkDuePins());
    if (pending.length > 0) await Promise.all(pending);
  }

  /**
   * Makes a list of one server known. Undefined if it is known and fresh; else resolves with whether it was read. Concurrent
   * callers share one read, unless the list has changed since it began. Never rejects.
   */
  provide(server: string, key: ListKey): Promise<boolean> | undefined {
    const { pool, parts, isLean } = this.#port;
    const config = pool.configOf(server);
    if (config === undefined || !config.enabled || config.blocked !== undefined) return undefined;
    const cache = config.cache ?? parts.settings.cache;
    const maxAgeMs = this.#watched.isWatched(server, key) ? Number.POSITIVE_INFINITY : UNWATCHED_MS;
    if (isLean && this.onDemand.isFresh(server, key, { cache, maxAgeMs })) return undefined;
    const id = `${key} ${server}`;
    this.#reading ??= new Map();
    const running = this.#reading.get(id);
    if (running !== undefined && !this.onDemand.isOutdated(server, key, running.begunAt)) return running.read;
    const reading: Reading = { read: Promise.resolve(false), begunAt: Number.POSITIVE_INFINITY };
    const onRequest = () => {
      reading.begunAt = this.onDemand.now;
    };
    reading.read = this.#provide(config, key, onRequest).finally(() => {
      if (this.#reading?.get(id) === reading) this.#reading.delete(id);
    });
    this.#reading.set(id, reading);
    return reading.read;
  }

  /** Listens for changes until the returned function is called. */
  listen(): () => void {
    return this.#watched.listen();
  }

  /** A lean connection was opened. */
  connected(session: Session): void {
    this.#watched.connected(session);
  }

  /** A server was added or removed. */
  serversChanged(server: string): void {
    this.#watched.serverChanged(server);
    if (this.isListening) this.#emit(server, ["tools", "resources", "prompts"]);
  }

  /** The server connects for the first time, or is connected, and no request has waited in vain for it. */
  #isFirst(name: string, key: ListKey): boolean {
    const { catalog, pool } = this.#port;
    if (catalog.knows(name, key) || this.#late?.has(name) || this.#failedAt?.has(name)) return false;
    const status = pool.peek(name)?.state.status;
    return status !== "failed" && status !== "reconnecting" && status !== "authenticating";
  }

  /** Stops listening, and clears the timer. */
  close(): void {
    this.#watched.close();
  }

  async #provide(config: ServerConfig, key: ListKey, onRequest: () => void): Promise<boolean> {
    const { isLean } = this.#port;
    const { name } = config;
    try {
      if (isLean && (await this.onDemand.usePublic(config, key))) {
        this.#watched.follow(name);
        return true;
      }
      if (this.#isResting(name)) return await this.#fallBack(config, key);
      if (isLean) await this.#read(name, key, onRequest);
      else await this.#bringUp(name);
      this.#failedAt?.delete(name);
      this.#missing?.delete(name, key);
      return true;
    } catch {
      // The state of the connection contains the error, and the events have reported it.
      this.#failedAt ??= new Map();
      this.#failedAt.set(name, performance.now());
      return this.#fallBack(config, key);
    }
  }

  async #read(name: string, key: ListKey, onRequest: () => void): Promise<void> {
    const { pool, parts } = this.#port;
    const read = async (session: Session) => {
      onRequest();
      // With a scan, other lists must be known before their entries are used.
      const keys: readonly ListKey[] =
        parts.settings.scan === undefined ? [key] : ["tools", "resources", "resourceTemplates", "prompts"];
      await Promise.all(keys.map((each) => this.onDemand.read(session, each)));
    };
    await this.#port.read(pool.require(name), read, {});
  }

  /** An ordinary port reads all lists when it connects. */
  async #bringUp(name: string): Promise<void> {
    const { pool, catalog } = this.#port;
    const connection = pool.require(name);
    if (connection.state.status === "failed") await connection.connect();
    await this.#port.bringUp([connection], {});
    if (!catalog.knows(name)) await connection.acquire();
  }

  /** The server is not reachable: its saved lists, or those of its fallback servers, are used. */
  async #fallBack(config: ServerConfig, key: ListKey): Promise<boolean> {
    const { catalog, pool } = this.#port;
    if (this.isListening) this.#tried().add(config.name, key);
    try {
      await this.#restore(config.name, key);
      if (key === "tools" && catalog.needsStandIn(config)) {
        const others = config.fallback!.servers.filter((name) => pool.configOf(name) !== undefined);
        await Promise.all(others.map((name) => this.provide(name, key)));
      }
    } catch {
      // The store has reported its failure.
    }
    return false;
  }

  /** Uses the saved list of a server if nothing else is known. Resolves with whether a list is known. */
  async #restore(server: string, key: ListKey): Promise<boolean> {
    const { catalog, pool, saved } = this.#port;
    const config = pool.configOf(server);
    if (config !== undefined && saved !== undefined && !catalog.knows(server, key)) {
      await saved.restoreLists([config]);
      await catalog.restored();
    }
    return catalog.knows(server, key);
  }

  #isResting(server: string): boolean {
    const failedAt = this.#failedAt?.get(server);
    if (failedAt === undefined || performance.now() - failedAt >= REST_MS) return false;
    const status = this.#port.pool.peek(server)?.state.status;
    // A login or a new connection ends the rest.
    return status === "failed" || status === "authenticating" || status === "closed";
  }

  /** Resolves with the read, or after the limit; a list that arrives later is reported. */
  async #within(
    providing: Promise<boolean>,
    { name, key }: { name: string; key: ListKey },
    { limitMs, timeoutMs, signal }: { limitMs: number; timeoutMs: number; signal: AbortSignal | undefined },
  ): Promise<void> {
    const onTimeout = () => LATE;
    const wait = async () => {
      await withDeadline(providing, { timeoutMs: limitMs, signal, onTimeout }).catch(
        async (error: unknown) => {
          if (error !== LATE || limitMs >= timeoutMs || (await this.#restore(name, key).catch(() => false)))
            throw error;
          await withDeadline(providing, { timeoutMs: timeoutMs - limitMs, signal, onTimeout });
        },
      );
    };
    await wait().catch((error: unknown) => {
      if (error !== LATE) throw error;
      this.#late ??= new Set();
      this.#late.add(name);
      void providing.then((isRead) => {
        this.#late?.delete(name);
        if (isRead) this.#emit(name, [listNameOf(key)]);
      });
    });
  }

  #tried(): MissingLists {
    this.#missing ??= new MissingLists({
      restMs: REST_MS,
      read: (server, key) => this.provide(server, key),
      onRead: (server, key) => this.#emit(server, [listNameOf(key)]),
    });
    return this.#missing;
  }

  #emit(server: string, lists: readonly ListName[]): void {
    const { parts, principal } = this.#port;
    parts.emitter.emit("listsChanged", { server, lists, principal: principal?.name });
  }
}

const LATE = new Error("The list is late");
