/** Failures contain the reason of SQLite, with every driver. */
import { createRequire } from "node:module";
import { afterEach, beforeEach, expect, test } from "vitest";
import type { SqliteDatabase, SqliteDriver } from "./sqlite-driver.js";
import { createSqliteRunner } from "./sqlite-runner.js";

const { DatabaseSync } = createRequire(import.meta.url)("@photostructure/sqlite") as {
  DatabaseSync: SqliteDriver;
};
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
