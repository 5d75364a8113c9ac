/**
 * Reads the lists of the servers of one port, and keeps them up to date.
 *
 * A list is *fresh* until its time to live has passed or it has *changed*: its server reported a change since the read began, or
 * may have made one unnoticed. A *shared* list was read for another user: its server marks it as public. An ordinary port reads
 * all lists of a server when it connects, and changed ones again. The port of a gateway's user reads each list when a client
 * needs it, and follows changes only while a client listens.
 */
import type { CatalogOptions } from "../catalog/catalog-options.js";
import {
  exportRead,
  isSameKept,
  type Kept,
  type KeptRead,
  listsOf,
  mergeLists,
  publicKeysOf,
  type ReadLists,
} from "../catalog/kept-lists.js";
import { itemFindings, listFindings } from "../catalog/list-findings.js";
import { type DueLists, ListRefresher, type RereadOutcome } from "../catalog/list-refresher.js";
import {
  emptyList,
  isStale,
  type ListKey,
  NO_LISTS,
  type OneList,
  readList,
  toOneList,
} from "../catalog/server-lists.js";
import type { ServerConfig } from "../config/server-config.js";
import type { ServerConnection, WaitOptions } from "../connection/server-connection.js";
import { toToolportError } from "../errors/to-toolport-error.js";
import { LIST_KEYS, type ListName, listNameOf } from "../protocol/change-watch.js";
import type { Session } from "../protocol/session.js";
import { fullJitterMs } from "../util/backoff.js";
import { withDeadline } from "../util/with-deadline.js";
import type { PortCore } from "./port-core.js";

/** Options of `port.need`. */
export interface NeedOptions {
  /** Names of the servers. @default all */
  readonly servers?: readonly string[] | undefined;
  /** How long to wait for servers that are not connected, or whose old lists can be used. @default 1000 */
  readonly limitMs?: number | undefined;
  readonly signal?: AbortSignal | undefined;
}

interface ReadWait {
  readonly signal?: AbortSignal | undefined;
  /** Time limit of each list. @default that of the port */
  readonly timeoutMs?: number | undefined;
}

/** A read of several lists that is under way. */
interface Reading {
  readonly keys: readonly ListKey[];
  readonly promise: Promise<void>;
}

/** A session whose changes are noticed. */
interface FollowedSession {
  /** Reads changed lists again. */
  readonly refresher: ListRefresher;
  /** When the server began to report changes of a list, in the order of reads and changes. */
  readonly since: ReadonlyMap<ListKey, number>;
}

/** A list that is being provided. */
interface Providing {
  promise: Promise<boolean>;
  /** When it was requested, in the order of reads and changes. Infinity before that. */
  order: number;
}

interface Change {
  /** In the order of reads and changes. */
  readonly order: number;
  /** Milliseconds since 1970. */
  readonly at: number;
}

interface NamedList {
  readonly server: string;
  readonly key: ListKey;
}

const LIMIT_MS = 1_000;
/** Limit for the first list of a server that has not failed yet: a program may take seconds to start, and many clients ask once. */
const FIRST_LIST_MS = 10_000;
/** Age at which a list is read again if the server gives no time to live and the port does not listen. */
const UNWATCHED_MS = 30_000;
/** A server that failed is not tried again by every request. */
const REST_MS = 5_000;
/** Bounds of the pause between attempts to read the lists of failed servers, on top of the rest. */
const RETRY = { baseMs: 2_000, maxMs: 30_000 };
const LATE = new Error("The list is late");

export class ListReader {
  readonly #port: PortCore;
  readonly #options: CatalogOptions;
  /** Orders reads and changes. */
  #order = 0;
  /** By list and server, like the other maps of lists. Created when they are needed, because a gateway has many idle users. */
  #changes: Map<string, Change> | undefined;
  #providing: Map<string, Providing> | undefined;
  /** The last read of several lists that is under way, by server. */
  #readings: Map<string, Reading> | undefined;
  #followed: Map<Session, FollowedSession> | undefined;
  /** Ends noticing that shared lists are replaced, by server. */
  #sharing: Map<string, () => void> | undefined;
  /** Number of clients that listen. */
  #listeners = 0;
  /** Ends listening, by session. */
  #streams: Map<Session, Promise<() => void>> | undefined;
  /** Servers that a request has waited for in vain. */
  #late: Set<string> | undefined;
  /** When a server could not be reached (`performance.now()`). */
  #failedAt: Map<string, number> | undefined;
  /** Lists of failed servers, which are tried again while a client listens. */
  #missing: Map<string, NamedList> | undefined;
  #retries = 0;
  #retryTimer: ReturnType<typeof setTimeout> | undefined;

  constructor(port: PortCore) {
    this.#port = port;
    this.#options = port.catalog.options;
  }

  /** True while a client listens. */
  get isListening(): boolean {
    return this.#listeners > 0;
  }

  /** True if the list has changed, or may have, since the known one was requested. */
  isChanged(server: string, key: ListKey): boolean {
    return this.#isOutdated(server, key, this.#readOf(server, key)?.order ?? 0);
  }

  /** Makes the next need read the list again, even if a read is under way. */
  markChanged(server: string, key: ListKey): void {
    this.#changes ??= new Map();
    this.#changes.set(idOf(server, key), { order: this.#next(), at: Date.now() });
  }

  /** A session is open. Its changes are followed, and an ordinary port reads all lists. */
  async connected(session: Session, signal: AbortSignal): Promise<void> {
    const { server } = session;
    this.#follow(session);
    if (this.#port.isLean) {
      if (!this.isListening) return;
      // Changes may have been missed before.
      this.#check(server, this.#own(server, LIST_KEYS));
      return this.#listenTo(session);
    }
    // Public lists of other users are used for the first read only: not on a session without any response yet, and not after a
    // reconnect, because the server may have changed.
    const isFirst = this.#keptOf(server)?.origin !== "server" && !session.unproven;
    const shared = isFirst ? LIST_KEYS.flatMap((key) => this.#sharedList(session, key) ?? []) : [];
    await this.#readAll(session, LIST_KEYS, { signal }, shared);
    if (shared.length > 0) this.#followShared(server);
  }

  /** Reads the lists of a server again: all, or those that are known. Rejects if the tools cannot be read. */
  reread(session: Session, wait: ReadWait): Promise<void> {
    const isKnown = (key: ListKey) => key === "tools" || this.#readOf(session.server, key) !== undefined;
    return this.#readAll(session, this.#port.isLean ? LIST_KEYS.filter(isKnown) : LIST_KEYS, wait);
  }

  /** Reads the lists of a ready session again that are too old. Concurrent callers share one read. */
  async refreshStale(session: Session, config: ServerConfig, wait: ReadWait): Promise<void> {
    const stale = LIST_KEYS.filter((key) => this.#isTooOld(config, key));
    const running = this.#readings?.get(session.server);
    if (running !== undefined && stale.every((key) => running.keys.includes(key))) return running.promise;
    if (stale.length > 0) await this.#readAll(session, stale, wait);
  }

  /** Makes a list of these servers known. Rejects only if the port is closed or the signal aborts. */
  async need(key: ListKey, { servers, limitMs = LIMIT_MS, signal }: NeedOptions = {}): Promise<void> {
    await this.#port.opened();
    signal?.throwIfAborted();
    const { catalog, pool } = this.#port;
    for (const name of servers ?? []) if (pool.configOf(name) === undefined) pool.require(name);
    const pending = (servers ?? pool.names).flatMap((server) => {
      const providing = this.provide(server, key);
      if (providing === undefined) return [];
      const timeoutMs = this.#isFirst(server, key) ? Math.max(limitMs, FIRST_LIST_MS) : limitMs;
      return [this.#within(providing, { server, key }, { limitMs, timeoutMs, signal })];
    });
    if (key === "tools") pending.push(catalog.checkDuePins());
    if (pending.length > 0) await Promise.all(pending);
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
    const { pool, isLean } = this.#port;
    const config = pool.configOf(server);
    if (config === undefined || !config.enabled || config.blocked !== undefined) return undefined;
    if (isLean && !this.isChanged(server, key) && !this.#isTooOld(config, key)) return undefined;
    const id = idOf(server, key);
    this.#providing ??= new Map();
    const running = this.#providing.get(id);
    if (running !== undefined && !this.#isOutdated(server, key, running.order)) return running.promise;
    const providing: Providing = { promise: Promise.resolve(false), order: Number.POSITIVE_INFINITY };
    providing.promise = this.#provide(config, key, providing).finally(() => {
      if (this.#providing?.get(id) === providing) this.#providing.delete(id);
    });
    this.#providing.set(id, providing);
    return providing.promise;
  }

  /** Listens for changes until the returned function is called. */
  listen(): () => void {
    const { isLean, pool } = this.#port;
    this.#listeners += 1;
    // An ordinary port listens to all its servers anyway.
    if (this.#listeners === 1 && isLean) for (const name of pool.names) this.#watch(name);
    let isOver = false;
    return () => {
      if (isOver) return;
      isOver = true;
      this.#listeners -= 1;
      if (this.#listeners === 0) this.#stopListening();
    };
  }

  /** A server was added or removed. Another one may get its name. */
  serversChanged(server: string): void {
    this.#sharing?.get(server)?.();
    this.#sharing?.delete(server);
    if (this.isListening) this.#emit(server, ["tools", "resources", "prompts"]);
  }

  /** Stops listening, and clears the timer. */
  close(): void {
    this.#stopListening();
    this.#stopSharing();
  }

  /**
   * Reads these lists. Rejects if the tools, or the lists of a gateway's user, cannot be read. Another list then counts as empty.
   *
   * @param shared lists that need not be read
   */
  async #readAll(
    session: Session,
    keys: readonly ListKey[],
    wait: ReadWait,
    shared: readonly OneList[] = [],
  ): Promise<void> {
    const { server } = session;
    const { isLean } = this.#port;
    const order = this.#next();
    const lists = keys.map(async (key) => {
      try {
        return shared.find((one) => one.key === key) ?? (await this.#readOne(session, key, wait));
      } catch (error) {
        if (key === "tools" || isLean || wait.signal?.aborted) throw error;
        this.#warn(server, `Its ${key} could not be listed: ${messageOf(error)}`);
        return { ...emptyList(key), keepMs: 0 };
      }
    });
    const keeping = Promise.all(lists).then((read) =>
      this.#keep(server, { session, lists: read, order }, isLean),
    );
    await this.#track(server, keys, keeping);
  }

  /** Notes a read until it has ended. */
  async #track(server: string, keys: readonly ListKey[], promise: Promise<unknown>): Promise<void> {
    const reading: Reading = { keys, promise: promise.then(() => {}) };
    this.#readings ??= new Map();
    this.#readings.set(server, reading);
    await reading.promise.finally(() => {
      if (this.#readings?.get(server) === reading) this.#readings.delete(server);
    });
  }

  #readOne(session: Session, key: ListKey, { signal, timeoutMs }: ReadWait): Promise<OneList> {
    return readList(session, key, {
      signal,
      timeoutMs: timeoutMs ?? this.#options.listTimeoutMs,
      intern: this.#intern,
      onWarning: (message) => this.#warn(session.server, message),
    });
  }

  /**
   * Keeps lists that were read, and shares the public ones. Resolves with those that are the same as before.
   *
   * @param isCheck nobody need know of lists that are the same
   */
  async #keep(server: string, read: ReadLists, isCheck: boolean): Promise<ListKey[]> {
    const { catalog, isLean } = this.#port;
    const { publicLists, onRead, onListsChanged } = this.#options;
    const lists = { ...NO_LISTS, ...listsOf(read.lists) };
    const keys = read.lists.map(({ key }) => key);
    if (keys.includes("tools") && isNews(lists.tools.tools))
      for (const finding of listFindings(lists.tools)) this.#warn(server, finding);
    const examined = await catalog.examine(server, { lists, keys });
    const before = this.#keptOf(server);
    const kept = mergeLists(before, read, examined);
    const refused = [...kept.refusedItems].filter(([item]) => before?.refusedItems.has(item) !== true);
    for (const finding of itemFindings(new Map(refused))) this.#warn(server, finding);
    const same = keys.filter((key) => isSameKept(key, before, kept));
    const isSame = isCheck && same.length === keys.length;
    catalog.keep(server, kept, { isSame });
    for (const { key, paged, isShared } of read.lists)
      if (!isShared && paged !== undefined && !this.#isOutdated(server, key, read.order))
        publicLists.keep(server, key, paged);
    if (isSame) return same;
    const isKnown = (key: ListKey) => before?.reads[key] !== undefined && !same.includes(key);
    const changed = isLean ? keys.filter(isKnown).map(listNameOf) : [];
    if (changed.length > 0) onListsChanged(server, [...new Set(changed)]);
    onRead?.(server, () => exportRead(kept), publicKeysOf(kept));
    return same;
  }

  /** Notices changes that the server reports, and those that may have been missed. */
  #follow(session: Session): void {
    const { server } = session;
    const { publicLists } = this.#options;
    const refresher = new ListRefresher({
      read: (due) => this.#readDue(session, due),
      onRead: (lists) => this.#options.onListsChanged(server, lists),
    });
    const off = session.onListChanged((list) => {
      publicLists.changed(server, list);
      for (const key of keysOf(list)) this.markChanged(server, key);
      refresher.changed(list);
    });
    const since = new Map(
      LIST_KEYS.filter((key) => session.isReporting(key)).map((key) => [key, this.#next()]),
    );
    let isFirst = since.size === 0;
    const offListening = session.onListening((keys) => {
      for (const key of keys) since.set(key, this.#next());
      // The server allows the use of a shared list that is older than its first report. It is read again when it is replaced.
      this.#check(server, isFirst ? this.#own(server, keys) : keys, refresher);
      isFirst = false;
    });
    this.#followed ??= new Map();
    this.#followed.set(session, { refresher, since });
    void session.closed.then(() => {
      off();
      offListening();
      refresher.close();
      this.#followed?.delete(session);
    });
  }

  /** Reads lists again that have changed, or may have. Never rejects. */
  async #readDue(session: Session, due: DueLists): Promise<RereadOutcome> {
    const { server } = session;
    const names = [...due.keys()];
    const isUnsure = (name: ListName) => due.get(name) === "unsure";
    if (this.#port.isLean) {
      // Clients ask for a list that was reported. Differences of the others are reported when they are found.
      const unsure = names.filter(isUnsure);
      if (this.isListening) await Promise.all(unsure.flatMap(keysOf).map((key) => this.provide(server, key)));
      return { failed: [], same: unsure };
    }
    // One read at a time, which may be newer than the change.
    await this.#readings?.get(server)?.promise.catch(() => {});
    const keys = names.flatMap(keysOf).filter((key) => this.isChanged(server, key));
    const failed = new Set<ListName>();
    const onFailure = (key: ListKey, error: unknown) => {
      const name = listNameOf(key);
      const { code, message } = toToolportError(error, { server });
      // No warning after the session has closed: the next session reads all lists.
      if (!failed.has(name) && code !== "CLOSED")
        this.#warn(server, `The list of ${name} could not be read again: ${message}`);
      failed.add(name);
      return [];
    };
    const order = this.#next();
    const read = async () => {
      const reading = keys.map((key) =>
        this.#readOne(session, key, {}).then(
          (list) => [list],
          (error: unknown) => onFailure(key, error),
        ),
      );
      const lists = (await Promise.all(reading)).flat();
      const isCheck = lists.every(({ key }) => isUnsure(listNameOf(key)));
      const same = await this.#keep(server, { session, lists, order }, isCheck);
      const isSame = (name: ListName) =>
        keysOf(name).every((key) => !keys.includes(key) || same.includes(key));
      return names.filter((name) => isUnsure(name) && !failed.has(name) && isSame(name));
    };
    const reading = read();
    try {
      await this.#track(server, keys, reading);
      return { failed: [...failed], same: await reading };
    } catch (error) {
      this.#warn(server, `The lists could not be read again: ${messageOf(error)}`);
      return { failed: names, same: [] };
    }
  }

  /** Changes of these lists may have been missed. Those that are known are read again, for a gateway's user if a client listens. */
  #check(server: string, keys: readonly ListKey[], refresher = this.#refresherOf(server)): void {
    const { isLean } = this.#port;
    for (const key of keys) {
      const isConcerned = this.#readOf(server, key) !== undefined || this.#providing?.has(idOf(server, key));
      if (isLean && !isConcerned) continue;
      this.markChanged(server, key);
      if (isLean && !this.isListening) continue;
      if (refresher !== undefined) refresher.unsure(listNameOf(key));
      else if (isLean) void this.provide(server, key);
    }
  }

  /** Begins to notice changes of the lists of a server. */
  #watch(server: string): void {
    const session = this.#port.pool.peek(server)?.session;
    const { since } = (session && this.#followed?.get(session)) ?? {};
    // Changes may have been missed: without a session all of them, otherwise those before the server began to report.
    const isOlder = (key: ListKey) =>
      since === undefined || (this.#readOf(server, key)?.order ?? 0) < (since.get(key) ?? 0);
    this.#check(server, this.#own(server, LIST_KEYS).filter(isOlder));
    if (session !== undefined) void this.#listenTo(session);
    if (LIST_KEYS.some((key) => this.#isShared(server, key))) this.#followShared(server);
  }

  /** Resolves when the server reports changes, or takes long. */
  async #listenTo(session: Session): Promise<void> {
    this.#streams ??= new Map();
    const listening = this.#streams.get(session) ?? session.listen();
    if (!this.#streams.has(session)) void session.closed.then(() => this.#streams?.delete(session));
    this.#streams.set(session, listening);
    await listening;
  }

  #stopListening(): void {
    for (const stop of this.#streams?.values() ?? []) void stop.then((end) => end());
    this.#streams = undefined;
    this.#missing = undefined;
    clearTimeout(this.#retryTimer);
    this.#retryTimer = undefined;
    if (this.#port.isLean) this.#stopSharing();
  }

  /** Notices when a shared list is replaced: an ordinary port at once, that of a gateway's user while a client listens. */
  #followShared(server: string): void {
    const { isLean } = this.#port;
    if ((isLean && !this.isListening) || this.#sharing?.has(server)) return;
    this.#sharing ??= new Map();
    const stop = this.#options.publicLists.onReplaced(server, (key) => {
      if (this.#isShared(server, key)) this.#check(server, [key]);
    });
    this.#sharing.set(server, stop);
    // They were not followed until now.
    this.#check(
      server,
      LIST_KEYS.filter((key) => this.#isReplaced(server, key)),
    );
  }

  #stopSharing(): void {
    for (const stop of this.#sharing?.values() ?? []) stop();
    this.#sharing = undefined;
  }

  /** A public list that was read for another user. */
  #sharedList(
    session: ReadLists["session"] & { readonly server: string },
    key: ListKey,
  ): OneList | undefined {
    const list = this.#options.publicLists.fresh(session.server, key);
    if (list === undefined) return undefined;
    const items = this.#intern?.(key, list.items) ?? list.items;
    return { ...toOneList(key, { ...list, items }, session), isShared: true };
  }

  /** Uses a list of another user. False if there is none, or if it was replaced in the meantime. */
  async #useShared({ name: server, kind }: ServerConfig, key: ListKey): Promise<boolean> {
    // Only modern servers mark lists as public.
    const session = { server, era: "modern", transport: kind } as const;
    const list = this.#sharedList(session, key);
    const changedAt = this.#changes?.get(idOf(server, key))?.at ?? Number.NEGATIVE_INFINITY;
    if (list === undefined || list.readAt <= changedAt) return false;
    await this.#keep(server, { session, lists: [list], order: this.#next() }, true);
    return !this.#isReplaced(server, key);
  }

  #isShared(server: string, key: ListKey): boolean {
    return this.#readOf(server, key)?.isShared === true;
  }

  /** Whether the known list was read for another user, and is not the one that users get now. */
  #isReplaced(server: string, key: ListKey): boolean {
    const { lists, session } = this.#keptOf(server) ?? {};
    if (session === undefined || !this.#isShared(server, key)) return false;
    return this.#sharedList({ ...session, server }, key)?.list !== lists?.[key];
  }

  /** Without lists of other users: the server allows their use for some time, and they are followed. */
  #own(server: string, keys: readonly ListKey[]): ListKey[] {
    return keys.filter((key) => !this.#isShared(server, key));
  }

  async #provide(config: ServerConfig, key: ListKey, providing: Providing): Promise<boolean> {
    const { isLean } = this.#port;
    const { name } = config;
    try {
      if (isLean && (await this.#useShared(config, key))) {
        this.#followShared(name);
        return true;
      }
      if (this.#isResting(name)) return await this.#fallBack(config, key);
      if (isLean) await this.#connectAndRead(name, key, providing);
      else await this.#bringUp(name);
      this.#failedAt?.delete(name);
      this.#missing?.delete(idOf(name, key));
      return true;
    } catch {
      // The state of the connection contains the error, and the events have reported it.
      this.#failedAt ??= new Map();
      this.#failedAt.set(name, performance.now());
      return this.#fallBack(config, key);
    }
  }

  async #connectAndRead(name: string, key: ListKey, providing: Providing): Promise<void> {
    const { pool, parts } = this.#port;
    const read = (session: Session) => {
      providing.order = this.#order;
      // With a scan, other lists must be known before their entries are used.
      return this.#readAll(session, parts.settings.scan === undefined ? [key] : LIST_KEYS, {});
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
    if (this.isListening) this.#retryLater(config.name, key);
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

  #retryLater(server: string, key: ListKey): void {
    this.#missing ??= new Map();
    this.#missing.set(idOf(server, key), { server, key });
    if (this.#retryTimer !== undefined) return;
    this.#retries += 1;
    this.#retryTimer = setTimeout(() => this.#retry(), REST_MS + fullJitterMs(this.#retries, RETRY));
    if (typeof this.#retryTimer === "object") this.#retryTimer.unref?.();
  }

  #retry(): void {
    this.#retryTimer = undefined;
    const missing = [...(this.#missing?.values() ?? [])];
    this.#missing = undefined;
    for (const { server, key } of missing)
      void this.provide(server, key)?.then((isRead) => {
        if (!isRead) return;
        this.#retries = 0;
        this.#emit(server, [listNameOf(key)]);
      });
  }

  #isResting(server: string): boolean {
    const failedAt = this.#failedAt?.get(server);
    if (failedAt === undefined || performance.now() - failedAt >= REST_MS) return false;
    const status = this.#port.pool.peek(server)?.state.status;
    // A login or a new connection ends the rest.
    return status === "failed" || status === "authenticating" || status === "closed";
  }

  /** The server connects for the first time, or is connected, and no request has waited in vain for it. */
  #isFirst(server: string, key: ListKey): boolean {
    const { catalog, pool } = this.#port;
    if (catalog.knows(server, key) || this.#late?.has(server) || this.#failedAt?.has(server)) return false;
    const status = pool.peek(server)?.state.status;
    return status !== "failed" && status !== "reconnecting" && status !== "authenticating";
  }

  /** Resolves with the read, or after the limit; a list that arrives later is reported. */
  async #within(
    providing: Promise<boolean>,
    { server, key }: NamedList,
    { limitMs, timeoutMs, signal }: { limitMs: number; timeoutMs: number; signal: AbortSignal | undefined },
  ): Promise<void> {
    const onTimeout = () => LATE;
    try {
      await withDeadline(providing, { timeoutMs: limitMs, signal, onTimeout }).catch(async (error) => {
        if (error !== LATE || limitMs >= timeoutMs) throw error;
        if (await this.#restore(server, key).catch(() => false)) throw error;
        await withDeadline(providing, { timeoutMs: timeoutMs - limitMs, signal, onTimeout });
      });
    } catch (error) {
      if (error !== LATE) throw error;
      this.#late ??= new Set();
      this.#late.add(server);
      void providing.then((isRead) => {
        this.#late?.delete(server);
        if (isRead) this.#emit(server, [listNameOf(key)]);
      });
    }
  }

  #isTooOld(config: ServerConfig, key: ListKey): boolean {
    const { name } = config;
    const read = this.#readOf(name, key);
    if (read === undefined) return true;
    const { isLean, parts } = this.#port;
    const ttlMs = read.ttlMs ?? (isLean && !this.#isWatched(name, key) ? UNWATCHED_MS : undefined);
    return isStale({ readAt: read.readAt, ttlMs }, config.cache ?? parts.settings.cache);
  }

  /** True if the server reports changes of this list to this port now. */
  #isWatched(server: string, key: ListKey): boolean {
    const session = this.#port.pool.peek(server)?.session;
    return session !== undefined && this.#streams?.has(session) === true && session.isReporting(key);
  }

  /** Whether a read that began then is too old. */
  #isOutdated(server: string, key: ListKey, order: number): boolean {
    return order < (this.#changes?.get(idOf(server, key))?.order ?? 0);
  }

  #next(): number {
    this.#order += 1;
    return this.#order;
  }

  #keptOf(server: string): Kept | undefined {
    return this.#port.catalog.keptOf(server);
  }

  #readOf(server: string, key: ListKey): KeptRead | undefined {
    return this.#keptOf(server)?.reads[key];
  }

  #refresherOf(server: string): ListRefresher | undefined {
    const session = this.#port.pool.peek(server)?.session;
    return session && this.#followed?.get(session)?.refresher;
  }

  /** Equal lists of different users are kept once. */
  get #intern(): ((key: ListKey, items: readonly unknown[]) => readonly unknown[]) | undefined {
    const { isLean, parts } = this.#port;
    return isLean ? (key, items) => parts.interned.intern(key, items) : undefined;
  }

  #warn(server: string, message: string): void {
    this.#options.onWarning(server, message);
  }

  #emit(server: string, lists: readonly ListName[]): void {
    this.#options.onListsChanged(server, lists);
  }
}

const idOf = (server: string, key: ListKey): string => `${key} ${server}`;

const keysOf = (list: ListName): ListKey[] => LIST_KEYS.filter((key) => listNameOf(key) === list);

const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));

const reported = new WeakSet<object>();

/** True for a list that no user has read before: its findings are reported once. */
function isNews(list: object): boolean {
  const isFirst = !reported.has(list);
  reported.add(list);
  return isFirst;
}
