/** The servers' lists as they were read last, kept in the store: the next start knows the tools before it connects. */
import type { ExportedServer } from "../../catalog/exported-catalog.js";
import { configIdentity } from "../../config/config-identity.js";
import type { ServerConfig } from "../../config/server-config.js";
import { toToolportError } from "../../errors/to-toolport-error.js";
import type { Store } from "../../state/store.js";
import { hashText } from "../../util/hash-text.js";

/** Lists this old say more about the past than about the server. */
const MAX_AGE_MS = 30 * 24 * 60 * 60 * 1_000;

type Warn = (server: string, message: string) => void;

export class SavedCatalogs {
  readonly #store: Store;
  readonly #prefix: string;
  readonly #warn: Warn;
  /** What was written or read last, by key: most readings find what is there already. */
  readonly #known = new Map<string, string>();

  /** @param principal a server may offer other things to other users */
  constructor(store: Store, principal: string | undefined, warn: Warn) {
    this.#store = store;
    this.#prefix = `catalog/${encodeURIComponent(principal ?? "")}/`;
    this.#warn = warn;
  }

  /** Saves what was read from a server. Never throws. */
  async save(config: ServerConfig, lists: ExportedServer): Promise<void> {
    const key = this.#key(config);
    const text = JSON.stringify(lists);
    const print = hashText(text);
    if (this.#known.get(key) === print) return;
    this.#known.set(key, print);
    try {
      await this.#store.put(key, JSON.parse(text), { ttlMs: MAX_AGE_MS });
    } catch (error) {
      this.#known.delete(key);
      this.#warn(config.name, `Its lists could not be saved: ${toToolportError(error).message}`);
    }
  }

  /** What is known of these servers from an earlier time. */
  async restore(configs: readonly ServerConfig[]): Promise<Record<string, ExportedServer>> {
    const found = await Promise.all(
      configs.map(async (config): Promise<[string, ExportedServer] | undefined> => {
        const record = await this.#store.get(this.#key(config)).catch(() => undefined);
        return isExported(record?.value) ? [config.name, record.value] : undefined;
      }),
    );
    return Object.fromEntries(found.filter((pair) => pair !== undefined));
  }

  #key(config: ServerConfig): string {
    return `${this.#prefix}${configIdentity(config)}`;
  }
}

function isExported(value: unknown): value is ExportedServer {
  return typeof value === "object" && value !== null && Array.isArray((value as ExportedServer).tools);
}
