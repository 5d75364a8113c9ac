/** The statements behind a store in SQLite. Synchronous: each call is one atomic step. */
import { StateError } from "@toolport/base";
import { UNKEYED } from "./sealing.js";
import { keyAfterPrefix, type LeaseHolder, type RecordMethods } from "./store-backend.js";

/** A value of a column or a parameter. */
type SqlValue = string | number | null;

/** A synchronous SQLite. */
export interface SqlRunner {
  /** Runs one statement and returns its rows. */
  all(sql: string, ...bindings: SqlValue[]): Record<string, unknown>[];
  /** Runs the steps as one write transaction: all of them or none. */
  transaction<T>(steps: () => T): T;
}

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

type RunStep = <T>(step: (sql: SqlRunner) => T, isDurable?: boolean) => Promise<T>;

/** Writes between two prunings. */
const PRUNE_EVERY = 64;
/** How long deletions and expired leases are kept. */
const MEMORY_MS = 3_600_000;
/** Condition: not expired. Its parameter is the current time. */
const live = "(expires_at IS NULL OR expires_at > ?)";

/**
 * The methods of a store that read and write records and leases.
 *
 * @param write runs a step as one transaction
 */
export const recordMethods = (
  read: RunStep,
  write: RunStep,
  holderOf: () => LeaseHolder | undefined = () => undefined,
): RecordMethods => ({
  get: (key) =>
    read((sql) => {
      const now = Date.now();
      const [row] = sql.all(
        `SELECT value, version, expires_at FROM toolport_records WHERE key = ? AND ${live}`,
        key,
        now,
      );
      if (row === undefined) return undefined;
      const expiresAt = row["expires_at"];
      const ttlLeftMs = expiresAt === null ? undefined : Number(expiresAt) - now;
      return { text: String(row["value"]), version: Number(row["version"]), ttlLeftMs };
    }),
  put: (key, text, { ifVersion, ttlMs, lease, durable }) =>
    write((sql) => {
      const now = Date.now();
      if (ifVersion !== undefined && readVersion(sql, key, now) !== ifVersion) return undefined;
      if (lease !== undefined && readFence(sql, lease.name) !== lease.fence) return undefined;
      const version = nextNumber(sql);
      const expiresAt = ttlMs === undefined ? null : Math.ceil(now + ttlMs);
      sql.all(
        `INSERT INTO toolport_records (key, value, version, expires_at, written_at) VALUES (?, ?, ?, ?, ?)
         ON CONFLICT (key) DO UPDATE SET value = excluded.value, version = excluded.version,
           expires_at = excluded.expires_at, written_at = excluded.written_at`,
        ...[key, text, version, expiresAt, now],
      );
      sql.all("DELETE FROM toolport_deletions WHERE key = ?", key);
      if (version % PRUNE_EVERY === 0) prune(sql, now);
      return version;
    }, durable),
  delete: (key, { ifVersion }) =>
    write((sql) => {
      const now = Date.now();
      const version = readVersion(sql, key, now);
      if (version === 0 || (ifVersion !== undefined && version !== ifVersion)) return false;
      sql.all("DELETE FROM toolport_records WHERE key = ?", key);
      sql.all(
        `INSERT INTO toolport_deletions (key, version, written_at) VALUES (?, ?, ?)
         ON CONFLICT (key) DO UPDATE SET version = excluded.version, written_at = excluded.written_at`,
        ...[key, nextNumber(sql), now],
      );
      return true;
    }),
  list: (prefix) =>
    read((sql) => {
      const end = keyAfterPrefix(prefix);
      const range = end === undefined ? [prefix] : [prefix, end];
      const rows = sql.all(
        `SELECT key FROM toolport_records WHERE key >= ? ${end === undefined ? "" : "AND key < ?"} AND ${live} ORDER BY key`,
        ...range,
        Date.now(),
      );
      return rows.map((row) => String(row["key"]));
    }),
  acquireLease: (name, ttlMs) =>
    write((sql) => {
      const [now, holder] = [Date.now(), holderOf()];
      const [held] = sql.all(
        "SELECT holder FROM toolport_leases WHERE name = ? AND expires_at > ?",
        name,
        now,
      );
      if (held !== undefined && holder?.isGone(String(held["holder"])) !== true) return undefined;
      const fence = nextNumber(sql);
      sql.all(
        `INSERT INTO toolport_leases (name, fence, expires_at, holder) VALUES (?, ?, ?, ?)
         ON CONFLICT (name) DO UPDATE SET fence = excluded.fence, expires_at = excluded.expires_at,
           holder = excluded.holder`,
        ...[name, fence, Math.ceil(now + ttlMs), holder?.id ?? null],
      );
      return fence;
    }),
  renewLease: (name, fence, ttlMs) =>
    write((sql) => {
      const update = "UPDATE toolport_leases SET expires_at = ? WHERE name = ? AND fence = ? RETURNING name";
      return sql.all(update, Math.ceil(Date.now() + ttlMs), name, fence).length > 0;
    }),
});

/** True if a record is encrypted, and not only marked as secret. */
export function hasSealedRecord(sql: SqlRunner): boolean {
  const [row] = sql.all(
    `SELECT 1 FROM toolport_records WHERE value LIKE ? AND value NOT LIKE ? AND ${live} LIMIT 1`,
    '{"$sealed":{"kid":%',
    `{"$sealed":{"kid":"${UNKEYED}"%`,
    Date.now(),
  );
  return row !== undefined;
}

/** Keys written or deleted above the version `after` and not before the time `since`, with the version reached. */
export function listChanges(
  sql: SqlRunner,
  { since, after }: { since: number; after: number },
): { keys: string[]; version: number } {
  // Read first: a write in between is reported twice, not lost.
  const [counter] = sql.all("SELECT last FROM toolport_counter");
  const rows = sql.all(
    `SELECT key FROM toolport_records WHERE version > ? AND written_at >= ?
     UNION ALL SELECT key FROM toolport_deletions WHERE version > ? AND written_at >= ?`,
    after,
    since,
    after,
    since,
  );
  return { keys: rows.map((row) => String(row["key"])), version: Number(counter?.["last"] ?? after) };
}

/** Version of the live record, 0 if there is none. */
function readVersion(sql: SqlRunner, key: string, now: number): number {
  const [row] = sql.all(`SELECT version FROM toolport_records WHERE key = ? AND ${live}`, key, now);
  return Number(row?.["version"] ?? 0);
}

function readFence(sql: SqlRunner, name: string): number | undefined {
  const [row] = sql.all("SELECT fence FROM toolport_leases WHERE name = ?", name);
  return row && Number(row["fence"]);
}

/** The next version or fence; each number is used once. */
function nextNumber(sql: SqlRunner): number {
  const [row] = sql.all("UPDATE toolport_counter SET last = last + 1 RETURNING last");
  return Number(row?.["last"]);
}

function prune(sql: SqlRunner, now: number): void {
  sql.all("DELETE FROM toolport_records WHERE expires_at <= ?", now);
  sql.all("DELETE FROM toolport_deletions WHERE written_at < ?", now - MEMORY_MS);
  sql.all("DELETE FROM toolport_leases WHERE expires_at < ?", now - MEMORY_MS);
}
