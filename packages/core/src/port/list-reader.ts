/**
 * Reads the lists of the servers of one port, and keeps them up to date.
 *
 * A list is *fresh* until its time to live has passed or it has *changed*: its server reported a change since the read began, or
 * may have made one unnoticed. A *shared* list was read for another user: its server marks it as public. A port that reads lists
 * when it connects reads them all, and changed ones again. A port that reads each list when it is needed follows changes only while
 * a caller listens.
 */

import { toToolportError } from "@toolport/base";
import type { Kept, KeptRead, ReadLists } from "../catalog/kept-lists.js";
import { type DueLists, ListRefresher } from "../catalog/list-refresher.js";
import {
  emptyList,
  isStale,
  type ListKey,
  type OneList,
  readList,
  toOneList,
} from "../catalog/server-lists.js";
import { configIdentity, type ServerConfig } from "../config/server-config.js";
import { keysOf, LIST_KEYS, type ListName, listNameOf } from "../protocol/change-watch.js";
import type { Session } from "../protocol/session.js";
import type { PortCore } from "./port-core.js";

export type ListedPort = PortCore & { readonly lists: ListReader };

interface ReadWait {
  readonly signal?: AbortSignal | undefined;
  /** Time limit of each list. @default that of the port */
  readonly timeoutMs?: number | undefined;
}

/** A session whose changes are noticed. */
interface FollowedSession {
  readonly session: Session;
  /** Reads changed lists again. */
  readonly refresher: ListRefresher;
  /** When the server began to report changes, in the order of reads and changes. */
  since: number;
  /** Ends listening. Undefined if no caller listens. */
  listening?: Promise<() => void> | undefined;
}

/** Age at which a list is read again if the server gives no time to live and the port does not listen. */
const UNWATCHED_MS = 30_000;

export class ListReader {
  /** The last position in the order of reads and changes. */
  #order = 0;
  // The maps are created when they are needed, because many users are idle.
  /** When a list changed, in the order of reads and changes and as milliseconds since 1970, by list and server. */
  #changes: Map<string, { readonly order: number; readonly at: number }> | undefined;
  /** Reads under way, and when they began in the order of reads and changes, by list and server. */
  #readings:
    | Map<string, { readonly session: Session; readonly order: number; readonly done: Promise<unknown> }>
    | undefined;
  /** By server. */
  #followed: Map<string, FollowedSession> | undefined;
  /** Number of callers that listen. */
  #listeners = 0;

  /** @param provide makes a list known, unless it is known and fresh; never rejects */
  constructor(
    private readonly port: PortCore,
    private readonly provide: (server: string, key: ListKey) => Promise<boolean> | undefined,
  ) {}

  get #isOnDemand(): boolean {
    return this.port.reads === "needed";
  }

  /** True while a caller listens. */
  get isListening(): boolean {
    return this.#listeners > 0;
  }

  /** True if the list has changed, or may have, since the known one was requested. */
  isChanged(server: string, key: ListKey): boolean {
    return this.#isOutdated(server, key, this.#readOf(server, key)?.order ?? 0);
  }

  /** False if the list must be read. */
  isFresh(config: ServerConfig, key: ListKey): boolean {
    return !this.isChanged(config.name, key) && !this.#isTooOld(config, key);
  }

  /** Makes the next need read the list again, even if a read is under way. */
  markChanged(server: string, key: ListKey): void {
    this.#changes ??= new Map();
    this.#changes.set(idOf(server, key), { order: this.#next(), at: Date.now() });
  }

  /** A session is open: its changes are followed, and all lists are read, unless that waits until they are needed. */
  async connected(session: Session, signal: AbortSignal): Promise<void> {
    const { server } = session;
    this.#follow(session);
    if (this.#isOnDemand) {
      if (!this.isListening) return;
      // Changes may have been missed before.
      this.#check(server, this.#own(server, LIST_KEYS));
      return this.#listenTo(server);
    }
    // Public lists of other users are used for the first read only: not on a session without any response yet, and not after a
    // reconnect, because the server may have changed.
    const isFirst = this.#keptOf(server)?.origin !== "server" && !session.unproven;
    const shared = isFirst ? LIST_KEYS.flatMap((key) => this.#sharedList(server, key) ?? []) : [];
    await this.#request(session, LIST_KEYS, { signal, shared });
  }

  /** Reads the lists of a server again: all, or those that are known. Rejects if the tools cannot be read. */
  async reread(session: Session, wait: ReadWait): Promise<void> {
    const isKnown = (key: ListKey) => key === "tools" || this.#readOf(session.server, key) !== undefined;
    await this.#request(session, this.#isOnDemand ? LIST_KEYS.filter(isKnown) : LIST_KEYS, wait);
  }

  /** Reads the lists of a ready session again that are too old. */
  refreshStale(session: Session, config: ServerConfig, wait: ReadWait): Promise<void> {
    const stale = LIST_KEYS.filter((key) => this.#isTooOld(config, key));
    return this.read(session, stale, wait);
  }

  /**
   * Reads these lists. Concurrent callers share one read of a list, unless the list has changed since it began. Rejects if the
   * tools, or a list that is needed, cannot be read. Another list then counts as empty.
   */
  async read(session: Session, keys: readonly ListKey[], wait: ReadWait = {}): Promise<void> {
    const { server } = session;
    const runningRead = (key: ListKey) => {
      const reading = this.#readings?.get(idOf(server, key));
      return reading?.session === session && !this.#isOutdated(server, key, reading.order)
        ? reading
        : undefined;
    };
    const reads = keys.map((key) => runningRead(key)?.done);
    const others = keys.filter((_, index) => reads[index] === undefined);
    await Promise.all([...reads, others.length > 0 && this.#request(session, others, wait)]);
  }

  /** Listens for changes until the returned function is called. */
  listen(): () => void {
    this.#listeners += 1;
    // Otherwise the port listens to all its servers anyway.
    if (this.#listeners === 1 && this.#isOnDemand) for (const name of this.port.pool.names) this.#watch(name);
    let isOver = false;
    return () => {
      if (isOver) return;
      isOver = true;
      this.#listeners -= 1;
      if (this.#listeners === 0 && this.#isOnDemand) this.close();
    };
  }

  /** A server was added or removed. */
  serversChanged(server: string): void {
    if (this.isListening) this.#emit(server, LIST_KEYS);
  }

  /** Ends listening. */
  close(): void {
    for (const followed of this.#followed?.values() ?? []) {
      void followed.listening?.then((end) => end());
      followed.listening = undefined;
    }
    this.port.parts.publicLists.replacedListeners.delete(this.#replaced);
  }

  /**
   * Requests these lists and keeps them. Resolves with those that differ from before, and those that could not be read.
   *
   * @param request `shared`: lists that need not be read. `isReread`: a list that cannot be read keeps its last state.
   * `isCheck`: lists that are the same as before are not reported
   */
  async #request(
    session: Session,
    keys: readonly ListKey[],
    request: ReadWait & { shared?: readonly OneList[]; isReread?: boolean; isCheck?: boolean },
  ): Promise<Record<"changed" | "failed", readonly ListKey[]>> {
    const { server } = session;
    const { shared = [], isReread = false, isCheck = this.#isOnDemand, signal, timeoutMs } = request;
    const order = this.#next();
    const failed: ListKey[] = [];
    const options = {
      signal,
      timeoutMs: timeoutMs ?? this.port.catalog.options.listTimeoutMs,
      intern: this.#intern,
      onWarning: (message: string) => this.#warn(server, message),
    };
    const readOne = async (key: ListKey): Promise<readonly OneList[]> => {
      try {
        return [shared.find((one) => one.key === key) ?? (await readList(session, key, options))];
      } catch (error) {
        if (!isReread && (key === "tools" || this.#isOnDemand || signal?.aborted)) throw error;
        const { code, message } = toToolportError(error, { server });
        // No warning after the session has closed: the next session reads all lists.
        if (code !== "CLOSED")
          this.#warn(server, `The list of ${key} could not be read${isReread ? " again" : ""}: ${message}`);
        failed.push(key);
        return isReread ? [] : [{ ...emptyList(key), keepMs: 0 }];
      }
    };
    const done = Promise.all(keys.map(readOne)).then((lists) =>
      this.#keep(server, { session, lists: lists.flat(), order }, isCheck),
    );
    const reading = { session, order, done };
    this.#readings ??= new Map();
    for (const key of keys) this.#readings.set(idOf(server, key), reading);
    try {
      const changed = await done;
      if (!isReread) this.#check(server, failed);
      return { changed, failed };
    } finally {
      for (const key of keys)
        if (this.#readings.get(idOf(server, key)) === reading) this.#readings.delete(idOf(server, key));
    }
  }

  /** Keeps lists that were read, and shares the public ones. Resolves with those that differ from before. */
  async #keep(server: string, read: ReadLists, isCheck: boolean): Promise<readonly ListKey[]> {
    const { catalog, pool, parts } = this.port;
    const changed = await catalog.merge(server, read, isCheck);
    const config = pool.configOf(server);
    for (const { key, paged, isShared } of read.lists) {
      // Changes before the read are over: many idle users remember none.
      if (!this.isChanged(server, key)) this.#changes?.delete(idOf(server, key));
      if (isShared) this.#followShared(server, [key]);
      else if (config && paged && !this.#isOutdated(server, key, read.order))
        parts.publicLists.keep(config, key, paged);
    }
    // Otherwise changes are reported when the lists have been read again.
    if (this.#isOnDemand) this.#emit(server, changed);
    return changed;
  }

  /** Notices changes that the server reports, and those that may have been missed. */
  #follow(session: Session): void {
    const { server } = session;
    const { pool, parts } = this.port;
    const refresher = new ListRefresher((due) => this.#readDue(session, due));
    const followed: FollowedSession = { session, refresher, since: this.#next() };
    let isFirst = !LIST_KEYS.some((key) => session.isReporting(key));
    const ended = () => {
      refresher.close();
      if (this.#followed?.get(server) === followed) this.#followed.delete(server);
    };
    session.followLists({
      changed: (list) => {
        const config = pool.configOf(server);
        if (config !== undefined) parts.publicLists.changed(config, list);
        for (const key of keysOf(list)) this.markChanged(server, key);
        refresher.changed(list);
      },
      reporting: (keys) => {
        followed.since = this.#next();
        // The server allows the use of a shared list that is older than its first report. It is read again when it is replaced.
        this.#check(server, isFirst ? this.#own(server, keys) : keys);
        isFirst = false;
      },
      ended,
    });
    this.#followed ??= new Map();
    this.#followed.set(server, followed);
    void session.closed.then(ended);
  }

  /** Reads lists again that have changed, or may have, and reports them. Resolves with those that could not be read. */
  async #readDue(session: Session, due: DueLists): Promise<readonly ListName[]> {
    const { server } = session;
    const names = [...due.keys()];
    const reported = names.filter((name) => due.get(name) === "changed");
    if (this.#isOnDemand) {
      // Callers ask for a list that was reported. Differences of the others are reported when they are found.
      this.#emit(server, reported);
      const unsure = names.filter((name) => due.get(name) === "unsure").flatMap(keysOf);
      if (this.isListening) await Promise.all(unsure.map((key) => this.provide(server, key)));
      return [];
    }
    const all = names.flatMap(keysOf);
    // One read at a time, which may be newer than the change.
    await Promise.allSettled(all.map((key) => this.#readings?.get(idOf(server, key))?.done));
    const keys = all.filter((key) => this.isChanged(server, key));
    try {
      const request = { isReread: true, isCheck: reported.length === 0 };
      const { changed, failed } = await this.#request(session, keys, request);
      const unread = failed.map(listNameOf);
      const news = [...reported, ...changed].filter((key) => !unread.includes(listNameOf(key)));
      this.#emit(server, news);
      return unread;
    } catch (error) {
      this.#warn(server, `The lists could not be read again: ${toToolportError(error, { server }).message}`);
      return names;
    }
  }

  /** Changes of these lists may have been missed. Those that are known are read again: needed ones while a caller listens. */
  #check(server: string, keys: readonly ListKey[]): void {
    const refresher = this.#followed?.get(server)?.refresher;
    for (const key of keys) {
      const isConcerned = this.#readOf(server, key) !== undefined || this.#readings?.has(idOf(server, key));
      if (this.#isOnDemand && !isConcerned) continue;
      this.markChanged(server, key);
      if (this.#isOnDemand && !this.isListening) continue;
      if (refresher !== undefined) refresher.unsure(listNameOf(key));
      else if (this.#isOnDemand) void this.provide(server, key);
    }
  }

  /** Begins to notice changes of the lists of a server. */
  #watch(server: string): void {
    const { session, since } = this.#followed?.get(server) ?? {};
    // Changes may have been missed: without a session all of them, otherwise those before the server began to report.
    const isOlder = (key: ListKey) =>
      since === undefined ||
      (session?.isReporting(key) === true && (this.#readOf(server, key)?.order ?? 0) < since);
    this.#check(server, this.#own(server, LIST_KEYS).filter(isOlder));
    void this.#listenTo(server);
    this.#followShared(server, LIST_KEYS);
  }

  /** Resolves when the server reports changes, or takes long. */
  async #listenTo(server: string): Promise<void> {
    const followed = this.#followed?.get(server);
    if (followed === undefined) return;
    followed.listening ??= followed.session.listen();
    await followed.listening;
  }

  /** Notices when these lists are replaced, if they are shared, and whether that has happened already. */
  #followShared(server: string, keys: readonly ListKey[]): void {
    if (this.#isOnDemand && !this.isListening) return;
    this.port.parts.publicLists.replacedListeners.add(this.#replaced);
    const replaced = keys.filter((key) => this.#isReplaced(server, key));
    this.#check(server, replaced);
  }

  readonly #replaced = (identity: string, key: ListKey): void => {
    for (const config of this.port.pool.configs())
      if (configIdentity(config) === identity) this.#followShared(config.name, [key]);
  };

  /** A public list that was read for another user. */
  #sharedList(server: string, key: ListKey): OneList | undefined {
    const { pool, parts } = this.port;
    const config = pool.configOf(server);
    const list = config && parts.publicLists.fresh(config, key, config.cache ?? parts.settings.cache);
    if (config === undefined || list === undefined) return undefined;
    const items = this.#intern?.(key, list.items) ?? list.items;
    return { ...toOneList(key, { keepMs: 0, ...list, items }, publicSession(config)), isShared: true };
  }

  /** Uses a list of another user. False if there is none, or if it was replaced in the meantime. */
  async useShared(config: ServerConfig, key: ListKey): Promise<boolean> {
    const { name: server } = config;
    const list = this.#sharedList(server, key);
    const changedAt = this.#changes?.get(idOf(server, key))?.at ?? this.#readOf(server, key)?.readAt ?? 0;
    if (list === undefined || list.readAt <= changedAt) return false;
    await this.#keep(server, { session: publicSession(config), lists: [list], order: this.#next() }, true);
    return !this.#isReplaced(server, key);
  }

  /** Whether the known list was read for another user, and is not the one that users get now. */
  #isReplaced(server: string, key: ListKey): boolean {
    const { reads, lists } = this.#keptOf(server) ?? {};
    return reads?.[key]?.isShared === true && this.#sharedList(server, key)?.list !== lists?.[key];
  }

  /** Without lists of other users: the server allows their use for some time, and they are followed. */
  #own(server: string, keys: readonly ListKey[]): ListKey[] {
    return keys.filter((key) => this.#readOf(server, key)?.isShared !== true);
  }

  #isTooOld({ name, cache = this.port.parts.settings.cache }: ServerConfig, key: ListKey): boolean {
    const read = this.#readOf(name, key);
    if (read === undefined) return true;
    const { session, listening } = this.#followed?.get(name) ?? {};
    const isWatched = !this.#isOnDemand || (listening !== undefined && session?.isReporting(key));
    return isStale(
      { readAt: read.readAt, ttlMs: read.ttlMs ?? (isWatched ? undefined : UNWATCHED_MS) },
      cache,
    );
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
    return this.port.catalog.keptOf(server);
  }

  #readOf(server: string, key: ListKey): KeptRead | undefined {
    return this.#keptOf(server)?.reads[key];
  }

  /** Equal lists of different users are kept once. */
  get #intern(): ((key: ListKey, items: readonly unknown[]) => readonly unknown[]) | undefined {
    const { principal, parts } = this.port;
    return principal && ((key, items) => parts.interned.intern(key, items));
  }

  #warn(server: string, message: string): void {
    this.port.catalog.options.onWarning(server, message);
  }

  #emit(server: string, lists: readonly ListKey[]): void {
    if (lists.length > 0)
      this.port.catalog.options.onListsChanged(server, [...new Set(lists.map(listNameOf))]);
  }
}

const idOf = (server: string, key: ListKey): string => `${key} ${server}`;

/** Only modern servers mark lists as public. */
const publicSession = ({ kind }: ServerConfig): ReadLists["session"] => ({ era: "modern", transport: kind });
