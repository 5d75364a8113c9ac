/** `toolport/redis`: a store that many processes share. */
import { createHash } from "node:crypto";
import { isNamed, isRecord, readField, readText, readUnchecked } from "@toolport/base";
import type { Cluster, Redis, RedisOptions } from "ioredis";
import { createStore, type SealingStore } from "../create-store.js";
import {
  BUSY,
  CHANGE_MEMORY_MS,
  CONNECT_LIMIT_MS,
  type FeedConnection,
  type FeedListener,
  followChanges,
  limitCalls,
  loadDriver,
  type Meaning,
  toRemoteError,
  wholeMs,
} from "../remote-database.js";
import type { DurabilityRisk } from "../store.js";
import {
  checkStoreArguments,
  configuredSealer,
  hasMethods,
  hasScheme,
  needs,
  type StoreKeys,
} from "../store-arguments.js";
import type { StoreBackend } from "../store-backend.js";

export type { SealingStore } from "../create-store.js";
export type { StoreKeys } from "../store-arguments.js";

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

/** Replies of a server that is not the primary; a new connection may reach the primary. */
const NOT_PRIMARY: readonly (string | undefined)[] = ["READONLY", "MASTERDOWN"];

function createRedisBackend(source: RedisSource, prefix: string): StoreBackend {
  const closing = new AbortController();
  const limited = limitCalls(source.place, closing.signal);
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
        throw toRemoteError(error, source.place, meaningOf(error));
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
        const reason = reply === undefined ? (source.troubleOf(client) ?? error) : error;
        throw toRemoteError(reason, source.place, meaningOf(reason));
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

const login: Meaning = {
  code: "UNAVAILABLE",
  what: "refused the login",
  next: "Check the user and the password in its URL",
};
const replica: Meaning = {
  code: "UNAVAILABLE",
  what: "does not accept writes at present",
  next: "Use the address of the primary",
  retryable: true,
};

/** By the first word of an error reply, which is its code: https://redis.io/docs/latest/develop/reference/protocol-spec/#simple-errors */
const REPLIES: Readonly<Record<string, Meaning>> = {
  WRONGPASS: login,
  NOAUTH: login,
  NOPERM: {
    code: "UNAVAILABLE",
    what: "denies this user a permission that the store needs",
    next: "Grant the user scripts, hashes, sorted sets and publish/subscribe under the prefix of the store",
  },
  READONLY: replica,
  NOREPLICAS: replica,
  MASTERDOWN: replica,
  LOADING: BUSY,
  BUSY,
  TRYAGAIN: BUSY,
  OOM: { code: "FULL", what: "has no memory left", next: "Raise its maxmemory, or remove other data" },
  MISCONF: {
    code: "FULL",
    what: "cannot save to its disk and does not accept writes",
    next: "Check its log",
    retryable: true,
  },
};

/** The code of an error reply of Redis; undefined for other errors. */
function replyCode(error: unknown): string | undefined {
  const message = readField(error, "message");
  return isNamed(error, "ReplyError") && typeof message === "string" ? message.split(" ", 1)[0] : undefined;
}

/** Undefined: the server could not be reached. */
function meaningOf(error: unknown): Meaning | undefined {
  const reply = replyCode(error);
  if (reply === undefined) return undefined;
  if (Object.hasOwn(REPLIES, reply)) return REPLIES[reply];
  return { code: "UNAVAILABLE", what: `answered with an error (${reply})` };
}

/** A script, and the name under which the server keeps it. */
interface Script {
  readonly lua: string;
  readonly sha: string;
}

/** An expired lease is deleted after this time: its fence is no longer in use. */
const LEASE_MEMORY_MS = 7 * 24 * 3_600_000;
/** Maximum number of expired keys that one write removes from the index. */
const SWEEP_MAX = 100;

const script = (body: string): Script => {
  const lua = `${CLOCK}${body}`;
  return { lua, sha: createHash("sha1").update(lua).digest("hex") };
};

/**
 * Increasing numbers start at the time in microseconds: a server that lost its last writes, or all of them, does
 * not use a number twice. They stay below 2^53 for another two centuries.
 */
const CLOCK = `
local time = redis.call("TIME")
local micros = time[1] * 1000000 + time[2]
local now = math.floor(micros / 1000)
local function greater(last)
  return string.format("%.0f", math.max((tonumber(last) or 0) + 1, micros))
end
local function changed(zset, key, channel)
  redis.call("ZADD", zset, now, key)
  redis.call("ZREMRANGEBYSCORE", zset, "-inf", now - ${CHANGE_MEMORY_MS})
  redis.call("PUBLISH", channel, key)
end
`;

/** KEYS: record. */
const GET = script(`
local record = redis.call("HMGET", KEYS[1], "version", "text")
if not record[1] then return false end
return { record[1], record[2], redis.call("PTTL", KEYS[1]) }
`);

/** KEYS: record, index, expiry, changes, version, lease. ARGV: key, text, version or "", milliseconds or "", fence or "", channel. */
const PUT = script(`
if ARGV[5] ~= "" and redis.call("HGET", KEYS[6], "fence") ~= ARGV[5] then return false end
if ARGV[3] ~= "" and (redis.call("HGET", KEYS[1], "version") or "0") ~= ARGV[3] then return false end
for _, gone in ipairs(redis.call("ZRANGEBYSCORE", KEYS[3], "-inf", now, "LIMIT", 0, ${SWEEP_MAX})) do
  redis.call("ZREM", KEYS[2], gone)
  redis.call("ZREM", KEYS[3], gone)
end
local version = greater(redis.call("GET", KEYS[5]))
redis.call("SET", KEYS[5], version)
redis.call("DEL", KEYS[1])
redis.call("HSET", KEYS[1], "version", version, "text", ARGV[2])
redis.call("ZADD", KEYS[2], 0, ARGV[1])
if ARGV[4] == "" then
  redis.call("ZREM", KEYS[3], ARGV[1])
else
  local expires = string.format("%.0f", now + ARGV[4])
  redis.call("PEXPIREAT", KEYS[1], expires)
  redis.call("ZADD", KEYS[3], expires, ARGV[1])
end
changed(KEYS[4], ARGV[1], ARGV[6])
return version
`);

/** KEYS: record, index, expiry, changes. ARGV: key, version or "", channel. */
const DELETE = script(`
local version = redis.call("HGET", KEYS[1], "version")
if not version or (ARGV[2] ~= "" and version ~= ARGV[2]) then return 0 end
redis.call("DEL", KEYS[1])
redis.call("ZREM", KEYS[2], ARGV[1])
redis.call("ZREM", KEYS[3], ARGV[1])
changed(KEYS[4], ARGV[1], ARGV[3])
return 1
`);

/** KEYS: index, expiry. ARGV: prefix. Writes nothing, so that a replica can answer. No byte of UTF-8 is 255. */
const LIST = script(`
local gone = {}
for _, key in ipairs(redis.call("ZRANGEBYSCORE", KEYS[2], "-inf", now)) do gone[key] = true end
local keys = {}
local last = ARGV[1] == "" and "+" or "(" .. ARGV[1] .. "\\255"
local first = ARGV[1] == "" and "-" or "[" .. ARGV[1]
for _, key in ipairs(redis.call("ZRANGEBYLEX", KEYS[1], first, last)) do
  if not gone[key] then keys[#keys + 1] = key end
end
return keys
`);

/** KEYS: index, changes. ARGV: milliseconds. Returns all keys if changes are not stored that long. */
const CHANGED = script(`
local since = now - ARGV[1]
if tonumber(ARGV[1]) < ${CHANGE_MEMORY_MS} then return redis.call("ZRANGEBYSCORE", KEYS[2], since, "+inf") end
local keys = redis.call("ZRANGEBYSCORE", KEYS[2], "-inf", "+inf")
for _, key in ipairs(redis.call("ZRANGE", KEYS[1], 0, -1)) do keys[#keys + 1] = key end
return keys
`);

/** KEYS: lease. ARGV: milliseconds. */
const ACQUIRE = script(`
local held = redis.call("HMGET", KEYS[1], "fence", "expires")
if held[2] and tonumber(held[2]) > now then return false end
local fence = greater(held[1])
redis.call("HSET", KEYS[1], "fence", fence, "expires", now + ARGV[1])
redis.call("PEXPIREAT", KEYS[1], string.format("%.0f", now + ARGV[1] + ${LEASE_MEMORY_MS}))
return fence
`);

/** KEYS: lease. ARGV: fence, milliseconds until it ends (0: released). */
const RENEW = script(`
if redis.call("HGET", KEYS[1], "fence") ~= ARGV[1] then return 0 end
redis.call("HSET", KEYS[1], "expires", now + ARGV[2])
redis.call("PEXPIREAT", KEYS[1], string.format("%.0f", now + ARGV[2] + ${LEASE_MEMORY_MS}))
return 1
`);

/** The user's client: of one server, of sentinels, or of a cluster. */
export type RedisClient = Redis | Cluster;

/** Provides connections. */
interface RedisSource {
  /** The name of the server in messages, without user and password. */
  readonly place: string;
  /** Loads the driver. No time limit applies: loading can take long on a busy machine. */
  load(): Promise<unknown>;
  /** The connection for commands; opened when there is none. */
  client(): Promise<RedisClient>;
  /** The last error event of the connection. */
  troubleOf(client: RedisClient): unknown;
  /** Closes a connection that does not respond, or that leads to the wrong server. */
  drop(client: RedisClient): void;
  /** Opens another connection, for subscriptions only. The caller closes it with `drop`. */
  subscriber(): Promise<RedisClient>;
  close(): Promise<void>;
}

/**
 * A connection is used until it breaks, and the next call opens another: no command waits for an unreachable server, none is
 * sent twice, and nothing runs in the background.
 */
const ONE_CONNECTION = {
  retryStrategy: () => null,
  reconnectOnError: null,
  autoResendUnfulfilledCommands: false,
  autoResubscribe: false,
  maxRetriesPerRequest: 0,
  connectTimeout: CONNECT_LIMIT_MS,
  disconnectTimeout: 300,
  enableOfflineQueue: true,
  // While a server loads its data, every command fails with an error that says so.
  enableReadyCheck: false,
  lazyConnect: false,
} satisfies RedisOptions;

/** Tracks connections: their last error, and which of them are open. */
function trackConnections() {
  const troubles = new WeakMap<RedisClient, unknown>();
  const open = new Map<RedisClient, Promise<void>>();
  const leaving = new WeakSet<RedisClient>();
  let isClosed = false;
  return {
    troubleOf: (client: RedisClient) => troubles.get(client),
    add<T extends RedisClient>(client: T): T {
      // Without a listener the driver writes to the console.
      client.on("error", (error) => troubles.set(client, error));
      const ended = new Promise<void>((resolve) => {
        client.once("end", () => {
          open.delete(client);
          resolve();
        });
      });
      open.set(client, ended);
      // Pending calls keep the process alive by their timers; an idle connection does not.
      client.on("connect", () => {
        if ("stream" in client) client.stream.unref();
      });
      return client;
    },
    /** Several waiting calls may request it; it happens once. */
    disconnect(client: RedisClient) {
      if (leaving.has(client)) return;
      leaving.add(client);
      client.disconnect();
    },
    /** Called before a connection is opened. */
    checkOpen() {
      if (isClosed) throw new Error("The store was closed in the meantime");
    },
    async closeAll() {
      isClosed = true;
      for (const client of open.keys()) this.disconnect(client);
      await Promise.all(open.values());
    },
  };
}

/** Connections to the server at `url`. */
function redisAt(url: string): RedisSource {
  const connections = trackConnections();
  let current: Redis | undefined;
  const load = () => loadDriver("ioredis", () => import("ioredis"));
  const connect = async (): Promise<Redis> => {
    const { Redis } = await load();
    connections.checkOpen();
    return connections.add(new Redis(url, ONE_CONNECTION));
  };
  let opening: Promise<Redis> | undefined;
  return {
    place: placeOf(url),
    load,
    async client() {
      if (current !== undefined) return current;
      opening ??= connect().finally(() => {
        opening = undefined;
      });
      const client = await opening;
      if (current === undefined && client.status !== "end") {
        current = client;
        client.once("close", () => {
          if (current === client) current = undefined;
        });
      }
      return client;
    },
    troubleOf: connections.troubleOf,
    drop(client) {
      if (client === current) current = undefined;
      connections.disconnect(client);
    },
    subscriber: connect,
    close: () => connections.closeAll(),
  };
}

/** Uses the user's client, which the user closes. Only the connection for subscriptions belongs to the store. */
function redisOf(client: RedisClient): RedisSource {
  const connections = trackConnections();
  let trouble: unknown;
  const onError = (error: unknown) => {
    trouble = error;
  };
  client.on("error", onError);
  return {
    place: "Redis",
    load: async () => {},
    client: async () => client,
    troubleOf: (any) => (any === client ? trouble : connections.troubleOf(any)),
    drop(any) {
      if (any !== client) connections.disconnect(any);
    },
    async subscriber() {
      connections.checkOpen();
      const options = { ...ONE_CONNECTION, clusterRetryStrategy: () => null };
      const copy = client.isCluster
        ? (client as Cluster).duplicate([], options)
        : (client as Redis).duplicate(options);
      return connections.add(copy as RedisClient);
    },
    async close() {
      client.off("error", onError);
      await connections.closeAll();
    },
  };
}

/** What is wrong with the first argument of `redisStore()`. */
function redisProblem(value: unknown): string | undefined {
  if (value instanceof URL || (typeof value === "string" && value.includes("://")))
    return hasScheme(String(value), ["redis:", "rediss:"])
      ? undefined
      : "the address is not a Redis URL: it must begin with redis:// or rediss://";
  const isUsable =
    typeof value === "string"
      ? value.trim() !== ""
      : hasMethods(value, ["on", "eval", "evalsha", "duplicate"]) && isRecord(value["options"]);
  return isUsable ? undefined : needs("a URL such as redis://localhost:6379, or a client of ioredis", value);
}

const placeOf = (url: string): string =>
  url.includes("://") ? `Redis at ${new URL(url).host || "localhost"}` : "Redis";
