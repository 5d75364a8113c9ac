/** Records, leases and change notices of a store in Redis. */
import type { DurabilityRisk } from "../../store.js";
import type { StoreBackend } from "../../store-backend.js";
import { type FeedConnection, type FeedListener, followChanges } from "../change-feed.js";
import { limitCalls, wholeMs } from "../limited-calls.js";
import { redisTooSlow, replyCode, toRedisError } from "./redis-error.js";
import type { RedisClient, RedisSource } from "./redis-source.js";
import { ACQUIRE, CHANGED, DELETE, GET, LIST, PUT, RENEW, type Script } from "./scripts.js";

/** Replies of a server that is not the primary; a new connection may reach the primary. */
const NOT_PRIMARY: readonly (string | undefined)[] = ["READONLY", "MASTERDOWN"];

export function createRedisBackend(source: RedisSource, prefix: string): StoreBackend {
  const closing = new AbortController();
  const limited = limitCalls(() => redisTooSlow(source.place), closing.signal);
  const index = `${prefix}index`;
  const expiry = `${prefix}expiry`;
  const changes = `${prefix}changes`;
  const recordKey = (key: string) => `${prefix}record:${key}`;
  const leaseKey = (name: string) => `${prefix}lease:${name}`;

  /** Publish and subscribe ignore the number of the database and the key prefix of the client, so the channel contains both. */
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
        if (NOT_PRIMARY.includes(reply)) drop();
        // All commands of a broken connection fail with the same message; its first error has the reason.
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
    durabilityRisk: () => withClient((client) => findRisk(client, source.place)),
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
        {
          connect: (listener) => connectFeed(source, channelOf, listener),
          changedWithin: async (ms) =>
            (await run({ keys: [index, changes], args: [Math.ceil(ms)] }, CHANGED)) as string[],
          limited,
        },
        onChange,
      ),
    async close() {
      closing.abort();
      await source.close();
    },
  };
}

const NEXT = "Set `appendonly yes` and `appendfsync always`, and do not fail over without WAIT";

/** Whether Redis writes a log of its changes. Without one, a restart loses them. */
async function findRisk(client: RedisClient, place: string): Promise<DurabilityRisk | undefined> {
  // Any primary of a cluster may have the records.
  const nodes = "nodes" in client ? client.nodes("master") : [client];
  let isUnclear = false;
  for (const node of nodes) {
    const info = await node.info("persistence").catch(toRefusal);
    const [, enabled] = /^aof_enabled:(\d)/m.exec(info) ?? [];
    if (enabled === "0")
      return { what: `${place} loses its latest writes when it stops (aof_enabled:0)`, next: NEXT };
    if (enabled === undefined) isUnclear = true;
  }
  if (!isUnclear) return undefined;
  const what = `it could not be checked whether ${place} keeps its writes, because it does not answer INFO persistence`;
  return { what, next: `Allow the user INFO. ${NEXT}` };
}

/** Access rules, renamed commands and servers that only resemble Redis refuse INFO. Other errors pass. */
function toRefusal(error: unknown): string {
  if (["NOPERM", "ERR"].includes(replyCode(error) ?? "")) return "";
  throw error;
}

/** Receives notices by publish and subscribe, which needs a connection of its own. */
async function connectFeed(
  source: RedisSource,
  channelOf: (client: RedisClient) => string,
  listener: FeedListener,
): Promise<FeedConnection> {
  const client = await source.subscriber();
  client.on("message", (_channel: string, key: string) => listener.onKey(key));
  client.once("close", listener.onLost);
  return {
    subscribe: () => client.subscribe(channelOf(client)),
    ping: () => client.ping(),
    close: () => source.drop(client),
    // The client of a cluster moves its subscription to another node without an event.
    canMissNotices: client.isCluster,
  };
}

/** Runs a script by its hash. A server that does not have the script gets its text. */
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
