/** Finds a SQLite driver: Node's if its version is good, else a package. Both have the interface of Node's `DatabaseSync`. */
import { StateError } from "../../../errors/state-error.js";
import { isSafeWithLog } from "./journal-mode.js";

/** The part of `DatabaseSync` that the store uses. */
export interface SqliteDatabase {
  exec(sql: string): void;
  prepare(sql: string): SqliteStatement;
  close(): void;
}

export interface SqliteStatement {
  all(...bindings: unknown[]): unknown[];
  get(...bindings: unknown[]): unknown;
}

/** Opens a database file. */
export type SqliteDriver = new (path: string) => SqliteDatabase;

/** Not literals, so that bundlers do not try to resolve them. */
const PACKAGE = "@photostructure/sqlite";
const BUILT_IN = "node:sqlite";

/** An old version in Node is better than no SQLite. */
function sources(): readonly string[] {
  const { sqlite } = process.versions;
  return sqlite !== undefined && isSafeWithLog(sqlite) ? [BUILT_IN, PACKAGE] : [PACKAGE, BUILT_IN];
}

let loading: Promise<SqliteDriver> | undefined;

/** The first driver that is there; a driver that was missing may be there the next time. */
export function loadSqliteDriver(): Promise<SqliteDriver> {
  loading ??= findDriver().catch((error: unknown) => {
    loading = undefined;
    throw error;
  });
  return loading;
}

async function findDriver(): Promise<SqliteDriver> {
  const causes: unknown[] = [];
  for (const source of sources()) {
    try {
      const { DatabaseSync } = (await import(source)) as { DatabaseSync: SqliteDriver };
      return DatabaseSync;
    } catch (error) {
      causes.push(error);
    }
  }
  throw new StateError({
    code: "UNAVAILABLE",
    what: "There is no SQLite here: neither the package @photostructure/sqlite nor Node's own",
    next: "Run `npm install @photostructure/sqlite`",
    cause: new AggregateError(causes),
  });
}
