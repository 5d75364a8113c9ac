/** Stores that several processes can share, each started for one test file. */
import { randomBytes } from "node:crypto";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Store } from "toolport";
import { postgresStore } from "toolport/postgres";
import { redisStore } from "toolport/redis";
import { sqliteStore } from "toolport/sqlite";
import { startPostgres, withoutPostgres } from "./postgres-service.js";
import { startRedis, withoutRedis } from "./redis-service.js";

/** Data that opens the store in any process. */
export interface StorePlace {
  readonly kind: "sqlite" | "redis" | "postgres";
  /** Path or URL. */
  readonly at: string;
  readonly key: string;
}

export interface SharedStore extends AsyncDisposable {
  /** Creates a new, empty location. */
  makePlace(): StorePlace | Promise<StorePlace>;
}

export interface SharedStoreKind {
  readonly name: string;
  /** True if the database is not installed and not required. */
  readonly missing: boolean;
  start(): Promise<SharedStore>;
}

const makeKey = () => randomBytes(32).toString("base64");

/** An empty directory for a SQLite file. */
export function makeSqlitePlace(): StorePlace & { folder: string } & Disposable {
  const folder = mkdtempSync(join(tmpdir(), "toolport-oauth-"));
  return {
    kind: "sqlite",
    at: join(folder, "state.db"),
    key: makeKey(),
    folder,
    [Symbol.dispose]: () => rmSync(folder, { recursive: true, force: true }),
  };
}

export function openStore({ kind, at, key }: StorePlace): Store {
  if (kind === "sqlite") return sqliteStore(at, { key });
  return kind === "redis" ? redisStore(at, { key }) : postgresStore(at, { key });
}

export const sharedStoreKinds: readonly SharedStoreKind[] = [
  {
    name: "SQLite",
    missing: false,
    async start() {
      const places: Disposable[] = [];
      return {
        makePlace() {
          const place = makeSqlitePlace();
          places.push(place);
          return place;
        },
        async [Symbol.asyncDispose]() {
          for (const place of places) place[Symbol.dispose]();
        },
      };
    },
  },
  {
    name: "Redis",
    missing: withoutRedis,
    async start() {
      const service = await startRedis();
      let database = 0;
      return {
        // Redis has sixteen separate databases.
        makePlace: () => ({
          kind: "redis",
          at: service.url.replace(/\/0$/, `/${database++}`),
          key: makeKey(),
        }),
        [Symbol.asyncDispose]: () => service[Symbol.asyncDispose](),
      };
    },
  },
  {
    name: "PostgreSQL",
    missing: withoutPostgres,
    async start() {
      const service = await startPostgres();
      let database = 0;
      return {
        async makePlace() {
          const name = `oauth_${++database}`;
          await service.run(`CREATE DATABASE ${name}`);
          return { kind: "postgres", at: service.url.replace(/\/postgres$/, `/${name}`), key: makeKey() };
        },
        [Symbol.asyncDispose]: () => service[Symbol.asyncDispose](),
      };
    },
  },
];
