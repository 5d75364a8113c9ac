/** The stores that the fault rows run on. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "@photostructure/sqlite";
import { memoryStore, type Store } from "toolport";
import { postgresStore } from "toolport/postgres";
import { redisStore } from "toolport/redis";
import { sqliteStore } from "toolport/sqlite";
import {
  type DatabaseService,
  KEY,
  postgresServer,
  redisServer,
  type ServerStore,
} from "../contract/server-stores.js";
import type { PostgresService } from "../support/postgres-service.js";
import type { RedisService } from "../support/redis-service.js";
import type { SharedPlace } from "./fault-processes.js";

/** A place for records that a test opens as often as it likes. */
export interface FaultStore extends AsyncDisposable {
  /** Undefined: the records are in the memory of this process. */
  readonly place: SharedPlace | undefined;
  /** Opens the store again, with this key. */
  open(key?: string): Store;
  /** Writes the stored text of one record to another key, past the store. */
  move?(from: string, to: string): Promise<void>;
  /** Changes one character of the stored text of a record. */
  damage?(key: string): Promise<void>;
}

export interface FaultStoreKind {
  readonly name: string;
  readonly isMissing: boolean;
  start(): Promise<FaultStore>;
}

const NAMESPACE = "waiting";

const damaged = (text: string): string => {
  const at = text.length - 20;
  return `${text.slice(0, at)}${text[at] === "A" ? "B" : "A"}${text.slice(at + 1)}`;
};

const memory: FaultStoreKind = {
  name: "memory",
  isMissing: false,
  async start() {
    const store = memoryStore();
    return { place: undefined, open: () => store, [Symbol.asyncDispose]: () => store.close() };
  },
};

export const sqlite: FaultStoreKind = {
  name: "SQLite",
  isMissing: false,
  async start() {
    const folder = mkdtempSync(join(tmpdir(), "toolport-suspend-"));
    const url = join(folder, "state.db");
    const rewrite = (sql: string, ...values: string[]) => {
      const database = new DatabaseSync(url);
      try {
        return database.prepare(sql).all(...values) as { value: string }[];
      } finally {
        database.close();
      }
    };
    const textOf = (key: string) =>
      rewrite("SELECT value FROM toolport_records WHERE key = ?", key)[0]!.value;
    const write = (key: string, text: string) =>
      void rewrite("UPDATE toolport_records SET value = ? WHERE key = ?", text, key);
    return {
      place: { kind: "sqlite", url, namespace: "", key: KEY },
      open: (key = KEY) => sqliteStore(url, { key }),
      move: async (from, to) => write(to, textOf(from)),
      damage: async (key) => write(key, damaged(textOf(key))),
      async [Symbol.asyncDispose]() {
        rmSync(folder, { recursive: true, force: true });
      },
    };
  },
};

function onServer<Service extends DatabaseService>(
  database: ServerStore<Service>,
  open: (url: string, key: string) => Store,
  texts: (service: Service) => {
    read(key: string): Promise<string>;
    write(key: string, text: string): Promise<void>;
  },
): FaultStoreKind & { startOn(service: Service): FaultStore } {
  const startOn = (service: Service): FaultStore => {
    const { read, write } = texts(service);
    return {
      place: { kind: database.kind, url: service.url, namespace: NAMESPACE, key: KEY },
      open: (key = KEY) => open(service.url, key),
      move: async (from, to) => write(to, await read(from)),
      damage: async (key) => write(key, damaged(await read(key))),
      [Symbol.asyncDispose]: async () => {
        await service[Symbol.asyncDispose]();
      },
    };
  };
  return {
    name: database.product,
    isMissing: database.isMissing,
    startOn,
    start: async () => startOn(await database.start()),
  };
}

const openRedis = (url: string, key: string) => redisStore(url, { key, prefix: `{${NAMESPACE}}:` });

export const redis = onServer<RedisService>(redisServer, openRedis, (service) => {
  const run = async <T>(use: (client: ReturnType<RedisService["connect"]>) => Promise<T>): Promise<T> => {
    const client = service.connect();
    try {
      return await use(client);
    } finally {
      client.disconnect();
    }
  };
  const name = (key: string) => `{${NAMESPACE}}:record:${key}`;
  return {
    read: (key) => run(async (client) => (await client.hget(name(key), "text"))!),
    write: (key, text) => run(async (client) => void (await client.hset(name(key), "text", text))),
  };
});

const openPostgres = (url: string, key: string) => postgresStore(url, { key, schema: NAMESPACE });

export const postgres = onServer<PostgresService>(postgresServer, openPostgres, (service) => {
  const quote = (text: string) => `'${text.replaceAll("'", "''")}'`;
  const table = `"${NAMESPACE}".toolport_records`;
  return {
    async read(key) {
      return (await service.run(`select text from ${table} where key = ${quote(key)}`)).rows[0].text;
    },
    async write(key, text) {
      await service.run(`update ${table} set text = ${quote(text)} where key = ${quote(key)}`);
    },
  };
});

export const FAULT_STORES: readonly FaultStoreKind[] = [memory, sqlite, redis, postgres];
