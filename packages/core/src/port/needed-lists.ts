/**
 * Makes lists known when a caller needs them, whatever state their servers are in. A caller waits briefly for those that are
 * known already, longer for the first list of a server.
 */

import { fullJitterMs, unrefTimer, withDeadline } from "@toolport/base";
import type { ServerConfig } from "../config/server-config.js";
import type { ServerConnection, WaitOptions } from "../connection/server-connection.js";
import { LIST_KEYS, type ListKey, listNameOf } from "../protocol/change-watch.js";
import type { ListedPort } from "./list-reader.js";

/** Options of `port.need`. */
export interface NeedOptions {
  /** Names of the servers. @default all */
  readonly servers?: readonly string[] | undefined;
  /** How long to wait for servers that are not connected, or whose old lists can be used. @default 1000 */
  readonly limitMs?: number | undefined;
  readonly signal?: AbortSignal | undefined;
}

const LIMIT_MS = 1_000;
/** Limit for the first list of a server that has not failed yet: a program may take seconds to start, and many callers ask once. */
const FIRST_LIST_MS = 10_000;

/** A server that failed is not tried again by every request. */
const REST_MS = 5_000;
/** Bounds of the pause between attempts to read the lists of failed servers, on top of the rest. */
const RETRY = { baseMs: 2_000, maxMs: 30_000 };
const LATE = new Error("The list is late");
const onTimeout = () => LATE;

export class NeededLists {
  // The maps are created when they are needed, because many users are idle.
  /** When a server could not be reached (`performance.now()`). */
  #failedAt: Map<string, number> | undefined;
  /** Lists that a caller did not get, by list and server. They are reported when they arrive. */
  #missing: Map<string, readonly [server: string, key: ListKey]> | undefined;
  /** Attempts to read missing lists of failed servers, while a caller listens. */
  #retries = 0;
  #retryTimer: ReturnType<typeof setTimeout> | undefined;

  constructor(private readonly port: ListedPort) {}

  /** Makes a list of these servers known. Rejects only if the port is closed or the signal aborts. */
  async need(key: ListKey, { servers, limitMs = LIMIT_MS, signal }: NeedOptions): Promise<void> {
    const { catalog, pool } = this.port;
    await this.port.opened();
    signal?.throwIfAborted();
    for (const name of servers ?? []) if (pool.configOf(name) === undefined) pool.require(name);
    const pending = (servers ?? pool.names).flatMap((server) => {
      const providing = this.provide(server, key);
      return providing === undefined ? [] : [this.#within(server, key, providing, { limitMs, signal })];
    });
    if (key === "tools") pending.push(catalog.checkDuePins());
    if (pending.length > 0) await Promise.all(pending);
  }

  /** Makes all lists of these servers known, within the time limit. Servers that cannot be reached keep the lists they had. */
  async needAll(connections: readonly ServerConnection[], { signal, timeoutMs }: WaitOptions): Promise<void> {
    const all = connections.flatMap(({ name }) => LIST_KEYS.flatMap((key) => this.provide(name, key) ?? []));
    const wait = { signal, timeoutMs, onTimeout };
    await withDeadline(Promise.all(all), wait).catch(() => signal?.throwIfAborted());
  }

  /** Makes a list of one server known. Undefined if it is known and fresh; else resolves with whether it was read. Never rejects. */
  provide(server: string, key: ListKey): Promise<boolean> | undefined {
    const { pool, reads, lists } = this.port;
    const config = pool.configOf(server);
    if (config === undefined || !config.enabled || config.blocked !== undefined) return undefined;
    return reads === "needed" && lists.isFresh(config, key) ? undefined : this.#provide(config, key);
  }

  /** Clears the timer. */
  close(): void {
    clearTimeout(this.#retryTimer);
    this.#retryTimer = undefined;
  }

  async #provide(config: ServerConfig, key: ListKey): Promise<boolean> {
    const { reads, lists, parts, pool, catalog } = this.port;
    const { name } = config;
    try {
      if (reads === "connect" || !(await lists.useShared(config, key))) {
        if (this.#isResting(name)) return await this.#fallBack(config, key);
        // With a scan, other lists must be known before their entries are used.
        const keys = parts.settings.scan === undefined ? [key] : LIST_KEYS;
        if (reads === "connect") await this.#ensureAll(name);
        else await this.port.read(pool.require(name), (session) => lists.read(session, keys), {});
        this.#failedAt?.delete(name);
      }
      if (this.#missing?.delete(idOf(name, key))) {
        this.#retries = 0;
        catalog.options.onListsChanged(name, [listNameOf(key)]);
      }
      return true;
    } catch {
      // The state of the connection contains the error, and the events have reported it.
      this.#failedAt ??= new Map();
      this.#failedAt.set(name, performance.now());
      return this.#fallBack(config, key);
    }
  }

  /** The port reads all lists when it connects. */
  async #ensureAll(name: string): Promise<void> {
    const { pool, catalog } = this.port;
    const connection = pool.require(name);
    if (connection.state.status === "failed" || !catalog.knows(name)) await connection.acquire();
    await this.port.ensureLists([connection], {});
  }

  /** The server is not reachable: its saved lists, or those of its fallback servers, are used. */
  async #fallBack(config: ServerConfig, key: ListKey): Promise<boolean> {
    const { catalog, pool, lists } = this.port;
    if (lists.isListening) {
      this.#miss(config.name, key);
      this.#retryLater();
    }
    try {
      await this.#restore(config.name, key);
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
  async #restore(server: string, key: ListKey): Promise<boolean> {
    const { catalog, pool, saved } = this.port;
    const config = pool.configOf(server);
    if (config !== undefined && saved !== undefined && !catalog.knows(server, key)) {
      await (await saved.state)?.restoreLists([config]);
      await catalog.restored();
    }
    return catalog.knows(server, key);
  }

  #miss(server: string, key: ListKey): void {
    this.#missing ??= new Map();
    this.#missing.set(idOf(server, key), [server, key]);
  }

  #retryLater(): void {
    if (this.#retryTimer !== undefined) return;
    this.#retries += 1;
    const retry = () => {
      this.#retryTimer = undefined;
      for (const list of this.#missing?.values() ?? []) void this.provide(...list);
    };
    const waitMs = REST_MS + fullJitterMs(this.#retries, RETRY);
    this.#retryTimer = unrefTimer(setTimeout(retry, waitMs));
  }

  #isResting(server: string): boolean {
    const failedAt = this.#failedAt?.get(server);
    if (failedAt === undefined || performance.now() - failedAt >= REST_MS) return false;
    const status = this.port.pool.peek(server)?.state.status;
    // A login or a new connection ends the rest.
    return status === "failed" || status === "authenticating" || status === "closed";
  }

  /** Resolves with the read, or after the limit; a list that arrives later is reported. */
  async #within(
    server: string,
    key: ListKey,
    providing: Promise<boolean>,
    { limitMs, signal }: { limitMs: number; signal: AbortSignal | undefined },
  ): Promise<void> {
    const moreMs = this.#isFirst(server, key) ? FIRST_LIST_MS - limitMs : 0;
    try {
      await withDeadline(providing, { timeoutMs: limitMs, signal, onTimeout }).catch(async (error) => {
        if (error !== LATE || moreMs <= 0 || (await this.#restore(server, key).catch(() => false)))
          throw error;
        await withDeadline(providing, { timeoutMs: moreMs, signal, onTimeout });
      });
    } catch (error) {
      if (error !== LATE) throw error;
      this.#miss(server, key);
    }
  }

  /** The server connects for the first time, or is connected, and no request has waited in vain for it. */
  #isFirst(server: string, key: ListKey): boolean {
    const { catalog, pool } = this.port;
    const isMissing = [...(this.#missing?.values() ?? [])].some(([name]) => name === server);
    if (catalog.knows(server, key) || isMissing || this.#failedAt?.has(server)) return false;
    const status = pool.peek(server)?.state.status;
    return status !== "failed" && status !== "reconnecting" && status !== "authenticating";
  }
}

const idOf = (server: string, key: ListKey): string => `${key} ${server}`;
