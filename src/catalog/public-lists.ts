/** Lists that servers mark as public: read for one user and shared with all others. */
import { configIdentity } from "../config/config-identity.js";
import type { ServerConfig } from "../config/server-config.js";
import type { CacheOption } from "../config/server-entry.js";
import type { ListName } from "../protocol/change-watch.js";
import { isStale } from "./freshness.js";
import type { PagedList } from "./list-pages.js";
import type { ListKey } from "./server-lists.js";

/** A public list, as it is stored. */
export type PublicList = Pick<PagedList, "items" | "readAt" | "ttlMs">;

/** The public lists of the servers of one port, by server name. */
export interface SharedLists {
  /** A list that is not stale yet. */
  fresh(server: string, key: string): PagedList | undefined;
  /** A list was read from the server itself. */
  keep(server: string, key: string, list: PagedList): void;
  /** The server reported a change of a list. */
  changed(server: string, list: ListName): void;
}

/** Maximum time to live of a list that is shared with other users. */
const MAX_SHARED_MS = 24 * 60 * 60 * 1_000;

/** By the `configIdentity` of the server: names, users and headers do not matter for public lists. */
export class PublicLists {
  /** Fingerprints of the stored lists, by key: only the first of many users writes them. */
  readonly written = new Map<string, string>();
  readonly #lists = new Map<string, Map<string, PublicList>>();

  /** A list was read from the server itself. */
  keep(config: ServerConfig, key: string, { isPublic, items, readAt, ttlMs }: PagedList): void {
    if (isPublic && isShareable(config)) this.#of(config).set(key, { items, readAt, ttlMs });
    else this.#lists.get(configIdentity(config))?.delete(key);
  }

  /** Restores a saved list, unless a newer one is known. */
  restore(config: ServerConfig, lists: Readonly<Record<string, PublicList>>): void {
    if (!isShareable(config)) return;
    const known = this.#of(config);
    for (const [key, list] of Object.entries(lists))
      if (list.readAt > (known.get(key)?.readAt ?? 0)) known.set(key, list);
  }

  /** A list that is not stale yet. None for a recording, which must contain the request. */
  fresh(config: ServerConfig, key: string, cache: CacheOption): PagedList | undefined {
    if (!isShareable(config) || config.tap !== undefined) return undefined;
    const list = this.#lists.get(configIdentity(config))?.get(key);
    // Without a time to live, another user could get a list of any age.
    if (list?.ttlMs === undefined) return undefined;
    if (isStale({ ...list, ttlMs: Math.min(list.ttlMs, MAX_SHARED_MS) }, cache)) return undefined;
    return { ...list, isPublic: true };
  }

  /** Stops sharing the old list. */
  changed(config: ServerConfig, list: ListName): void {
    const known = this.#lists.get(configIdentity(config));
    for (const key of KEYS[list]) known?.delete(key);
  }

  /** All public lists of a server. */
  all(config: ServerConfig): Partial<Record<ListKey, PublicList>> {
    return Object.fromEntries(this.#lists.get(configIdentity(config)) ?? []);
  }

  forget(config: ServerConfig): void {
    this.#lists.delete(configIdentity(config));
  }

  #of(config: ServerConfig): Map<string, PublicList> {
    const identity = configIdentity(config);
    const known = this.#lists.get(identity) ?? new Map<string, PublicList>();
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
