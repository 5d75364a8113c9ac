/** Node's `DatabaseSync` as a runner of SQL: statements prepared once, transactions that take the write lock first. */
import type { SqlRunner } from "../../sql-runner.js";
import type { SqliteDatabase, SqliteStatement } from "./sqlite-driver.js";

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
    all: (sql, ...bindings) => prepare(sql).all(...bindings) as Record<string, unknown>[],
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
