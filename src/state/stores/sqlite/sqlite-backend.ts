/** Records in a SQLite file that any number of processes of one machine may share. */
import { sleep } from "../../../util/sleep.js";
import {
  acquireLease,
  deleteRecord,
  getRecord,
  listChanges,
  listKeys,
  putRecord,
  setLeaseEnd,
} from "../../sql-records.js";
import type { StoreBackend } from "../../store-backend.js";
import { leaseHolder } from "../local/lease-holder.js";
import type { StoreWarning } from "../store-warning.js";
import { type OpenDatabase, openDatabase } from "./open-database.js";
import { loadSqliteDriver } from "./sqlite-driver.js";
import { isBusy, isDamaged, isReadOnly, toStateError } from "./sqlite-error.js";

/** Poll interval for writes of other processes while there are watchers. */
const POLL_MS = 250;
const LONGEST_WAIT_MS = 50;

interface SqliteBackendOptions {
  path: string;
  busyTimeoutMs: number;
  onWarning: ((warning: StoreWarning) => void) | undefined;
}

export function createSqliteBackend({ path, busyTimeoutMs, onWarning }: SqliteBackendOptions): StoreBackend {
  let current: OpenDatabase | undefined;
  let isClosed = false;
  const drop = (): void => {
    current?.close();
    current = undefined;
  };
  const database = async (): Promise<OpenDatabase> => {
    if (current?.isInPlace() === false) drop();
    if (current !== undefined) return current;
    const driver = await loadSqliteDriver();
    // A poll may have been waiting here when the store was closed.
    if (isClosed) throw toStateError(undefined, path);
    current ??= openDatabase({ path, driver, onWarning });
    return current;
  };

  /** Runs a step, and repeats it while the file is locked, without blocking the event loop. */
  const run = async <T>(step: (open: OpenDatabase) => T): Promise<T> => {
    const deadline = performance.now() + busyTimeoutMs;
    for (let attempt = 1; ; attempt++) {
      try {
        return step(await database());
      } catch (error) {
        // The next call opens the file again, and renames it if it is damaged.
        if (isDamaged(error) || isReadOnly(error)) drop();
        if (!isBusy(error) || performance.now() >= deadline) throw toStateError(error, path);
      }
      await sleep(1 + Math.random() * Math.min(2 ** attempt, LONGEST_WAIT_MS));
    }
  };
  /** A write that need not wait for the disk. */
  const write = <T>(step: (sql: OpenDatabase["sql"]) => T, isDurable = false): Promise<T> =>
    run((open) => {
      open.setDurable(isDurable);
      return step(open.sql);
    });

  return {
    get: (key) => run(({ sql }) => getRecord(sql, key)),
    put: (key, text, { durable, ...conditions }) =>
      write((sql) => putRecord(sql, { key, text, ...conditions }), durable),
    delete: (key, { ifVersion }) => write((sql) => deleteRecord(sql, key, ifVersion)),
    list: (prefix) => run(({ sql }) => listKeys(sql, prefix)),
    acquireLease: (name, ttlMs) => write((sql) => acquireLease(sql, { name, ttlMs, holder: leaseHolder() })),
    renewLease: (name, fence, ttlMs) =>
      write((sql) => setLeaseEnd(sql, { name, fence, expiresAt: Date.now() + ttlMs })),
    async releaseLease(name, fence) {
      await write((sql) => setLeaseEnd(sql, { name, fence, expiresAt: Date.now() }));
    },
    watch: (onChange) => pollChanges(database, onChange),
    async close() {
      isClosed = true;
      drop();
    },
  };
}

/** Polls SQLite for writes of other connections; reads nothing from the file while there are none. */
function pollChanges(database: () => Promise<OpenDatabase>, onChange: (key: string) => void): () => void {
  let range = { since: Date.now(), after: 0 };
  let seen: { open: OpenDatabase; dataVersion: number } | undefined;
  let isPolling = false;
  let isStopped = false;

  const poll = async (): Promise<void> => {
    const open = await database();
    const dataVersion = open.dataVersion();
    if (isStopped || (seen?.open === open && seen.dataVersion === dataVersion)) return;
    const { keys, version } = listChanges(open.sql, range);
    seen = { open, dataVersion };
    range = { since: 0, after: version };
    for (const key of keys) onChange(key);
  };
  const tick = (): void => {
    if (isPolling) return;
    isPolling = true;
    // A file that cannot be read now may be readable the next time.
    poll()
      .catch(() => {})
      .finally(() => {
        isPolling = false;
      });
  };
  const timer = setInterval(tick, POLL_MS);
  timer.unref();
  tick();
  return () => {
    isStopped = true;
    clearInterval(timer);
  };
}
