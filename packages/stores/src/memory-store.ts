/** The default store, in the memory of the process. */
import { createStore } from "./create-store.js";
import { emptyContent, prune, recordMethods, type StoreContent } from "./record-map.js";
import { unkeyedSealer } from "./sealing.js";
import type { Store } from "./store.js";
import type { StoreBackend } from "./store-backend.js";

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

/** Number of writes after which expired records are deleted. */
const SWEEP_EVERY = 256;

/** Every call is synchronous, and therefore atomic. */
export function createMemoryBackend(): StoreBackend {
  const content: StoreContent = { ...emptyContent(), deletions: undefined };
  return {
    durabilityRisk: async () => ({
      what: "the store is in the memory of this process",
      next: "Use sqliteStore, redisStore or postgresStore",
      isExpected: true,
    }),
    ...recordMethods(
      async (step) => step(content),
      async (step) => {
        const result = step(content);
        if (content.last % SWEEP_EVERY === 0) prune(content);
        return result;
      },
    ),
    // The store reports its own writes, and no other process can write here.
    watch: () => () => {},
    async close() {
      content.records.clear();
      content.leases.clear();
    },
  };
}
