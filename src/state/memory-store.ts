/** The default store, in the memory of the process. */
import { createStore } from "./create-store.js";
import { unkeyedSealer } from "./sealing.js";
import type { Store } from "./store.js";
import { compareKeys, type StoreBackend } from "./store-backend.js";

/**
 * A store in memory. Ports with the same store share its records.
 *
 * @example
 * ```ts
 * const store = memoryStore();
 * const toolport = createToolport({ mcpServers, store });
 * ```
 */
export const memoryStore = (): Store => ({
  ...createStore(createMemoryBackend(), { sealer: unkeyedSealer }),
  sealed: undefined,
});

interface Entry {
  text: string;
  version: number;
  expiresAt: number;
}

/** Number of writes after which expired records are deleted. */
const SWEEP_EVERY = 256;
/** An expired lease is deleted after this time: its fence is no longer in use. */
const LEASE_MEMORY_MS = 3_600_000;

/** Every call is synchronous, and therefore atomic. */
export function createMemoryBackend(): StoreBackend {
  const entries = new Map<string, Entry>();
  const leases = new Map<string, { fence: number; expiresAt: number }>();
  let lastVersion = 0;
  let lastFence = 0;

  const live = (key: string): Entry | undefined => {
    const entry = entries.get(key);
    if (entry === undefined || entry.expiresAt > Date.now()) return entry;
    entries.delete(key);
    return undefined;
  };
  const isVersion = (key: string, wanted: number | undefined): boolean =>
    wanted === undefined || (live(key)?.version ?? 0) === wanted;

  const sweep = (): void => {
    for (const key of entries.keys()) live(key);
    const longAgo = Date.now() - LEASE_MEMORY_MS;
    for (const [name, { expiresAt }] of leases) if (expiresAt < longAgo) leases.delete(name);
  };

  return {
    durabilityRisk: async () => ({
      what: "the store is in the memory of this process",
      next: "Use sqliteStore, redisStore or postgresStore",
      isExpected: true,
    }),
    async get(key) {
      const entry = live(key);
      if (entry === undefined) return undefined;
      const { text, version, expiresAt } = entry;
      const left = expiresAt - Date.now();
      return { text, version, ttlLeftMs: left === Number.POSITIVE_INFINITY ? undefined : left };
    },
    async put(key, text, { ifVersion, ttlMs = Number.POSITIVE_INFINITY, lease }) {
      if (!isVersion(key, ifVersion)) return undefined;
      if (lease !== undefined && leases.get(lease.name)?.fence !== lease.fence) return undefined;
      const version = ++lastVersion;
      entries.set(key, { text, version, expiresAt: Date.now() + ttlMs });
      if (version % SWEEP_EVERY === 0) sweep();
      return version;
    },
    async delete(key, { ifVersion }) {
      return live(key) !== undefined && isVersion(key, ifVersion) && entries.delete(key);
    },
    async list(prefix) {
      const keys = [...entries.keys()].filter((key) => key.startsWith(prefix) && live(key) !== undefined);
      return keys.sort(compareKeys);
    },
    async acquireLease(name, ttlMs) {
      if ((leases.get(name)?.expiresAt ?? 0) > Date.now()) return undefined;
      const fence = ++lastFence;
      leases.set(name, { fence, expiresAt: Date.now() + ttlMs });
      return fence;
    },
    async renewLease(name, fence, ttlMs) {
      if (leases.get(name)?.fence !== fence) return false;
      leases.set(name, { fence, expiresAt: Date.now() + ttlMs });
      return true;
    },
    // The store reports its own writes, and no other process can write here.
    watch: () => () => {},
    async close() {
      entries.clear();
      leases.clear();
    },
  };
}
