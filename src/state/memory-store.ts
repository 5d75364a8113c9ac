/** The default store: it lives as long as the process. */
import { createStore } from "./create-store.js";
import { createMemoryBackend } from "./memory-backend.js";
import { unkeyedSealer } from "./sealing.js";
import type { Store } from "./store.js";

/**
 * A store in memory. Give the same one to several ports and they share what they learned.
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
