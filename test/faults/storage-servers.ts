/** The database servers of a store, each with the actions that a fault needs. */
import type { Store } from "toolport";
import { postgresStore } from "toolport/postgres";
import { redisStore } from "toolport/redis";
import { type PostgresService, startPostgres, withoutPostgres } from "../support/postgres-service.js";
import { type RedisService, startRedis, withoutRedis } from "../support/redis-service.js";
import { waitFor } from "../support/wait-for.js";

export interface DatabaseService extends AsyncDisposable {
  readonly port: number;
  readonly url: string;
  readonly password: string;
  start(): Promise<void>;
  stop(): Promise<void>;
  kill(): Promise<void>;
}

export interface DatabaseKind<Service extends DatabaseService = DatabaseService> {
  readonly name: string;
  readonly kind: "redis" | "postgres";
  /** Why there is none here, if so. */
  readonly missing: string | false;
  start(): Promise<Service>;
  openStore(url: string, key: string): Store;
  /** The store that the processes of a count share under this name. */
  openShared(url: string, name: string): Store;
  /** Another server that follows this one. */
  startStandby(service: Service): Promise<Service>;
  /** Waits until the standby has everything. */
  catchUp(service: Service, standby: Service): Promise<void>;
  promote(standby: Service): Promise<void>;
  setReadOnly(service: Service, isReadOnly: boolean): Promise<void>;
}

const command = async (redis: RedisService, ...words: [string, ...string[]]): Promise<string> => {
  const client = redis.connect();
  try {
    return String(await client.call(...words));
  } finally {
    client.disconnect();
  }
};

const redisKind: DatabaseKind<RedisService> = {
  name: "Redis",
  kind: "redis",
  missing: withoutRedis && "there is no redis-server here",
  start: () => startRedis(),
  openStore: (url, key) => redisStore(url, { key }),
  openShared: (url, name) => redisStore(url, { prefix: `{${name}}:` }),
  async startStandby(redis) {
    const standby = await startRedis();
    await command(standby, "config", "set", "masterauth", redis.password);
    await command(standby, "replicaof", "127.0.0.1", String(redis.port));
    return standby;
  },
  async catchUp(redis, standby) {
    const offset = async (service: RedisService, field: string) =>
      new RegExp(`${field}:(\\d+)`).exec(await command(service, "info", "replication"))?.[1];
    await waitFor(
      async () =>
        (await command(standby, "info", "replication")).includes("master_link_status:up") &&
        (await offset(redis, "master_repl_offset")) === (await offset(standby, "slave_repl_offset")),
      { label: "the replica to catch up" },
    );
  },
  async promote(standby) {
    await command(standby, "replicaof", "no", "one");
  },
  async setReadOnly(redis, isReadOnly) {
    // A replica without a master accepts no writes.
    await command(redis, "replicaof", ...(isReadOnly ? ["127.0.0.1", "1"] : ["no", "one"]));
  },
};

const postgresKind: DatabaseKind<PostgresService> = {
  name: "PostgreSQL",
  kind: "postgres",
  missing: withoutPostgres && "there is no PostgreSQL here",
  start: () => startPostgres(),
  openStore: (url, key) => postgresStore(url, { key }),
  openShared: (url, name) => postgresStore(url, { schema: name }),
  startStandby: (postgres) => startPostgres({ standbyOf: postgres }),
  async catchUp(postgres, standby) {
    const { rows } = await postgres.run("select pg_current_wal_lsn() as lsn");
    const caughtUp = `select pg_last_wal_replay_lsn() >= '${rows[0].lsn}' as yes`;
    await waitFor(async () => (await standby.run(caughtUp)).rows[0].yes, {
      timeoutMs: 15_000,
      label: "the standby to catch up",
    });
  },
  async promote(standby) {
    await standby.run("select pg_promote()");
  },
  async setReadOnly(postgres, isReadOnly) {
    await postgres.run(`alter system set default_transaction_read_only = ${isReadOnly ? "on" : "off"}`);
    await postgres.run("select pg_reload_conf()");
  },
};

export const databaseKinds = [redisKind, postgresKind] as unknown as readonly DatabaseKind[];
