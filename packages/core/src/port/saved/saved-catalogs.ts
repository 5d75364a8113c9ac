/** Stores the last lists of the servers, so that the next process knows the tools before it connects. */

import { hashText, toToolportError } from "@toolport/base";
import type { Store } from "@toolport/stores";
import type { ExportedServer } from "../../catalog/exported-catalog.js";
import type { PublicList, PublicLists } from "../../catalog/public-lists.js";
import type { ListKey } from "../../catalog/server-lists.js";
import { configIdentity, type ServerConfig } from "../../config/server-config.js";
import { serverKey } from "../../config/server-keys.js";

/** Older lists are ignored. */
const MAX_AGE_MS = 30 * 24 * 60 * 60 * 1_000;

export interface SavedCatalogsParts {
  readonly store: Store;
  /** Lists may differ between users. */
  readonly principal: string | undefined;
  /** Public lists are stored once for all users. */
  readonly publicLists: PublicLists;
  warn(server: string, message: string): void;
}

/** The lists of one user, except public ones. */
type OwnLists = Partial<ExportedServer>;

export class SavedCatalogs {
  /** The last written value, by key: most reads find nothing new. */
  readonly #written = new Map<string, string>();
  #merging: Promise<void> = Promise.resolve();

  constructor(private readonly parts: SavedCatalogsParts) {}

  /** Saves the lists of a server. Never throws. */
  save(config: ServerConfig, lists: Partial<ExportedServer>, publicKeys: readonly ListKey[]): Promise<void> {
    const save = () => this.#save(config, lists, publicKeys);
    if (LIST_KEYS.every((key) => lists[key] !== undefined)) return save();
    // One after the other, because each reads what the one before has stored.
    this.#merging = this.#merging.then(save);
    return this.#merging;
  }

  async #save(
    config: ServerConfig,
    lists: Partial<ExportedServer>,
    publicKeys: readonly ListKey[],
  ): Promise<void> {
    const { principal, publicLists, warn } = this.parts;
    const own = Object.entries(lists).filter(([key]) => !publicKeys.includes(key as ListKey));
    const { written } = publicLists;
    const unread = LIST_KEYS.filter((key) => lists[key] === undefined);
    try {
      const earlier = await this.#stored(ownKey(principal, config), unread);
      await this.#write(ownKey(principal, config), { ...earlier, ...Object.fromEntries(own) }, this.#written);
      // Lists that are no longer public are deleted.
      if (publicKeys.length === 0 && !written.has(publicKey(config))) return;
      const earlierPublic = await this.#stored(publicKey(config), unread);
      await this.#write(publicKey(config), { ...earlierPublic, ...publicLists.all(config) }, written);
    } catch (error) {
      warn(config.name, `The lists of the server could not be saved: ${toToolportError(error).message}`);
    }
  }

  /** The saved lists of these servers. */
  async restore(configs: readonly ServerConfig[]): Promise<Record<string, ExportedServer>> {
    const { store, principal } = this.parts;
    const found = await Promise.all(
      configs.map(async (config): Promise<[string, ExportedServer] | undefined> => {
        const [own, shared] = await Promise.all([
          store.get(ownKey(principal, config)).catch(() => undefined),
          this.#readPublic(config).catch(() => undefined),
        ]);
        const lists = { ...shared, ...readLists(own?.value) };
        // Without the list of tools, the server would seem to have none.
        return Array.isArray(lists.tools) ? [config.name, { ...NO_LISTS, ...lists }] : undefined;
      }),
    );
    return Object.fromEntries(found.filter((pair) => pair !== undefined));
  }

  /** The records of a server are deleted, so its next lists are saved again. */
  forget(config: ServerConfig): void {
    this.#written.delete(ownKey(this.parts.principal, config));
    this.parts.publicLists.written.delete(publicKey(config));
  }

  async #readPublic(config: ServerConfig): Promise<OwnLists | undefined> {
    const { store, publicLists } = this.parts;
    const record = await store.get(publicKey(config));
    if (record === undefined) return undefined;
    if (!publicLists.written.has(publicKey(config))) publicLists.written.set(publicKey(config), "");
    const lists = Object.entries(record.value ?? {}).filter((entry): entry is [string, PublicList] =>
      isPublicList(entry[1]),
    );
    publicLists.restore(config, Object.fromEntries(lists));
    return Object.fromEntries(lists.map(([key, { items }]) => [key, items]));
  }

  /** What is stored of lists that were not read now: it is kept. */
  async #stored(key: string, unread: readonly ListKey[]): Promise<Partial<Record<ListKey, unknown>>> {
    if (unread.length === 0) return {};
    const record = await this.parts.store.get(key);
    const stored = readLists(record?.value) ?? {};
    return Object.fromEntries(unread.flatMap((list) => (list in stored ? [[list, stored[list]]] : [])));
  }

  async #write(key: string, value: object, written: Map<string, string>): Promise<void> {
    const text = JSON.stringify(value);
    const print = hashText(text);
    if (written.get(key) === print) return;
    written.set(key, print);
    try {
      await this.parts.store.put(key, JSON.parse(text), { ttlMs: MAX_AGE_MS });
    } catch (error) {
      written.delete(key);
      throw error;
    }
  }
}

const LIST_KEYS = ["tools", "resources", "resourceTemplates", "prompts"] as const;
const NO_LISTS = { tools: [], resources: [], resourceTemplates: [], prompts: [] };

const ownKey = (principal: string | undefined, config: ServerConfig): string =>
  serverKey("catalog", principal, config);

/** Key of the public lists of a server, for all users. */
export const publicKey = (config: ServerConfig): string => `catalog-public/${configIdentity(config)}`;

const readLists = (value: unknown): OwnLists | undefined =>
  typeof value === "object" && value !== null ? value : undefined;

function isPublicList(value: unknown): value is PublicList {
  const { items, readAt, ttlMs } = (value ?? {}) as Partial<PublicList>;
  const isTime = ttlMs === undefined || typeof ttlMs === "number";
  return Array.isArray(items) && typeof readAt === "number" && isTime;
}
