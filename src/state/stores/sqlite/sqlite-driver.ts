/** Finds a SQLite driver: that of Node if its version is suitable, otherwise a package. Both have the interface of Node's `DatabaseSync`. */
import { StateError } from "../../../errors/toolport-error.js";
import { loadOnce } from "../../../util/concurrency.js";

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

/** The bug that loses a log during its reset is fixed since 3.51.3; 3.52.0 was withdrawn. */
export function isSafeWithLog(version: string): boolean {
  const [major = 0, minor = 0, patch = 0] = version.split(".").map(Number);
  if (major !== 3) return major > 3;
  return minor > 52 || (minor === 52 && patch > 0) || (minor === 51 && patch >= 3);
}

/** The first available driver; a missing driver may be available the next time. */
export const loadSqliteDriver = loadOnce(findDriver);

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
    what: "No SQLite driver was found: neither the package @photostructure/sqlite nor that of Node",
    next: "Run `npm install @photostructure/sqlite`",
    cause: new AggregateError(causes),
  });
}
