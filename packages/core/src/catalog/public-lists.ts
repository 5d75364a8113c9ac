/** Lists that servers mark as public: read for one user and shared with all others. */

import { isSameJson } from "@toolport/base";
import { configIdentity, type ServerConfig } from "../config/server-config.js";
import type { CacheOption } from "../config/server-entry.js";
import { keysOf, LIST_KEYS, type ListName } from "../protocol/change-watch.js";
import { isStale, type ListKey, type PagedList } from "./server-lists.js";

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
  /** By list and server. */
  readonly #lists = new Map<string, KnownList>();
  /** When the newest shared list was requested, or its change was reported, by list and server (epoch milliseconds). */
  readonly #newest = new Map<string, number>();
  /** Called with the identity of a server when users no longer get the list that they got. */
  readonly replacedListeners = new Set<(identity: string, key: ListKey) => void>();

  /** A list was read from the server itself. */
  keep(config: ServerConfig, key: ListKey, { isPublic, items, readAt, ttlMs, keepMs }: PagedList): void {
    const id = idOf(config, key);
    // A slow read of one user must not replace the later one of another user, or bring a changed list back.
    if (readAt < (this.#newest.get(id) ?? 0)) return;
    const before = this.#lists.get(id);
    const isShared = isPublic && isShareable(config);
    if (isShared) {
      this.#newest.set(id, readAt);
      this.#lists.set(id, { items, readAt, ttlMs, keepMs });
    } else this.#lists.delete(id);
    if (before === undefined || (isShared && isSameJson(before.items, items))) return;
    this.#replaced(config, key);
  }

  /** Restores a saved list, unless a newer one is known. */
  restore(config: ServerConfig, lists: Readonly<Record<string, PublicList>>): void {
    if (!isShareable(config)) return;
    for (const [key, { items, readAt, ttlMs }] of Object.entries(lists) as [ListKey, PublicList][]) {
      const id = idOf(config, key);
      if (readAt > (this.#lists.get(id)?.readAt ?? 0)) this.#lists.set(id, { items, readAt, ttlMs });
    }
  }

  /** A list that is not stale yet. None for a recording, which must contain the request. */
  fresh(config: ServerConfig, key: ListKey, cache: CacheOption): PagedList | undefined {
    if (!isShareable(config) || config.tap !== undefined) return undefined;
    const list = this.#lists.get(idOf(config, key));
    // Without a time to live, another user could get a list of any age.
    if (list?.ttlMs === undefined) return undefined;
    if (isStale({ ...list, ttlMs: Math.min(list.ttlMs, MAX_SHARED_MS) }, cache)) return undefined;
    return { ...list, isPublic: true };
  }

  /** Stops sharing the old list. A list that was requested before is not shared either. */
  changed(config: ServerConfig, list: ListName): void {
    for (const key of keysOf(list)) {
      this.#newest.set(idOf(config, key), Date.now());
      if (this.#lists.delete(idOf(config, key))) this.#replaced(config, key);
    }
  }

  /** All public lists of a server. */
  all(config: ServerConfig): Partial<Record<ListKey, PublicList>> {
    const lists = LIST_KEYS.flatMap((key) => {
      const list = this.#lists.get(idOf(config, key));
      return list === undefined ? [] : [[key, { items: list.items, readAt: list.readAt, ttlMs: list.ttlMs }]];
    });
    return Object.fromEntries(lists);
  }

  forget(config: ServerConfig): void {
    for (const id of LIST_KEYS.map((key) => idOf(config, key))) {
      this.#lists.delete(id);
      this.#newest.delete(id);
    }
  }

  #replaced(config: ServerConfig, key: ListKey): void {
    for (const listener of this.replacedListeners) listener(configIdentity(config), key);
  }
}

const idOf = (config: ServerConfig, key: ListKey): string => `${key} ${configIdentity(config)}`;

/** Custom transports of two users are different servers, even if their entries have the same name. */
const isShareable = ({ kind }: ServerConfig): boolean => kind !== "custom";
