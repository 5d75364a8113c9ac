/** The connections of a store to Redis: opened from a URL, or taken from the user's client. */

import type { Cluster, Redis, RedisOptions } from "ioredis";
import { isRecord } from "../../../util/json.js";
import { CONNECT_LIMIT_MS, loadDriver } from "../remote-database.js";
import { hasMethods, hasScheme, needs } from "../store-arguments.js";

/** The user's client: of one server, of sentinels, or of a cluster. */
export type RedisClient = Redis | Cluster;

/** Provides connections. */
export interface RedisSource {
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
export function redisAt(url: string): RedisSource {
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
export function redisOf(client: RedisClient): RedisSource {
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
export function redisProblem(value: unknown): string | undefined {
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
