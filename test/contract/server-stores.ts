/** The stores on a database server, described in one shape, so that one suite tests all of them. */
import { Redis } from "ioredis";
import pg from "pg";
import type { Store } from "toolport";
import { postgresStore } from "toolport/postgres";
import { redisStore } from "toolport/redis";
import type { LocalService } from "../support/local-service.js";
import { type PostgresService, startPostgres, withoutPostgres } from "../support/postgres-service.js";
import { type RedisService, startRedis, withoutRedis } from "../support/redis-service.js";

/** 32 bytes in hex, as `TOOLPORT_STORE_KEY` takes them. */
export const KEY = "00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff";

/** A client or pool that the user made and owns. */
export interface UserConnection {
  readonly value: unknown;
  /** Runs a trivial command; rejects if the connection is closed. */
  ping(): Promise<void>;
  errorListeners(): number;
  close(): Promise<void>;
}

export interface DatabaseService extends LocalService {
  /** With the password in it. */
  readonly url: string;
  readonly password: string;
}

/** One kind of database server and the store on it. */
export interface ServerStore<Service extends DatabaseService = DatabaseService> {
  readonly kind: "redis" | "postgres";
  /** The product's name, as error messages spell it. */
  readonly product: string;
  /** The package that a user has to install. */
  readonly packageName: string;
  /** True if the server is not installed here and no service is required. */
  readonly isMissing: boolean;
  /** URLs of other products, or broken ones. Each contains `canary-91c2`. */
  readonly foreignUrls: readonly string[];
  start(): Promise<Service>;
  /** `namespace` keeps stores apart; undefined opens one without any option. */
  open(urlOrConnection: unknown, namespace?: string): Store;
  /** Opens a connection as a user would. */
  connect(service: Service): UserConnection;
  /** All stored records of one namespace, as text. */
  contents(service: Service, namespace: string): Promise<string>;
}

export const redisServer: ServerStore<RedisService> = {
  kind: "redis",
  product: "Redis",
  packageName: "ioredis",
  isMissing: withoutRedis,
  foreignUrls: ["postgres://u:canary-91c2@host/db", "redis://u:canary-91c2@ho st", "http://canary-91c2@x"],
  start: () => startRedis(),
  open: (urlOrClient, namespace) =>
    redisStore(
      urlOrClient as string | Redis,
      namespace === undefined ? {} : { key: KEY, prefix: `{${namespace}}:` },
    ),
  connect({ url }) {
    // A user's client may have its own key prefix.
    const client = new Redis(url, { keyPrefix: "app:" }).on("error", () => {});
    return {
      value: client,
      ping: async () => void (await client.ping()),
      errorListeners: () => client.listenerCount("error"),
      close: async () => client.disconnect(),
    };
  },
  async contents(service, namespace) {
    const client = service.connect();
    try {
      const keys = await client.keys(`*{${namespace}}:record:*`);
      return JSON.stringify(await Promise.all(keys.map((key) => client.hgetall(key))));
    } finally {
      client.disconnect();
    }
  },
};

export const postgresServer: ServerStore<PostgresService> = {
  kind: "postgres",
  product: "PostgreSQL",
  packageName: "pg",
  isMissing: withoutPostgres,
  foreignUrls: ["redis://u:canary-91c2@host", "postgres://u:canary-91c2@ho st/x", "canary-91c2"],
  start: () => startPostgres(),
  open: (urlOrPool, namespace) =>
    postgresStore(
      urlOrPool as string | pg.Pool,
      namespace === undefined ? {} : { key: KEY, schema: namespace },
    ),
  connect({ url }) {
    // The smallest pool that a user can have: the store must never need two connections at once.
    const pool = new pg.Pool({ connectionString: url, max: 1 });
    return {
      value: pool,
      ping: async () => void (await pool.query("select 1")),
      errorListeners: () => pool.listenerCount("error"),
      close: () => pool.end(),
    };
  },
  async contents(service, namespace) {
    const schema = `"${namespace.replaceAll('"', '""')}"`;
    return JSON.stringify((await service.run(`select * from ${schema}.toolport_records`)).rows);
  },
};
