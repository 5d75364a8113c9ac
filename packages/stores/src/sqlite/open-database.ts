/** Finds a driver and opens the file of a store: renames a damaged file, updates the tables and sets the journal mode. */
import { closeSync, existsSync, openSync, renameSync, rmSync, statfsSync, statSync } from "node:fs";
import { getOrMake, loadOnce, StateError } from "@toolport/base";
import { busyError, claimFile, fullError, type StoreWarning, toFileError, warn } from "../local-files.js";
import { migrate, readSchemaVersion, type SqlRunner } from "../sql-records.js";

/** A larger file is not read whole at every start. */
const CHECKED_BYTES = 32 * 1024 * 1024;

/** An open database file. */
export type OpenDatabase = ReturnType<typeof toOpenDatabase>;

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
}) {
  const { dev, ino } = statSync(path);
  // Without a log a power failure could damage the file if SQLite did not wait for the disk every time.
  let isWaiting = !hasLog;
  sql.all(`PRAGMA synchronous = ${isWaiting ? "FULL" : "NORMAL"}`);
  sql.all("PRAGMA fullfsync = 1");
  sql.all("PRAGMA journal_size_limit = 4194304");
  return {
    sql,
    /** False after the file was deleted or replaced: further writes would be lost. */
    isInPlace(): boolean {
      if (process.platform === "win32") return true; // An open file cannot be deleted there.
      const now = statSync(path, { throwIfNoEntry: false });
      return now?.ino === ino && now.dev === dev;
    },
    /** Whether the next commits wait for the disk. */
    setDurable(isDurable: boolean): void {
      if (!hasLog || isDurable === isWaiting) return;
      sql.all(`PRAGMA synchronous = ${isDurable ? "FULL" : "NORMAL"}`);
      isWaiting = isDurable;
    },
    /** Changes after another connection has written. */
    dataVersion: () => Number(sql.all("PRAGMA data_version")[0]?.["data_version"]),
    close(): void {
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

const BUSY = 5;

const hasCode = (error: unknown): boolean => (error as { errcode?: unknown }).errcode !== undefined;

export function createSqliteRunner(database: SqliteDatabase): SqlRunner {
  const statements = new Map<string, SqliteStatement>();
  const rollBack = (): void => {
    try {
      database.exec("ROLLBACK");
    } catch {
      // After some errors SQLite has already rolled back.
    }
  };
  return {
    all(sql, ...bindings) {
      const statement = getOrMake(statements, sql, () => database.prepare(sql));
      try {
        return statement.all(...bindings) as Record<string, unknown>[];
      } catch (error) {
        if (hasCode(error)) throw error;
        // @photostructure/sqlite reports the reason only with `get`. The failed statement changed nothing and fails again; if it
        // succeeds, it is a read, or a step of a transaction that is rolled back now.
        statement.get(...bindings);
        // It succeeded, so another connection has released its lock in between.
        throw Object.assign(error as Error, { errcode: BUSY });
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

/** Type numbers of network file systems in statfs(2): NFS, SMB, CIFS, SMB2, AFS, 9P, Ceph. */
const NETWORK_FILE_SYSTEMS = [0x6969, 0x517b, 0xff534d42, 0xfe534d42, 0x5346414f, 0x01021997, 0x00c36400];

/** Sets the mode. Returns the reason if it is not the write-ahead log. */
export function chooseJournalMode(sql: SqlRunner, path: string): string | undefined {
  const problem = whyNoLog(sql, path);
  const wanted = problem === undefined ? "wal" : "delete";
  if (readMode(sql, "PRAGMA journal_mode") === wanted) return problem;
  const reached = readMode(sql, `PRAGMA journal_mode = ${wanted}`);
  if (reached === wanted) return problem;
  return problem ?? "the file system does not support it";
}

function whyNoLog(sql: SqlRunner, path: string): string | undefined {
  const [row] = sql.all("SELECT sqlite_version() AS version");
  const version = String(row?.["version"]);
  if (!isSafeWithLog(version)) {
    return `SQLite ${version} can damage a log that several processes write; install @photostructure/sqlite or a newer Node`;
  }
  if (isOnNetwork(path)) return "it is on a network file system; move it to a disk of this machine";
  return undefined;
}

function isOnNetwork(path: string): boolean {
  if (process.platform !== "linux") return false;
  try {
    return NETWORK_FILE_SYSTEMS.includes(statfsSync(path).type);
  } catch {
    return false;
  }
}

const readMode = (sql: SqlRunner, pragma: string): unknown => sql.all(pragma)[0]?.["journal_mode"];

const BUSY_CODES = [5, 6, 15]; // BUSY, LOCKED, PROTOCOL
const DAMAGED = [11, 26]; // CORRUPT, NOTADB
const READ_ONLY = 8;
const FULL = 13;
/** Write errors that are caused by a quota or a limit of the file size. */
const LIMITED = [778, 4874]; // IOERR_WRITE, IOERR_SHMSIZE

/** SQLite's extended result code, or Node's code of a failed file operation. */
function codeOf(error: unknown): unknown {
  const { errcode, code } = Object(error) as { errcode?: unknown; code?: unknown };
  return errcode ?? code;
}

const primaryCode = (error: unknown): number | undefined => {
  const code = codeOf(error);
  return typeof code === "number" ? code & 0xff : undefined;
};

/** Another process is writing: retry shortly. */
export const isBusy = (error: unknown): boolean =>
  BUSY_CODES.includes(primaryCode(error) ?? -1) || (error instanceof StateError && error.code === "BUSY");

/** The file is not a database, or is damaged. */
export const isDamaged = (error: unknown): boolean => DAMAGED.includes(primaryCode(error) ?? -1);

/** The connection is read-only. It stays so even if the file becomes writable again. */
export const isReadOnly = (error: unknown): boolean => primaryCode(error) === READ_ONLY;

const isFull = (error: unknown): boolean =>
  primaryCode(error) === FULL || LIMITED.includes(codeOf(error) as number);

/** Converts any error of the file to a `StateError`. */
export function toStateError(error: unknown, path: string): StateError {
  if (error instanceof StateError) return error;
  if (isBusy(error)) return busyError(path, error);
  if (isFull(error)) return fullError(path, error);
  if (!isDamaged(error)) return toFileError(error, path);
  return new StateError({
    code: "CORRUPT",
    what: `The state file ${path} is damaged`,
    next: "The next call renames it and creates a new one",
    retryable: true,
    cause: error,
  });
}

/** The part of `DatabaseSync` that the store uses. */
export interface SqliteDatabase {
  exec(sql: string): void;
  prepare(sql: string): SqliteStatement;
  close(): void;
}

interface SqliteStatement {
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
