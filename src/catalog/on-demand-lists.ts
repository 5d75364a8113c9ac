/** Reads the lists of a server one by one, when they are needed. */
import type { ServerConfig } from "../config/server-config.js";
import type { CacheOption } from "../config/server-entry.js";
import { listNameOf } from "../protocol/change-watch.js";
import { LIST_KEYS } from "../protocol/list-reads.js";
import type { Session } from "../protocol/session.js";
import type { CatalogOptions } from "./catalog-options.js";
import { isStale } from "./freshness.js";
import type { InternedLists } from "./interned-lists.js";
import { exportParts, type Kept, NO_LISTS } from "./kept-lists.js";
import { itemFindings, listFindings } from "./list-findings.js";
import type { ListOptions, PagedList } from "./list-pages.js";
import { ListRefresher } from "./list-refresher.js";
import { type Examined, examineOneList } from "./safety/examine-lists.js";
import { type ListKey, type OneList, readOneList, usePublicList } from "./server-lists.js";

/** The part of a catalog that this needs. */
interface OnDemandHost {
  readonly options: CatalogOptions;
  kept(server: string): Kept | undefined;
  /** @param isSilent nothing that others can see has changed */
  keep(server: string, kept: Kept, isSilent: boolean): void;
}

export class OnDemandLists {
  readonly #host: OnDemandHost;
  readonly #interned: InternedLists;
  #turns = 0;
  /** When a change was reported, or may have been missed, by list and server. Reads that began before do not count. */
  #outdated: Map<string, { readonly turn: number; readonly at: number }> | undefined;
  /** The list and server whose own reading is being shared. It replaces the list of another user here, too. */
  #publishing: string | undefined;

  constructor(host: OnDemandHost, interned: InternedLists) {
    this.#host = host;
    this.#interned = interned;
  }

  /** The lists that the server was asked for. */
  knownOf(server: string): ListKey[] {
    const { parts = {} } = this.#host.kept(server) ?? {};
    return LIST_KEYS.filter((key) => parts[key] !== undefined);
  }

  /** Whether the known list was read for another user. */
  isShared(server: string, key: ListKey): boolean {
    return this.#host.kept(server)?.parts?.[key]?.isShared === true;
  }

  /** The current point in the order of reads and changes. */
  get now(): number {
    return this.#turns;
  }

  /** Whether a read of this list that began then is too old. */
  isOutdated(server: string, key: ListKey, begunAt: number): boolean {
    return begunAt < (this.#outdated?.get(`${key} ${server}`)?.turn ?? 0);
  }

  /** False if the list must be read. `maxAgeMs` applies to servers that give no time to live. */
  isFresh(
    server: string,
    key: ListKey,
    { cache, maxAgeMs }: { cache: CacheOption; maxAgeMs: number },
  ): boolean {
    const part = this.#host.kept(server)?.parts?.[key];
    if (part === undefined || this.isOutdated(server, key, part.turn)) return false;
    return !isStale({ readAt: part.readAt, ttlMs: part.ttlMs ?? maxAgeMs }, cache);
  }

  /** Uses a public list of another user. False if there is none, or if it was replaced in the meantime. */
  async usePublic(config: ServerConfig, key: ListKey): Promise<boolean> {
    const { name, kind } = config;
    const list = this.#host.options.publicLists.fresh(name, key);
    const outdatedAt = this.#outdated?.get(`${key} ${name}`)?.at ?? Number.NEGATIVE_INFINITY;
    if (list === undefined || list.readAt <= outdatedAt) return false;
    this.#turns += 1;
    const read = this.#shared(key, list, kind);
    const turn = this.#turns;
    await this.#merge({ server: name, era: "modern", transport: kind }, { key, read, turn, isShared: true });
    return !this.isReplaced(config, key);
  }

  /** Whether the known list was read for another user, and is not the one that users get now. */
  isReplaced({ name, kind }: ServerConfig, key: ListKey): boolean {
    if (!this.isShared(name, key)) return false;
    const list = this.#host.options.publicLists.fresh(name, key);
    return (
      list === undefined || this.#shared(key, list, kind).lists[key] !== this.#host.kept(name)!.lists[key]
    );
  }

  /** A public list of another user. Equal lists are the same object. */
  #shared(key: ListKey, list: PagedList, transport: Session["transport"]): OneList {
    return usePublicList(key, { ...list, items: this.#interned.intern(key, list.items) }, transport);
  }

  /** Reads a list from the server. */
  async read(session: Session, key: ListKey, wait: Partial<ListOptions> = {}): Promise<void> {
    const { server } = session;
    const { listTimeoutMs, onWarning, publicLists } = this.#host.options;
    this.#turns += 1;
    const turn = this.#turns;
    const options: ListOptions = {
      signal: wait.signal,
      timeoutMs: wait.timeoutMs ?? listTimeoutMs,
      intern: (items) => this.#interned.intern(key, items),
      onRead: (name, list) => {
        if (this.isOutdated(server, key, turn)) return;
        this.#publishing = `${key} ${server}`;
        publicLists.keep(server, name, list);
        this.#publishing = undefined;
      },
    };
    const read = await readOneList(session, key, options, (message) => onWarning(server, message));
    await this.#merge(session, { key, read, turn, isShared: false });
  }

  /** Notices changes that the server reports. The lists are read again when they are needed. */
  attach(session: Session): void {
    const { server } = session;
    const { publicLists, onListsChanged } = this.#host.options;
    let refresher: ListRefresher | undefined;
    const off = session.onListChanged((list) => {
      publicLists.changed(server, list);
      for (const key of LIST_KEYS) if (listNameOf(key) === list) this.outdate(server, key);
      // It joins reports that follow each other closely.
      refresher ??= new ListRefresher({
        read: async () => ({ failed: [], same: [] }),
        onRead: (lists) => onListsChanged(server, lists),
      });
      refresher.changed(list);
    });
    void session.closed.then(() => {
      off();
      refresher?.close();
    });
  }

  /** Calls the listener when a list that was read for another user is replaced. Returns a function that ends it. */
  onReplaced(server: string, listener: (key: ListKey) => void): () => void {
    return this.#host.options.publicLists.onReplaced(server, (key) => {
      if (this.isShared(server, key) && this.#publishing !== `${key} ${server}`) listener(key);
    });
  }

  /** Makes the next need read the list again, even if a read is under way. */
  outdate(server: string, key: ListKey): void {
    this.#turns += 1;
    this.#outdated ??= new Map();
    this.#outdated.set(`${key} ${server}`, { turn: this.#turns, at: Date.now() });
  }

  async #merge(
    { server, era, transport }: Pick<Session, "server" | "era" | "transport">,
    { key, read, turn, isShared }: { key: ListKey; read: OneList; turn: number; isShared: boolean },
  ): Promise<void> {
    const { options } = this.#host;
    const onWarning = (message: string) => options.onWarning(server, message);
    const alone = { ...NO_LISTS, ...read.lists };
    if (isNews(key === "tools" ? alone.tools.tools : alone[key]))
      for (const finding of listFindings(alone)) onWarning(finding);
    const earlier = this.#host.kept(server);
    const examined = await examineOneList(
      server,
      { key, lists: alone, before: earlier },
      { ...options, onWarning },
    );
    const before = this.#host.kept(server);
    // A slow read that began earlier must not replace the result of a later one.
    if ((before?.parts?.[key]?.turn ?? 0) > turn) return;
    const lists = before?.lists ?? NO_LISTS;
    const others = lists.publicKeys.filter((each) => each !== key);
    const publicKeys = read.isPublic ? [...others, key] : others;
    const { refusedItems } = examined;
    if (refusedItems.size > (before?.refusedItems.size ?? 0))
      for (const finding of itemFindings(refusedItems)) onWarning(finding);
    const kept: Kept = {
      lists: {
        ...lists,
        ...read.lists,
        publicKeys: publicKeys.length > 0 ? publicKeys : NO_LISTS.publicKeys,
      },
      // Another list may have been examined in the meantime.
      ...pinsOf(key === "tools" ? examined : (before ?? examined)),
      refusedItems: key === "tools" ? (before ?? examined).refusedItems : refusedItems,
      session: { era, transport },
      origin: "server",
      turn: 0,
      parts: {
        ...before?.parts,
        [key]: { readAt: read.readAt, ttlMs: read.ttlMs, keepMs: read.keepMs, turn, isShared },
      },
    };
    const isSame = before?.origin === "server" && isEqual(before, kept, key);
    this.#host.keep(server, kept, isSame);
    if (before?.parts?.[key] !== undefined && !isSame) options.onListsChanged(server, [listNameOf(key)]);
    if (!isSame) options.onRead?.(server, () => exportParts(kept), kept.lists.publicKeys);
  }
}

const pinsOf = ({ refused, changed, scanned, isPinCheckDue }: Examined) => ({
  refused,
  changed,
  scanned,
  isPinCheckDue,
});

/** Equal lists of the same server are the same arrays, because they are interned. */
function isEqual(one: Kept, other: Kept, key: ListKey): boolean {
  if (key !== "tools") return one.lists[key] === other.lists[key] && one.refusedItems === other.refusedItems;
  const isSameList =
    one.lists.tools.tools === other.lists.tools.tools && one.lists.tools.cut === other.lists.tools.cut;
  return (
    isSameList &&
    one.isPinCheckDue === other.isPinCheckDue &&
    one.refused.size === other.refused.size &&
    [...one.refused].every(([tool, reason]) => other.refused.get(tool) === reason)
  );
}

const reported = new WeakSet<object>();

/** True for a list that no user has read before: its findings are reported once. */
function isNews(list: object): boolean {
  const isFirst = !reported.has(list);
  reported.add(list);
  return isFirst;
}
