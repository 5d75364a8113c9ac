import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import type { SqlRunner } from "../sql-records.js";
import { chooseJournalMode, createSqliteRunner, isSafeWithLog, loadSqliteDriver } from "./open-database.js";

test.each([
  ["3.45.1", false],
  ["3.51.2", false],
  ["3.51.3", true],
  ["3.52.0", false],
  ["3.52.1", true],
  ["3.53.0", true],
  ["4.0.0", true],
])("SQLite %s with a write-ahead log: %s", (version, expected) => {
  expect(isSafeWithLog(version)).toBe(expected);
});

test("uses the write-ahead log only if it is safe", async () => {
  const folder = mkdtempSync(join(tmpdir(), "toolport-journal-"));
  const path = join(folder, "state.db");
  const database = new (await loadSqliteDriver())(path);
  const sql = createSqliteRunner(database);
  const older: SqlRunner = {
    ...sql,
    all: (text, ...bindings) =>
      text.includes("sqlite_version") ? [{ version: "3.45.1" }] : sql.all(text, ...bindings),
  };
  const mode = () => sql.all("PRAGMA journal_mode")[0]?.["journal_mode"];
  expect(chooseJournalMode(sql, path)).toBeUndefined();
  expect(mode()).toBe("wal");
  expect(chooseJournalMode(older, path)).toContain("3.45.1");
  expect(mode()).toBe("delete");
  database.close();
  rmSync(folder, { recursive: true });
});
