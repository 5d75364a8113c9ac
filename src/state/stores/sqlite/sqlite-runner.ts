/** Node's `DatabaseSync` as a runner of SQL: statements prepared once, transactions that take the write lock first. */
import type { SqlRunner } from "../../sql-runner.js";
import type { SqliteDatabase, SqliteStatement } from "./sqlite-driver.js";

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
      // After some errors SQLite has done it already.
    }
  };
  return {
    all(sql, ...bindings) {
      const statement = prepare(sql);
      try {
        return statement.all(...bindings) as Record<string, unknown>[];
      } catch (error) {
        // @photostructure/sqlite tells why only with `get`. What failed has changed nothing, and fails again; if it does not
        // after all, it is a read, or a step of a transaction that is rolled back now.
        if (!hasCode(error)) statement.get(...bindings);
        throw error;
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
