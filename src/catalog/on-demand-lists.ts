/** Reads the lists of a server one by one, when they are needed. */
import type { ServerConfig } from "../config/server-config.js";
import type { CacheOption } from "../config/server-entry.js";
import type { ListName } from "../protocol/change-watch.js";
import type { Session } from "../protocol/session.js";
import type { CatalogOptions } from "./catalog-options.js";
import { isStale } from "./freshness.js";
import type { InternedLists } from "./interned-lists.js";
import { exportParts, type Kept, type ListPart, NO_LISTS } from "./kept-lists.js";
import { itemFindings, listFindings } from "./list-findings.js";
import type { ListOptions } from "./list-pages.js";
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

/** The list that a notification names. */
export const listNameOf = (key: ListKey): ListName => (key === "resourceTemplates" ? "resources" : key);

const KEYS: readonly ListKey[] = ["tools", "resources", "resourceTemplates", "prompts"];

export class OnDemandLists {
  readonly #host: OnDemandHost;
  readonly #interned: InternedLists;
  #turns = 0;

  constructor(host: OnDemandHost, interned: InternedLists) {
    this.#host = host;
    this.#interned = interned;
  }

  /** The lists that the server was asked for. */
  knownOf(server: string): ListKey[] {
    const { parts = {} } = this.#host.kept(server) ?? {};
    return KEYS.filter((key) => parts[key] !== undefined);
  }

  /** False if the list must be read. `maxAgeMs` applies to servers that give no time to live. */
  isFresh(
    server: string,
    key: ListKey,
    { cache, maxAgeMs }: { cache: CacheOption; maxAgeMs: number },
  ): boolean {
    const part = this.#host.kept(server)?.parts?.[key];
    if (part === undefined || part.isChanged) return false;
    return !isStale({ readAt: part.readAt, ttlMs: part.ttlMs ?? maxAgeMs }, cache);
  }

  /** Uses a public list of another user. False if there is none. */
  async usePublic({ name, kind }: ServerConfig, key: ListKey): Promise<boolean> {
    const list = this.#host.options.publicLists.fresh(name, key);
    if (list === undefined) return false;
    const items = this.#interned.intern(key, list.items);
    this.#turns += 1;
    const read = usePublicList(key, { ...list, items }, kind);
    await this.#merge({ server: name, era: "modern", transport: kind }, { key, read, turn: this.#turns });
    return true;
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
      onRead: (name, list) => publicLists.keep(server, name, list),
    };
    const read = await readOneList(session, key, options, (message) => onWarning(server, message));
    await this.#merge(session, { key, read, turn });
  }

  /** Notices changes that the server reports. The lists are read again when they are needed. */
  attach(session: Session): void {
    const { server } = session;
    const { publicLists, onListsChanged } = this.#host.options;
    let refresher: ListRefresher | undefined;
    const off = session.onListChanged((list) => {
      publicLists.changed(server, list);
      this.outdate(server, list);
      // It joins reports that follow each other closely.
      refresher ??= new ListRefresher({
        read: async () => [],
        onRead: (lists) => onListsChanged(server, lists),
      });
      refresher.changed(list);
    });
    void session.closed.then(() => {
      off();
      refresher?.close();
    });
  }

  /** Makes the next need read the list again. */
  outdate(server: string, list: ListName): void {
    const kept = this.#host.kept(server);
    if (kept?.parts === undefined) return;
    const parts = Object.entries(kept.parts).map(([key, part]): [string, ListPart] => [
      key,
      listNameOf(key as ListKey) === list ? { ...part, isChanged: true } : part,
    ]);
    this.#host.keep(server, { ...kept, parts: Object.fromEntries(parts) }, true);
  }

  async #merge(
    { server, era, transport }: Pick<Session, "server" | "era" | "transport">,
    { key, read, turn }: { key: ListKey; read: OneList; turn: number },
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
        [key]: { readAt: read.readAt, ttlMs: read.ttlMs, turn, isChanged: false },
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
