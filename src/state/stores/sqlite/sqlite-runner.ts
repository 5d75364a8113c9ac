/** Runs SQL on Node's `DatabaseSync`: prepares statements once, and transactions take the write lock first. */
import type { SqlRunner } from "../../sql-runner.js";
import type { SqliteDatabase, SqliteStatement } from "./sqlite-driver.js";

const BUSY = 5;

const hasCode = (error: unknown): boolean => (error as { errcode?: unknown }).errcode !== undefined;

export function createSqliteRunner(database: SqliteDatabase): SqlRunner {
  const statements = new Map<string, SqliteStatement>();
  const prepare = (sql: string): SqliteStatement => {
    const known = statements.get(sql);
    if (known !== undefined) return known;
    const statement = database.prepare(sql);
    statements.set(sql, statement);
    return statement;
  };
  const rollBack = (): void => {
    try {
      database.exec("ROLLBACK");
    } catch {
      // After some errors SQLite has already rolled back.
    }
  };
  return {
    all(sql, ...bindings) {
      const statement = prepare(sql);
      try {
        return statement.all(...bindings) as Record<string, unknown>[];
      } catch (error) {
        if (hasCode(error)) throw error;
        // @photostructure/sqlite reports the reason only with `get`. The failed statement changed nothing and fails again; if it
        // succeeds, it is a read, or a step of a transaction that is rolled back now.
        statement.get(...bindings);
        // It succeeded, so another connection has released its lock in between.
        throw Object.assign(error as Error, { errcode: BUSY });
      }
    },
    transaction(steps) {
      database.exec("BEGIN IMMEDIATE");
      try {
        const result = steps();
        database.exec("COMMIT");
        return result;
      } catch (error) {
        rollBack();
        throw error;
      }
    },
  };
}
