/** Lists that servers mark as public: read for one user and shared with all others. */

import { configIdentity, type ServerConfig } from "../config/server-config.js";
import type { CacheOption } from "../config/server-entry.js";
import type { ListName } from "../protocol/change-watch.js";
import { isSameJson } from "../util/json.js";
import type { PagedList } from "./list-pages.js";
import { isStale, type ListKey } from "./server-lists.js";

/** A public list, as it is stored. */
export type PublicList = Pick<PagedList, "items" | "readAt" | "ttlMs">;

/** A public list of this process. Clocks of processes differ, so `keepMs` of others is not known. */
type KnownList = PublicList & Pick<PagedList, "keepMs">;

/** Maximum time to live of a list that is shared with other users. */
const MAX_SHARED_MS = 24 * 60 * 60 * 1_000;

/** By the `configIdentity` of the server: names, users and headers do not matter for public lists. */
export class PublicLists {
  /** Fingerprints of the stored lists, by key: only the first of many users writes them. */
  readonly written = new Map<string, string>();
  readonly #lists = new Map<string, Map<ListKey, KnownList>>();
  /** When the newest shared list was requested, or its change was reported, by list and server (epoch milliseconds). */
  readonly #newest = new Map<string, number>();
  /** Called with the identity of a server when users no longer get the list that they got. */
  readonly replacedListeners = new Set<(identity: string, key: ListKey) => void>();

  /** A list was read from the server itself. */
  keep(config: ServerConfig, key: ListKey, { isPublic, items, readAt, ttlMs, keepMs }: PagedList): void {
    const identity = configIdentity(config);
    // A slow read of one user must not replace the later one of another user, or bring a changed list back.
    if (readAt < (this.#newest.get(`${key} ${identity}`) ?? 0)) return;
    const before = this.#lists.get(identity)?.get(key);
    const isShared = isPublic && isShareable(config);
    if (isShared) {
      this.#newest.set(`${key} ${identity}`, readAt);
      this.#of(config).set(key, { items, readAt, ttlMs, keepMs });
    } else this.#lists.get(identity)?.delete(key);
    if (before === undefined || (isShared && isSameJson(before.items, items))) return;
    this.#replaced(identity, key);
  }

  /** Restores a saved list, unless a newer one is known. */
  restore(config: ServerConfig, lists: Readonly<Record<string, PublicList>>): void {
    if (!isShareable(config)) return;
    const known = this.#of(config);
    for (const [key, { items, readAt, ttlMs }] of Object.entries(lists) as [ListKey, PublicList][])
      if (readAt > (known.get(key)?.readAt ?? 0)) known.set(key, { items, readAt, ttlMs });
  }

  /** A list that is not stale yet. None for a recording, which must contain the request. */
  fresh(config: ServerConfig, key: ListKey, cache: CacheOption): PagedList | undefined {
    if (!isShareable(config) || config.tap !== undefined) return undefined;
    const list = this.#lists.get(configIdentity(config))?.get(key);
    // Without a time to live, another user could get a list of any age.
    if (list?.ttlMs === undefined) return undefined;
    if (isStale({ ...list, ttlMs: Math.min(list.ttlMs, MAX_SHARED_MS) }, cache)) return undefined;
    return { ...list, isPublic: true };
  }

  /** Stops sharing the old list. A list that was requested before is not shared either. */
  changed(config: ServerConfig, list: ListName): void {
    const identity = configIdentity(config);
    for (const key of KEYS[list]) {
      this.#newest.set(`${key} ${identity}`, Date.now());
      if (this.#lists.get(identity)?.delete(key)) this.#replaced(identity, key);
    }
  }

  /** All public lists of a server. */
  all(config: ServerConfig): Partial<Record<ListKey, PublicList>> {
    const known = [...(this.#lists.get(configIdentity(config)) ?? [])];
    return Object.fromEntries(
      known.map(([key, { items, readAt, ttlMs }]) => [key, { items, readAt, ttlMs }]),
    );
  }

  forget(config: ServerConfig): void {
    const identity = configIdentity(config);
    this.#lists.delete(identity);
    for (const key of Object.values(KEYS).flat()) this.#newest.delete(`${key} ${identity}`);
  }

  #replaced(identity: string, key: ListKey): void {
    for (const listener of this.replacedListeners) listener(identity, key);
  }

  #of(config: ServerConfig): Map<ListKey, KnownList> {
    const identity = configIdentity(config);
    const known = this.#lists.get(identity) ?? new Map<ListKey, KnownList>();
    this.#lists.set(identity, known);
    return known;
  }
}

const KEYS: Readonly<Record<ListName, readonly ListKey[]>> = {
  tools: ["tools"],
  resources: ["resources", "resourceTemplates"],
  prompts: ["prompts"],
};

/** Custom transports of two users are different servers, even if their entries have the same name. */
const isShareable = ({ kind }: ServerConfig): boolean => kind !== "custom";
