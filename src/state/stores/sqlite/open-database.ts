/** Opens the file of a store: renames a damaged file, updates the tables and sets the journal mode. */
import { closeSync, existsSync, openSync, renameSync, rmSync, statSync } from "node:fs";
import { StateError } from "../../../errors/state-error.js";
import { migrate, readSchemaVersion } from "../../sql-migrations.js";
import type { SqlRunner } from "../../sql-runner.js";
import { claimFile } from "../local/private-file.js";
import { type StoreWarning, warn } from "../store-warning.js";
import { chooseJournalMode } from "./journal-mode.js";
import type { SqliteDatabase, SqliteDriver } from "./sqlite-driver.js";
import { isDamaged } from "./sqlite-error.js";
import { createSqliteRunner } from "./sqlite-runner.js";

/** A larger file is not read whole at every start. */
const CHECKED_BYTES = 32 * 1024 * 1024;

/** An open database file. */
export interface OpenDatabase {
  readonly sql: SqlRunner;
  /** False after the file was deleted or replaced: further writes would be lost. */
  isInPlace(): boolean;
  /** Whether the next commits wait for the disk. */
  setDurable(isDurable: boolean): void;
  /** Changes after another connection has written. */
  dataVersion(): number;
  close(): void;
}

interface OpenOptions {
  path: string;
  driver: SqliteDriver;
  onWarning: ((warning: StoreWarning) => void) | undefined;
}

export function openDatabase(options: OpenOptions): OpenDatabase {
  try {
    return openOnce(options);
  } catch (error) {
    if (!isDamaged(error)) throw error;
    reportDamage(options, error);
    return openOnce(options);
  }
}

function openOnce({ path, driver, onWarning }: OpenOptions): OpenDatabase {
  claimFile(path, onWarning);
  const database = new driver(path);
  try {
    const sql = checkDatabase(database, path);
    const problem = chooseJournalMode(sql, path);
    if (problem !== undefined) {
      const message = `The state file ${path} is written without a write-ahead log: ${problem}`;
      warn({ code: "WAL_NOT_USED", message, path }, onWarning);
    }
    migrate(sql);
    return toOpenDatabase({ database, sql, path, hasLog: problem === undefined });
  } catch (error) {
    database.close();
    throw error;
  }
}

/** Reads before anything is written, so that a damaged file or a file of a newer Toolport stays unchanged. */
function checkDatabase(database: SqliteDatabase, path: string): SqlRunner {
  const sql = createSqliteRunner(database);
  // The calls are synchronous, so waiting inside would block the event loop: see `retryBusy`.
  sql.all("PRAGMA busy_timeout = 0");
  readSchemaVersion(sql);
  if (statSync(path).size > CHECKED_BYTES) return sql;
  const [row] = sql.all("PRAGMA quick_check(1)");
  if (row?.["quick_check"] !== "ok") throw new DamagedFile();
  return sql;
}

/** Has the fields of SQLite's own error, so that both are handled in the same way. */
class DamagedFile extends Error {
  readonly errcode = 11;
}

function reportDamage({ path, driver, onWarning }: OpenOptions, cause: unknown): void {
  const isStillDamaged = (): boolean => {
    const database = new driver(path);
    try {
      checkDatabase(database, path);
      return false;
    } catch (error) {
      return isDamaged(error);
    } finally {
      database.close();
    }
  };
  const name = setAside(path, isStillDamaged);
  if (name === undefined) {
    const what = `The state file ${path} is damaged, and another process is renaming it`;
    throw new StateError({ code: "BUSY", what, next: "Try again", retryable: true, cause });
  }
  const message = `The state file ${path} was damaged. It was renamed to ${name}, and a new one was created`;
  warn({ code: "CORRUPT_SET_ASIDE", message, path: name }, onWarning);
}

function toOpenDatabase({
  database,
  sql,
  path,
  hasLog,
}: {
  database: SqliteDatabase;
  sql: SqlRunner;
  path: string;
  hasLog: boolean;
}): OpenDatabase {
  const { dev, ino } = statSync(path);
  // Without a log a power failure could damage the file if SQLite did not wait for the disk every time.
  let isWaiting = !hasLog;
  sql.all(`PRAGMA synchronous = ${isWaiting ? "FULL" : "NORMAL"}`);
  sql.all("PRAGMA fullfsync = 1");
  sql.all("PRAGMA journal_size_limit = 4194304");
  return {
    sql,
    isInPlace() {
      if (process.platform === "win32") return true; // An open file cannot be deleted there.
      const now = statSync(path, { throwIfNoEntry: false });
      return now?.ino === ino && now.dev === dev;
    },
    setDurable(isDurable) {
      if (!hasLog || isDurable === isWaiting) return;
      sql.all(`PRAGMA synchronous = ${isDurable ? "FULL" : "NORMAL"}`);
      isWaiting = isDurable;
    },
    dataVersion: () => Number(sql.all("PRAGMA data_version")[0]?.["data_version"]),
    close() {
      try {
        // SQLite does this at the end of the last connection. @photostructure/sqlite closes a connection for good only when
        // its statements are garbage-collected, and until then the file alone is incomplete.
        if (hasLog) database.exec("PRAGMA wal_checkpoint(TRUNCATE)");
      } catch {
        // Another process renames it, or the file is gone.
      }
      database.close();
    },
  };
}

/** The companion files of a database, then the database itself: a new database must not find an old companion. */
const PARTS = ["-wal", "-shm", "-journal", ""];
/** A process that holds the lock for longer is assumed to be dead. */
const STALE_LOCK_MS = 10_000;

/**
 * Renames the file and its companions if `isDamaged` is still true, and returns the new name. Undefined if another process did
 * it, or is about to.
 */
function setAside(path: string, isDamaged: () => boolean): string | undefined {
  const lock = `${path}.repair`;
  if (!takeLock(lock)) return undefined;
  try {
    // Check again: a faster process may already have created a new file.
    if (!isDamaged()) return undefined;
    const name = `${path}.corrupt-${new Date().toISOString().replaceAll(/[:.]/g, "-")}`;
    for (const part of PARTS) if (existsSync(path + part)) renameSync(path + part, name + part);
    return name;
  } finally {
    rmSync(lock, { force: true });
  }
}

function takeLock(lock: string): boolean {
  try {
    closeSync(openSync(lock, "wx", 0o600));
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
  }
  const held = statSync(lock, { throwIfNoEntry: false });
  if (held !== undefined && Date.now() - held.mtimeMs > STALE_LOCK_MS) rmSync(lock, { force: true });
  return false;
}
