/** The tables of a store in SQLite, as numbered steps from one version to the next. */
import { StateError } from "../errors/state-error.js";
import type { SqlRunner } from "./sql-runner.js";

/**
 * Step 1 is first. Never change a step that was released: add another one. The names begin with `toolport_`
 * because the owner of a Durable Object uses the same database.
 *
 * Versions and fences come from one counter that starts with the clock, so that a new file repeats no number of
 * its predecessor. Deletions are kept for a while so that other processes can detect them.
 */
const MIGRATIONS: readonly (readonly string[])[] = [
  [
    "CREATE TABLE toolport_counter (id INTEGER PRIMARY KEY CHECK (id = 1), last INTEGER NOT NULL)",
    "INSERT INTO toolport_counter (id, last) VALUES (1, CAST(strftime('%s', 'now') AS INTEGER) * 1000)",
    `CREATE TABLE toolport_records (
       key TEXT PRIMARY KEY NOT NULL,
       value TEXT NOT NULL,
       version INTEGER NOT NULL,
       expires_at INTEGER,
       written_at INTEGER NOT NULL
     )`,
    "CREATE INDEX toolport_records_version ON toolport_records (version)",
    "CREATE INDEX toolport_records_expiry ON toolport_records (expires_at) WHERE expires_at IS NOT NULL",
    `CREATE TABLE toolport_deletions (
       key TEXT PRIMARY KEY NOT NULL,
       version INTEGER NOT NULL,
       written_at INTEGER NOT NULL
     )`,
    `CREATE TABLE toolport_leases (
       name TEXT PRIMARY KEY NOT NULL,
       fence INTEGER NOT NULL,
       expires_at INTEGER NOT NULL,
       holder TEXT
     )`,
  ],
];

/** Updates the tables. Throws without a change if a newer version of Toolport created them. */
export function migrate(runner: SqlRunner): void {
  if (readSchemaVersion(runner) === MIGRATIONS.length) return;
  runner.transaction(() => {
    // Another process may have updated them in the meantime.
    const from = readSchemaVersion(runner);
    if (from === 0) {
      runner.all(
        "CREATE TABLE toolport_migrations (number INTEGER PRIMARY KEY, applied_at INTEGER NOT NULL)",
      );
    }
    for (const [index, statements] of MIGRATIONS.entries()) {
      if (index < from) continue;
      for (const statement of statements) runner.all(statement);
      runner.all("INSERT INTO toolport_migrations VALUES (?, ?)", index + 1, Date.now());
    }
  });
}

/** Number of the last applied step; 0 for a new database. */
export function readSchemaVersion(runner: SqlRunner): number {
  const tables = runner.all("SELECT name FROM sqlite_master WHERE name = 'toolport_migrations'");
  if (tables.length === 0) return 0;
  const [row] = runner.all("SELECT max(number) AS number FROM toolport_migrations");
  const version = Number(row?.["number"] ?? 0);
  if (version > MIGRATIONS.length) throw newer(version);
  return version;
}

const newer = (version: number): StateError =>
  new StateError({
    code: "UNAVAILABLE",
    what: `The saved state has version ${version}, this Toolport supports versions up to ${MIGRATIONS.length}`,
    next: "Update Toolport, or use another location for its state; nothing was changed",
  });
