/** `toolport/redis`: a store that many processes share. */
import { readText, readUnchecked } from "../../../config/option-table.js";
import { createStore, type SealingStore } from "../../create-store.js";
import { configuredSealer, type StoreKeys } from "../configured-keys.js";
import { checkStoreArguments } from "../store-arguments.js";
import { createRedisBackend } from "./redis-backend.js";
import { type RedisClient, redisAt, redisOf, redisProblem } from "./redis-source.js";

export type { SealingStore } from "../../create-store.js";
export type { StoreKeys } from "../configured-keys.js";
export type { RedisClient } from "./redis-source.js";

/** Options of {@link redisStore}. */
export interface RedisStoreOptions {
  /**
   * Encrypts secrets: 32 random bytes, for instance as base64. All processes need the same key. Of several, the first
   * encrypts and all decrypt. Without a key, writing secrets fails.
   * @default the environment variable TOOLPORT_STORE_KEY
   */
  key?: StoreKeys | undefined;
  /**
   * Prefix of every key in Redis. On a cluster it needs a part in braces, so that all keys are in one slot.
   * @default "{toolport}:"
   */
  prefix?: string | undefined;
}

/**
 * Stores Toolport's state in Redis (5 or newer) through `ioredis`. Connects when it is first used. It never closes
 * your own client. The server setting `appendfsync` determines whether a record survives a power failure. The server must
 * not evict keys (`maxmemory-policy noeviction`).
 *
 * @example
 * ```ts
 * import { createToolport } from "toolport";
 * import { redisStore } from "toolport/redis";
 *
 * const store = redisStore("redis://localhost:6379");
 * const toolport = createToolport({ mcpServers, store });
 * ```
 */
export function redisStore(
  urlOrClient: string | URL | RedisClient,
  options: RedisStoreOptions = {},
): SealingStore {
  checkStoreArguments({
    of: "redisStore()",
    problem: redisProblem(urlOrClient),
    options,
    table: { key: readUnchecked, prefix: readText },
  });
  const { key, prefix = "{toolport}:" } = options;
  const source =
    typeof urlOrClient === "string" || urlOrClient instanceof URL
      ? redisAt(String(urlOrClient))
      : redisOf(urlOrClient);
  return createStore(createRedisBackend(source, prefix), { sealer: configuredSealer(key) });
}
