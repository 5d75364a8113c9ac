/** SQLite in the shape of a Durable Object's storage, for tests where there is no workerd. */
import { createRequire } from "node:module";
import type { DurableObjectSqlStorage } from "../../packages/stores/src/durable-object/durable-object-store.js";
import type { SqliteDriver } from "../../packages/stores/src/sqlite/open-database.js";

const { DatabaseSync } = createRequire(import.meta.url)("@photostructure/sqlite") as {
  DatabaseSync: SqliteDriver;
};

/** A database in memory that behaves like `ctx.storage`, with additions for the tests. */
export function openDurableObjectStorage(): { storage: DurableObjectSqlStorage; close(): void } {
  const database = new DatabaseSync(":memory:");
  const storage: DurableObjectSqlStorage = {
    sql: {
      exec(query, ...bindings) {
        // The platform refuses these statements, too.
        if (/^\s*(PRAGMA|BEGIN|COMMIT|ROLLBACK|SAVEPOINT|ATTACH|VACUUM)\b/i.test(query)) {
          throw new Error("not authorized");
        }
        const rows = database.prepare(query).all(...bindings) as Record<string, unknown>[];
        return { toArray: () => rows };
      },
    },
    transactionSync(closure) {
      database.exec("SAVEPOINT step");
      try {
        const result = closure();
        database.exec("RELEASE step");
        return result;
      } catch (error) {
        database.exec("ROLLBACK TO step");
        database.exec("RELEASE step");
        throw error;
      }
    },
  };
  return { storage, close: () => database.close() };
}
