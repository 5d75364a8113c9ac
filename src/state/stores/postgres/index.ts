/** `toolport/postgres`: a store that many processes share. */
import type { Pool } from "pg";
import { createStore, type SealingStore } from "../../create-store.js";
import { configuredSealer, type StoreKeys } from "../configured-keys.js";
import { createPostgresBackend } from "./postgres-backend.js";
import { postgresAt, postgresOf } from "./postgres-source.js";

export type { SealingStore } from "../../create-store.js";
export type { StoreKeys } from "../configured-keys.js";

/** Options of {@link postgresStore}. */
export interface PostgresStoreOptions {
  /**
   * Encrypts what is secret: 32 random bytes, as base64 for instance. All processes need the same one. Several: the first
   * encrypts, all of them decrypt. Without any, secrets are refused.
   * @default the environment variable TOOLPORT_STORE_KEY
   */
  key?: StoreKeys | undefined;
  /**
   * Schema of the tables; made if it is not there.
   * @default the first one of the connection's search path
   */
  schema?: string | undefined;
  /**
   * Begins the names of the tables `records`, `leases`, `migrations` and of the sequence `versions`.
   * @default "toolport_"
   */
  tablePrefix?: string | undefined;
}

/**
 * Keeps Toolport's state in PostgreSQL (11 or newer) through `pg`. Connects when it is first used, and creates its tables.
 * A pool of your own is used as it is and not ended. Through PgBouncer everything works but `watch()`, which needs its session mode.
 *
 * @example
 * ```ts
 * import { createToolport } from "toolport";
 * import { postgresStore } from "toolport/postgres";
 *
 * const store = postgresStore("postgres://localhost/app");
 * const toolport = createToolport({ mcpServers, store });
 * ```
 */
export function postgresStore(
  urlOrPool: string | URL | Pool,
  { key, schema, tablePrefix = "toolport_" }: PostgresStoreOptions = {},
): SealingStore {
  const source =
    typeof urlOrPool === "string" || urlOrPool instanceof URL
      ? postgresAt(String(urlOrPool))
      : postgresOf(urlOrPool);
  const backend = createPostgresBackend(source, { schema, prefix: tablePrefix });
  return createStore(backend, { sealer: configuredSealer(key) });
}
