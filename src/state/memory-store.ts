/** The default store: a map that lives as long as the process. */
import type { PutOptions, Store, StoredRecord } from "./store.js";

interface Entry extends StoredRecord {
  expiresAt: number;
}

/**
 * A store in memory. Give the same one to several ports and they share what they learned.
 *
 * @example
 * ```ts
 * const store = memoryStore();
 * const toolport = createToolport({ mcpServers, store });
 * ```
 */
export function memoryStore(): Store {
  const entries = new Map<string, Entry>();
  let lastVersion = 0;

  const live = (key: string): Entry | undefined => {
    const entry = entries.get(key);
    if (entry !== undefined && entry.expiresAt <= Date.now()) {
      entries.delete(key);
      return undefined;
    }
    return entry;
  };

  return {
    async get(key) {
      const entry = live(key);
      // A copy, as from every other backend: what a caller does to it must not reach the next one.
      return entry && { value: structuredClone(entry.value), version: entry.version };
    },
    async put(key, value, { ifVersion, ttlMs }: PutOptions = {}) {
      if (ifVersion !== undefined && (live(key)?.version ?? 0) !== ifVersion) return undefined;
      const version = ++lastVersion;
      const expiresAt = ttlMs === undefined ? Number.POSITIVE_INFINITY : Date.now() + ttlMs;
      entries.set(key, { value: structuredClone(value), version, expiresAt });
      return version;
    },
    async delete(key, { ifVersion } = {}) {
      const entry = live(key);
      if (entry === undefined || (ifVersion !== undefined && entry.version !== ifVersion)) return false;
      return entries.delete(key);
    },
    async list(prefix) {
      return [...entries.keys()].filter((key) => key.startsWith(prefix) && live(key) !== undefined).sort();
    },
    async close() {},
  };
}
