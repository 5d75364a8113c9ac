/** `toolport/postgres`: a store that many processes share. */
import type { Pool } from "pg";
import { readText, readUnchecked } from "../../../config/option-table.js";
import { createStore, type SealingStore } from "../../create-store.js";
import { configuredSealer, type StoreKeys } from "../configured-keys.js";
import { checkStoreArguments } from "../store-arguments.js";
import { createPostgresBackend } from "./postgres-backend.js";
import { postgresAt, postgresOf, postgresProblem } from "./postgres-source.js";

export type { SealingStore } from "../../create-store.js";
export type { StoreKeys } from "../configured-keys.js";

/** Options of {@link postgresStore}. */
export interface PostgresStoreOptions {
  /**
   * Encrypts secrets: 32 random bytes, for instance as base64. All processes need the same key. Of several, the first
   * encrypts and all decrypt. Without a key, writing secrets fails.
   * @default the environment variable TOOLPORT_STORE_KEY
   */
  key?: StoreKeys | undefined;
  /**
   * Schema of the tables; created if it does not exist.
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
 * Stores Toolport's state in PostgreSQL (11 or newer) through `pg`. Connects when it is first used, and creates its tables.
 * It never ends your own pool. With PgBouncer, `watch()` requires session mode.
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
  options: PostgresStoreOptions = {},
): SealingStore {
  checkStoreArguments({
    of: "postgresStore()",
    problem: postgresProblem(urlOrPool),
    options,
    table: { key: readUnchecked, schema: readText, tablePrefix: readUnchecked },
  });
  const { key, schema, tablePrefix = "toolport_" } = options;
  const source =
    typeof urlOrPool === "string" || urlOrPool instanceof URL
      ? postgresAt(String(urlOrPool))
      : postgresOf(urlOrPool);
  const backend = createPostgresBackend(source, { schema, prefix: tablePrefix });
  return createStore(backend, { sealer: configuredSealer(key) });
}
