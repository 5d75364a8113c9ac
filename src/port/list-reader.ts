/**
 * Reads the lists of the servers of one port, and keeps them up to date.
 *
 * A list is *fresh* until its time to live has passed or it has *changed*: its server reported a change since the read began, or
 * may have made one unnoticed. A *shared* list was read for another user: its server marks it as public. A port that reads lists
 * when it connects reads them all, and changed ones again. A port that reads each list when it is needed follows changes only while
 * a caller listens.
 */
import type { CatalogOptions } from "../catalog/catalog.js";
import type { Kept, KeptRead, ReadLists } from "../catalog/kept-lists.js";
import { type DueLists, ListRefresher, type RereadOutcome } from "../catalog/list-refresher.js";
import type { PublicLists } from "../catalog/public-lists.js";
import {
  emptyList,
  isStale,
  type ListKey,
  type OneList,
  readList,
  toOneList,
} from "../catalog/server-lists.js";
import { configIdentity, type ServerConfig } from "../config/server-config.js";
import { toToolportError } from "../errors/to-toolport-error.js";
import { LIST_KEYS, type ListName, listNameOf } from "../protocol/change-watch.js";
import type { Session } from "../protocol/session.js";
import type { PortCore } from "./port-core.js";

/** Makes a list known, unless it is known and fresh. Never rejects. */
type ProvideList = (server: string, key: ListKey) => Promise<boolean> | undefined;

export type ListedPort = PortCore & { readonly lists: ListReader };

interface ReadWait {
  readonly signal?: AbortSignal | undefined;
  /** Time limit of each list. @default that of the port */
  readonly timeoutMs?: number | undefined;
}

interface ListRequest extends ReadWait {
  /** Lists that need not be read. */
  readonly shared?: readonly OneList[];
  /** What to keep in place of a list that cannot be read. */
  readonly onFailure: (key: ListKey, error: unknown) => readonly OneList[];
  /** Lists that are the same as before are not reported. */
  readonly isCheck: boolean;
}

/** A session whose changes are noticed. */
interface FollowedSession {
  /** Reads changed lists again. */
  readonly refresher: ListRefresher;
  /** When the server began to report changes of a list, in the order of reads and changes. */
  readonly since: ReadonlyMap<ListKey, number>;
  /** Ends listening. Undefined if no caller listens. */
  listening?: Promise<() => void> | undefined;
}

interface Change {
  /** In the order of reads and changes. */
  readonly order: number;
  /** Milliseconds since 1970. */
  readonly at: number;
}

/** Age at which a list is read again if the server gives no time to live and the port does not listen. */
const UNWATCHED_MS = 30_000;

export class ListReader {
  readonly #port: PortCore;
  readonly #options: CatalogOptions;
  readonly #provide: ProvideList;
  /** The last position in the order of reads and changes. */
  #order = 0;
  /** By list and server. The maps are created when they are needed, because many users are idle. */
  #changes: Map<string, Change> | undefined;
  /** Reads under way, by list and server. */
  #readings: Map<string, Promise<unknown>> | undefined;
  #followed: Map<Session, FollowedSession> | undefined;
  /** Number of callers that listen. */
  #listeners = 0;

  constructor(port: PortCore, provide: ProvideList) {
    this.#port = port;
    this.#options = port.catalog.options;
    this.#provide = provide;
  }

  get #isOnDemand(): boolean {
    return this.#port.reads === "needed";
  }

  /** True while a caller listens. */
  get isListening(): boolean {
    return this.#listeners > 0;
  }

  /** The current position in the order of reads and changes. */
  get order(): number {
    return this.#order;
  }

  /** True if the list has changed, or may have, since the known one was requested. */
  isChanged(server: string, key: ListKey): boolean {
    return this.isOutdated(server, key, this.#readOf(server, key)?.order ?? 0);
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
      return this.#listenTo(session);
    }
    // Public lists of other users are used for the first read only: not on a session without any response yet, and not after a
    // reconnect, because the server may have changed.
    const isFirst = this.#keptOf(server)?.origin !== "server" && !session.unproven;
    const shared = isFirst ? LIST_KEYS.flatMap((key) => this.#sharedList(session, key) ?? []) : [];
    await this.read(session, LIST_KEYS, { signal }, shared);
  }

  /** Reads the lists of a server again: all, or those that are known. Rejects if the tools cannot be read. */
  reread(session: Session, wait: ReadWait): Promise<void> {
    const isKnown = (key: ListKey) => key === "tools" || this.#readOf(session.server, key) !== undefined;
    return this.read(session, this.#isOnDemand ? LIST_KEYS.filter(isKnown) : LIST_KEYS, wait);
  }

  /** Reads the lists of a ready session again that are too old. Concurrent callers share one read. */
  async refreshStale(session: Session, config: ServerConfig, wait: ReadWait): Promise<void> {
    const stale = LIST_KEYS.filter((key) => this.#isTooOld(config, key));
    const running = stale.flatMap((key) => this.#readings?.get(idOf(session.server, key)) ?? []);
    if (running.length < stale.length) return this.read(session, stale, wait);
    await Promise.all(running);
  }

  /** Listens for changes until the returned function is called. */
  listen(): () => void {
    this.#listeners += 1;
    // Otherwise the port listens to all its servers anyway.
    if (this.#listeners === 1 && this.#isOnDemand)
      for (const name of this.#port.pool.names) this.#watch(name);
    let isOver = false;
    return () => {
      if (isOver) return;
      isOver = true;
      this.#listeners -= 1;
      if (this.#listeners === 0) this.#stopListening();
    };
  }

  /** A server was added or removed. */
  serversChanged(server: string): void {
    if (this.isListening) this.#emit(server, ["tools", "resources", "prompts"]);
  }

  close(): void {
    this.#stopListening();
    this.#port.parts.publicLists.replacedListeners.delete(this.#replaced);
  }

  /**
   * Reads these lists. Rejects if the tools, or a list that is needed, cannot be read. Another list then counts as empty.
   *
   * @param shared lists that need not be read
   */
  async read(
    session: Session,
    keys: readonly ListKey[],
    wait: ReadWait = {},
    shared: readonly OneList[] = [],
  ): Promise<void> {
    const failed: ListKey[] = [];
    const onFailure = (key: ListKey, error: unknown) => {
      if (key === "tools" || this.#isOnDemand || wait.signal?.aborted) throw error;
      this.#warn(session.server, `Its ${key} could not be listed: ${messageOf(error)}`);
      failed.push(key);
      return [{ ...emptyList(key), keepMs: 0 }];
    };
    await this.#request(session, keys, { ...wait, shared, onFailure, isCheck: this.#isOnDemand });
    this.#check(session.server, failed, this.#followed?.get(session)?.refresher);
  }

  /** Requests these lists and keeps them. Resolves with those that are the same as before. */
  #request(session: Session, keys: readonly ListKey[], request: ListRequest): Promise<readonly ListKey[]> {
    const { server } = session;
    const { shared = [], onFailure, isCheck, signal, timeoutMs } = request;
    const order = this.#next();
    const options = {
      signal,
      timeoutMs: timeoutMs ?? this.#options.listTimeoutMs,
      intern: this.#intern,
      onWarning: (message: string) => this.#warn(server, message),
    };
    const readOne = async (key: ListKey): Promise<readonly OneList[]> => {
      try {
        return [shared.find((one) => one.key === key) ?? (await readList(session, key, options))];
      } catch (error) {
        return onFailure(key, error);
      }
    };
    const reading = Promise.all(keys.map(readOne)).then((lists) =>
      this.#keep(server, { session, lists: lists.flat(), order }, isCheck),
    );
    this.#readings ??= new Map();
    for (const key of keys) this.#readings.set(idOf(server, key), reading);
    return reading.finally(() => {
      for (const key of keys)
        if (this.#readings?.get(idOf(server, key)) === reading) this.#readings.delete(idOf(server, key));
    });
  }

  /** Keeps lists that were read, and shares the public ones. */
  async #keep(server: string, read: ReadLists, isCheck: boolean): Promise<readonly ListKey[]> {
    const { same, changed } = await this.#port.catalog.merge(server, read, isCheck);
    // Changes before the read are over: many idle users remember none.
    for (const { key } of read.lists)
      if (!this.isChanged(server, key)) this.#changes?.delete(idOf(server, key));
    const shared = read.lists.filter(({ isShared }) => isShared).map(({ key }) => key);
    if (shared.length > 0) this.#followShared(server, shared);
    for (const { key, paged, isShared } of read.lists)
      if (!isShared && paged !== undefined && !this.isOutdated(server, key, read.order))
        this.#shareWith(server, (config, publicLists) => publicLists.keep(config, key, paged));
    // Otherwise changes are reported when the lists have been read again.
    if (this.#isOnDemand && changed.length > 0) this.#emit(server, [...new Set(changed.map(listNameOf))]);
    return same;
  }

  /** Notices changes that the server reports, and those that may have been missed. */
  #follow(session: Session): void {
    const { server } = session;
    const refresher = new ListRefresher({
      read: (due) => this.#readDue(session, due),
      onRead: (lists) => this.#options.onListsChanged(server, lists),
    });
    const off = session.onListChanged((list) => {
      this.#shareWith(server, (config, publicLists) => publicLists.changed(config, list));
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
    const unsure = names.filter((name) => due.get(name) === "unsure");
    if (this.#isOnDemand) {
      // Callers ask for a list that was reported. Differences of the others are reported when they are found.
      if (this.isListening)
        await Promise.all(unsure.flatMap(keysOf).map((key) => this.#provide(server, key)));
      return { failed: [], same: unsure };
    }
    const all = names.flatMap(keysOf);
    // One read at a time, which may be newer than the change.
    await Promise.allSettled(all.map((key) => this.#readings?.get(idOf(server, key))));
    const keys = all.filter((key) => this.isChanged(server, key));
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
    try {
      const isCheck = unsure.length === names.length;
      const same = await this.#request(session, keys, { onFailure, isCheck });
      const isSame = (name: ListName) =>
        keysOf(name).every((key) => !keys.includes(key) || same.includes(key));
      return { failed: [...failed], same: unsure.filter((name) => !failed.has(name) && isSame(name)) };
    } catch (error) {
      this.#warn(server, `The lists could not be read again: ${messageOf(error)}`);
      return { failed: names, same: [] };
    }
  }

  /** Changes of these lists may have been missed. Those that are known are read again: needed ones while a caller listens. */
  #check(server: string, keys: readonly ListKey[], refresher = this.#refresherOf(server)): void {
    for (const key of keys) {
      const isConcerned = this.#readOf(server, key) !== undefined || this.#readings?.has(idOf(server, key));
      if (this.#isOnDemand && !isConcerned) continue;
      this.markChanged(server, key);
      if (this.#isOnDemand && !this.isListening) continue;
      if (refresher !== undefined) refresher.unsure(listNameOf(key));
      else if (this.#isOnDemand) void this.#provide(server, key);
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
    this.#followShared(server, LIST_KEYS);
  }

  /** Resolves when the server reports changes, or takes long. */
  async #listenTo(session: Session): Promise<void> {
    const followed = this.#followed?.get(session);
    if (followed === undefined) return;
    followed.listening ??= session.listen();
    await followed.listening;
  }

  #stopListening(): void {
    for (const followed of this.#followed?.values() ?? []) {
      void followed.listening?.then((end) => end());
      followed.listening = undefined;
    }
  }

  /** Notices when these lists are replaced, if they are shared, and whether that has happened already. */
  #followShared(server: string, keys: readonly ListKey[]): void {
    this.#port.parts.publicLists.replacedListeners.add(this.#replaced);
    if (this.#isOnDemand && !this.isListening) return;
    this.#check(
      server,
      keys.filter((key) => this.#isReplaced(server, key)),
    );
  }

  readonly #replaced = (identity: string, key: ListKey): void => {
    if (this.#isOnDemand && !this.isListening) return;
    for (const config of this.#port.pool.configs())
      if (this.#isShared(config.name, key) && configIdentity(config) === identity)
        this.#check(config.name, [key]);
  };

  #shareWith(server: string, share: (config: ServerConfig, publicLists: PublicLists) => void): void {
    const config = this.#port.pool.configOf(server);
    if (config !== undefined) share(config, this.#port.parts.publicLists);
  }

  /** A public list that was read for another user. */
  #sharedList(
    session: ReadLists["session"] & { readonly server: string },
    key: ListKey,
  ): OneList | undefined {
    const { pool, parts } = this.#port;
    const config = pool.configOf(session.server);
    const list = config && parts.publicLists.fresh(config, key, config.cache ?? parts.settings.cache);
    if (list === undefined) return undefined;
    const items = this.#intern?.(key, list.items) ?? list.items;
    return { ...toOneList(key, { ...list, items }, session), isShared: true };
  }

  /** Uses a list of another user. False if there is none, or if it was replaced in the meantime. */
  async useShared({ name: server, kind }: ServerConfig, key: ListKey): Promise<boolean> {
    // Only modern servers mark lists as public.
    const session = { server, era: "modern", transport: kind } as const;
    const list = this.#sharedList(session, key);
    const changedAt = this.#changes?.get(idOf(server, key))?.at ?? this.#readOf(server, key)?.readAt ?? 0;
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

  #isTooOld(config: ServerConfig, key: ListKey): boolean {
    const { name } = config;
    const read = this.#readOf(name, key);
    if (read === undefined) return true;
    const { parts } = this.#port;
    const ttlMs = read.ttlMs ?? (this.#isOnDemand && !this.#isWatched(name, key) ? UNWATCHED_MS : undefined);
    return isStale({ readAt: read.readAt, ttlMs }, config.cache ?? parts.settings.cache);
  }

  /** True if the server reports changes of this list to this port now. */
  #isWatched(server: string, key: ListKey): boolean {
    const session = this.#port.pool.peek(server)?.session;
    const isListening = session !== undefined && this.#followed?.get(session)?.listening !== undefined;
    return isListening && session.isReporting(key);
  }

  /** Whether a read that began then is too old. */
  isOutdated(server: string, key: ListKey, order: number): boolean {
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
    const { principal, parts } = this.#port;
    return principal && ((key, items) => parts.interned.intern(key, items));
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
