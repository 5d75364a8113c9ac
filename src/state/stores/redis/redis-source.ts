/** Where a store gets its connections to Redis from: a URL, or a client of the user's. */
import type { Cluster, Redis, RedisOptions } from "ioredis";
import { StateError } from "../../../errors/state-error.js";
import { loadDriver } from "../driver.js";
import { CONNECT_LIMIT_MS } from "../limited-calls.js";

/** A client of the user's: to one server, through sentinels, or to a cluster. */
export type RedisClient = Redis | Cluster;

/** Hands out connections. */
export interface RedisSource {
  /** How messages name the server: no user, no password. */
  readonly place: string;
  /** Loads the driver. Not part of any time limit: on a busy machine that takes its time, and no server is to blame. */
  load(): Promise<unknown>;
  /** The connection for commands; opened when there is none. */
  client(): Promise<RedisClient>;
  /** What the connection itself complained about last. */
  troubleOf(client: RedisClient): unknown;
  /** Takes a connection out of use that does not answer, or that leads to the wrong server. */
  drop(client: RedisClient): void;
  /** Another connection, for listening only; whoever asks closes it with `drop`. */
  subscriber(): Promise<RedisClient>;
  close(): Promise<void>;
}

/**
 * A connection is used until it breaks, and the next call opens another: no command waits for a server that is away, none is
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
  // A server that still loads its data says so to every command.
  enableReadyCheck: false,
  lazyConnect: false,
} satisfies RedisOptions;

/** Watches over connections: remembers their complaints, and which are still open. */
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
      // Calls hold the process by their time limit; an idle connection does not.
      client.on("connect", () => {
        if ("stream" in client) client.stream.unref();
      });
      return client;
    },
    /** Once is enough, though every call that waits on it may ask for it. */
    disconnect(client: RedisClient) {
      if (leaving.has(client)) return;
      leaving.add(client);
      client.disconnect();
    },
    /** To be asked before one is opened. */
    checkOpen() {
      if (isClosed) throw new Error("The store was closed meanwhile");
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

/** The client of the user, who also closes it; only the connection for listening is ours. */
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

function placeOf(url: string): string {
  if (!url.includes("://")) return "Redis";
  const parsed = URL.canParse(url) ? new URL(url) : undefined;
  if (parsed === undefined || !["redis:", "rediss:"].includes(parsed.protocol)) {
    throw new StateError({
      code: "UNAVAILABLE",
      what: "The address given to redisStore() is not a Redis URL",
      next: "Give it a URL such as redis://localhost:6379, or an ioredis client",
    });
  }
  return `Redis at ${parsed.host || "localhost"}`;
}
