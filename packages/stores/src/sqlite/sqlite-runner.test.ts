/** Failures contain the reason of SQLite, with every driver. */
import { mkdtempSync, rmSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { createSqliteRunner, type SqliteDatabase, type SqliteDriver } from "./open-database.js";

const { DatabaseSync } = createRequire(import.meta.url)("@photostructure/sqlite") as {
  DatabaseSync: SqliteDriver;
};
const BUSY = 5;
const READ_ONLY = 8;
const CONSTRAINT_UNIQUE = 2067;

let database: SqliteDatabase;
beforeEach(() => {
  database = new DatabaseSync(":memory:");
  database.exec("CREATE TABLE t (x UNIQUE)");
});
afterEach(() => database.close());

test("a statement that returns rows fails with SQLite's code", () => {
  const sql = createSqliteRunner(database);
  const insert = () => sql.all("INSERT INTO t VALUES (?) RETURNING x", 1);
  expect(insert()).toEqual([{ x: 1 }]);
  expect(insert).toThrow(expect.objectContaining({ errcode: CONSTRAINT_UNIQUE }));
  database.exec("PRAGMA query_only = 1");
  expect(() => sql.transaction(insert)).toThrow(expect.objectContaining({ errcode: READ_ONLY }));
  expect(sql.all("SELECT x FROM t")).toEqual([{ x: 1 }]);
});

test("a lock that ends before the reason is read counts as a lock", () => {
  const directory = mkdtempSync(join(tmpdir(), "toolport-runner-"));
  const writer = new DatabaseSync(join(directory, "a.db"));
  const reader = new DatabaseSync(join(directory, "a.db"));
  try {
    reader.exec("PRAGMA busy_timeout = 0");
    writer.exec("CREATE TABLE t (x)");
    const prepare = (text: string) => {
      const statement = reader.prepare(text);
      const all = (...bindings: never[]) => {
        try {
          return statement.all(...bindings);
        } catch (error) {
          writer.exec("COMMIT");
          throw error;
        }
      };
      return { all, get: (...bindings: never[]) => statement.get(...bindings) };
    };
    const sql = createSqliteRunner({ prepare, exec: reader.exec, close: reader.close } as SqliteDatabase);
    // Prepares the statement, which would fail with the reason.
    expect(sql.all("SELECT x FROM t")).toEqual([]);
    writer.exec("BEGIN EXCLUSIVE");
    expect(() => sql.all("SELECT x FROM t")).toThrow(expect.objectContaining({ errcode: BUSY }));
  } finally {
    reader.close();
    writer.close();
    rmSync(directory, { recursive: true });
  }
});
