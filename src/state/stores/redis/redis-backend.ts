/** The store's records, leases and changes in Redis. */
import type { StoreBackend } from "../../store-backend.js";
import { followChanges } from "../change-feed.js";
import { limitCalls } from "../limited-calls.js";
import { wholeMs } from "../whole-ms.js";
import { redisTooSlow, replyCode, toRedisError } from "./redis-error.js";
import { openRedisFeed } from "./redis-feed.js";
import type { RedisClient, RedisSource } from "./redis-source.js";
import { ACQUIRE, CHANGED, DELETE, GET, LIST, PUT, RENEW, type Script } from "./scripts.js";

/** Replies after which another connection may find the right server. */
const WRONG_SERVER: readonly (string | undefined)[] = ["READONLY", "MASTERDOWN"];

export function createRedisBackend(source: RedisSource, prefix: string): StoreBackend {
  const closing = new AbortController();
  const limited = limitCalls(() => redisTooSlow(source.place), closing.signal);
  const index = `${prefix}index`;
  const expiry = `${prefix}expiry`;
  const changes = `${prefix}changes`;
  const recordKey = (key: string) => `${prefix}record:${key}`;
  const leaseKey = (name: string) => `${prefix}lease:${name}`;

  /** Publish and subscribe know neither the number of the database nor the client's own prefix. */
  const channelOf = ({ options }: RedisClient): string =>
    `${options.keyPrefix ?? ""}${changes}:${"db" in options ? options.db : 0}`;

  const withClient = async <T>(work: (client: RedisClient) => Promise<T>): Promise<T> => {
    await source.load();
    return await limited(async (signal) => {
      const client = await source.client().catch((error) => {
        throw toRedisError(error, source.place);
      });
      const drop = () => source.drop(client);
      signal.addEventListener("abort", drop);
      if (signal.aborted) drop();
      try {
        return await work(client);
      } catch (error) {
        const reply = replyCode(error);
        if (WRONG_SERVER.includes(reply)) drop();
        // A broken connection fails all its commands alike; what broke it was said once.
        throw toRedisError(reply === undefined ? (source.troubleOf(client) ?? error) : error, source.place);
      } finally {
        signal.removeEventListener("abort", drop);
      }
    });
  };

  const run = (
    { keys, args }: { keys: readonly string[]; args: readonly (string | number)[] },
    script: Script,
  ): Promise<unknown> => withClient((client) => evaluate(client, script, { keys, args }));

  return {
    async get(key) {
      const found = await run({ keys: [recordKey(key)], args: [] }, GET);
      if (!Array.isArray(found)) return undefined;
      const [version, text, left] = found as [string, string, number];
      return { text, version: Number(version), ttlLeftMs: left < 0 ? undefined : left };
    },
    async put(key, text, { ifVersion, ttlMs, lease }) {
      const version = await withClient((client) =>
        evaluate(client, PUT, {
          keys: [recordKey(key), index, expiry, changes, `${prefix}version`, leaseKey(lease?.name ?? "")],
          args: [
            key,
            text,
            ifVersion ?? "",
            ttlMs === undefined ? "" : wholeMs(ttlMs),
            lease?.fence ?? "",
            channelOf(client),
          ],
        }),
      );
      return typeof version === "string" ? Number(version) : undefined;
    },
    async delete(key, { ifVersion }) {
      const deleted = await withClient((client) =>
        evaluate(client, DELETE, {
          keys: [recordKey(key), index, expiry, changes],
          args: [key, ifVersion ?? "", channelOf(client)],
        }),
      );
      return deleted === 1;
    },
    list: async (start) => (await run({ keys: [index, expiry], args: [start] }, LIST)) as string[],
    async acquireLease(name, ttlMs) {
      const fence = await run({ keys: [leaseKey(name)], args: [wholeMs(ttlMs)] }, ACQUIRE);
      return typeof fence === "string" ? Number(fence) : undefined;
    },
    renewLease: async (name, fence, ttlMs) =>
      (await run({ keys: [leaseKey(name)], args: [fence, wholeMs(ttlMs)] }, RENEW)) === 1,
    async releaseLease(name, fence) {
      await run({ keys: [leaseKey(name)], args: [fence, 0] }, RENEW);
    },
    watch: (onChange) =>
      followChanges(
        (listener) =>
          openRedisFeed(source, {
            limited,
            listener,
            channelOf,
            changedWithin: async (ms) =>
              (await run({ keys: [index, changes], args: [Math.ceil(ms)] }, CHANGED)) as string[],
          }),
        onChange,
      ),
    async close() {
      closing.abort();
      await source.close();
    },
  };
}

/** Runs a script by its name; a server that does not know it yet, or no longer, gets the text. */
async function evaluate(
  client: RedisClient,
  { sha, lua }: Script,
  { keys, args }: { keys: readonly string[]; args: readonly (string | number)[] },
): Promise<unknown> {
  try {
    return await client.evalsha(sha, keys.length, ...keys, ...args);
  } catch (error) {
    if (replyCode(error) !== "NOSCRIPT") throw error;
    return await client.eval(lua, keys.length, ...keys, ...args);
  }
}
