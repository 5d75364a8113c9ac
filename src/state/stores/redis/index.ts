/** `toolport/redis`: a store that many processes share. */
import { createStore, type SealingStore } from "../../create-store.js";
import { configuredSealer, type StoreKeys } from "../configured-keys.js";
import { createRedisBackend } from "./redis-backend.js";
import { type RedisClient, redisAt, redisOf } from "./redis-source.js";

export type { SealingStore } from "../../create-store.js";
export type { StoreKeys } from "../configured-keys.js";
export type { RedisClient } from "./redis-source.js";

/** Options of {@link redisStore}. */
export interface RedisStoreOptions {
  /**
   * Encrypts what is secret: 32 random bytes, as base64 for instance. All processes need the same one. Several: the first
   * encrypts, all of them decrypt. Without any, secrets are refused.
   * @default the environment variable TOOLPORT_STORE_KEY
   */
  key?: StoreKeys | undefined;
  /**
   * Begins every key in Redis. On a cluster it needs a part in braces, so that all keys lie together.
   * @default "{toolport}:"
   */
  prefix?: string | undefined;
}

/**
 * Keeps Toolport's state in Redis (5 or newer) through `ioredis`. Connects when it is first used. A client of your own is used as it
 * is and not closed. How safe a committed record is against a loss of power is up to the server (`appendfsync`); it must
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
  { key, prefix = "{toolport}:" }: RedisStoreOptions = {},
): SealingStore {
  const source =
    typeof urlOrClient === "string" || urlOrClient instanceof URL
      ? redisAt(String(urlOrClient))
      : redisOf(urlOrClient);
  return createStore(createRedisBackend(source, prefix), { sealer: configuredSealer(key) });
}
