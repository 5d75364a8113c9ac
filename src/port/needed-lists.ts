/** Makes lists known when a caller needs them, whatever state their servers are in. `need-lists.ts` limits how long a caller waits. */
import type { ServerConfig } from "../config/server-config.js";
import type { ServerConnection, WaitOptions } from "../connection/server-connection.js";
import { LIST_KEYS, type ListKey, listNameOf } from "../protocol/change-watch.js";
import type { Session } from "../protocol/session.js";
import { fullJitterMs, unrefTimer, withDeadline } from "../util/timers.js";
import type { ListedPort } from "./list-reader.js";

/** A list that is being provided. */
interface Providing {
  promise: Promise<boolean>;
  /** When it was requested, in the order of reads and changes. Infinity before that. */
  order: number;
}

interface NamedList {
  readonly server: string;
  readonly key: ListKey;
}

/** A server that failed is not tried again by every request. */
const REST_MS = 5_000;
/** Bounds of the pause between attempts to read the lists of failed servers, on top of the rest. */
const RETRY = { baseMs: 2_000, maxMs: 30_000 };
export const LATE = new Error("The list is late");

export class NeededLists {
  readonly #port: ListedPort;
  /** By list and server. The maps are created when they are needed, because many users are idle. */
  #providing: Map<string, Providing> | undefined;
  /** Servers that a request has waited for in vain. */
  late: Set<string> | undefined;
  /** When a server could not be reached (`performance.now()`). */
  failedAt: Map<string, number> | undefined;
  /** Lists of failed servers, which are tried again while a caller listens. */
  #missing: Map<string, NamedList> | undefined;
  #retries = 0;
  #retryTimer: ReturnType<typeof setTimeout> | undefined;

  constructor(port: ListedPort) {
    this.#port = port;
  }

  /** Makes all lists of these servers known, within the time limit. Servers that cannot be reached keep the lists they had. */
  async needAll(connections: readonly ServerConnection[], { signal, timeoutMs }: WaitOptions): Promise<void> {
    const all = connections.flatMap(({ name }) => LIST_KEYS.flatMap((key) => this.provide(name, key) ?? []));
    const wait = { signal, timeoutMs, onTimeout: () => LATE };
    await withDeadline(Promise.all(all), wait).catch(() => signal?.throwIfAborted());
  }

  /**
   * Makes a list of one server known. Undefined if it is known and fresh; else resolves with whether it was read. Concurrent
   * callers share one read, unless the list has changed since it began. Never rejects.
   */
  provide(server: string, key: ListKey): Promise<boolean> | undefined {
    const { pool, reads, lists } = this.#port;
    const config = pool.configOf(server);
    if (config === undefined || !config.enabled || config.blocked !== undefined) return undefined;
    if (reads === "needed" && lists.isFresh(config, key)) return undefined;
    const id = idOf(server, key);
    this.#providing ??= new Map();
    const running = this.#providing.get(id);
    if (running !== undefined && !lists.isOutdated(server, key, running.order)) return running.promise;
    const providing: Providing = { promise: Promise.resolve(false), order: Number.POSITIVE_INFINITY };
    providing.promise = this.#provide(config, key, providing).finally(() => {
      if (this.#providing?.get(id) === providing) this.#providing.delete(id);
    });
    this.#providing.set(id, providing);
    return providing.promise;
  }

  /** Clears the timer. */
  close(): void {
    clearTimeout(this.#retryTimer);
    this.#retryTimer = undefined;
    this.#missing = undefined;
  }

  async #provide(config: ServerConfig, key: ListKey, providing: Providing): Promise<boolean> {
    const { reads, lists } = this.#port;
    const { name } = config;
    try {
      if (reads === "needed" && (await lists.useShared(config, key))) return true;
      if (this.#isResting(name)) return await this.#fallBack(config, key);
      if (reads === "needed") await this.#connectAndRead(name, key, providing);
      else await this.#bringUp(name);
      this.failedAt?.delete(name);
      this.#missing?.delete(idOf(name, key));
      return true;
    } catch {
      // The state of the connection contains the error, and the events have reported it.
      this.failedAt ??= new Map();
      this.failedAt.set(name, performance.now());
      return this.#fallBack(config, key);
    }
  }

  async #connectAndRead(name: string, key: ListKey, providing: Providing): Promise<void> {
    const { pool, parts, lists } = this.#port;
    const read = (session: Session) => {
      providing.order = lists.order;
      // With a scan, other lists must be known before their entries are used.
      return lists.read(session, parts.settings.scan === undefined ? [key] : LIST_KEYS);
    };
    await this.#port.read(pool.require(name), read, {});
  }

  /** The port reads all lists when it connects. */
  async #bringUp(name: string): Promise<void> {
    const { pool, catalog } = this.#port;
    const connection = pool.require(name);
    if (connection.state.status === "failed") await connection.connect();
    await this.#port.bringUp([connection], {});
    if (!catalog.knows(name)) await connection.acquire();
  }

  /** The server is not reachable: its saved lists, or those of its fallback servers, are used. */
  async #fallBack(config: ServerConfig, key: ListKey): Promise<boolean> {
    const { catalog, pool, lists } = this.#port;
    if (lists.isListening) this.#retryLater(config.name, key);
    try {
      await this.restore(config.name, key);
      if (key === "tools" && catalog.needsFallbackTools(config)) {
        const others = config.fallback!.servers.filter((name) => pool.configOf(name) !== undefined);
        await Promise.all(others.map((name) => this.provide(name, key)));
      }
    } catch {
      // The store has reported its failure.
    }
    return false;
  }

  /** Uses the saved list of a server if nothing else is known. Resolves with whether a list is known. */
  async restore(server: string, key: ListKey): Promise<boolean> {
    const { catalog, pool, saved } = this.#port;
    const config = pool.configOf(server);
    if (config !== undefined && saved !== undefined && !catalog.knows(server, key)) {
      await (await saved.state)?.restoreLists([config]);
      await catalog.restored();
    }
    return catalog.knows(server, key);
  }

  #retryLater(server: string, key: ListKey): void {
    this.#missing ??= new Map();
    this.#missing.set(idOf(server, key), { server, key });
    if (this.#retryTimer !== undefined) return;
    this.#retries += 1;
    const waitMs = REST_MS + fullJitterMs(this.#retries, RETRY);
    this.#retryTimer = unrefTimer(setTimeout(() => this.#retry(), waitMs));
  }

  #retry(): void {
    this.#retryTimer = undefined;
    const missing = [...(this.#missing?.values() ?? [])];
    this.#missing = undefined;
    for (const { server, key } of missing)
      void this.provide(server, key)?.then((isRead) => {
        if (!isRead) return;
        this.#retries = 0;
        this.arrived(server, key);
      });
  }

  #isResting(server: string): boolean {
    const failedAt = this.failedAt?.get(server);
    if (failedAt === undefined || performance.now() - failedAt >= REST_MS) return false;
    const status = this.#port.pool.peek(server)?.state.status;
    // A login or a new connection ends the rest.
    return status === "failed" || status === "authenticating" || status === "closed";
  }

  /** Reports that a list that callers could not wait for is known. */
  arrived(server: string, key: ListKey): void {
    this.#port.catalog.options.onListsChanged(server, [listNameOf(key)]);
  }
}

const idOf = (server: string, key: ListKey): string => `${key} ${server}`;
