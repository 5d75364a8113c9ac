/** `toolport/sqlite`: a store in a file that several processes of one machine may share. */
import { resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { readFunction, readNumber, readUnchecked, sleep } from "@toolport/base";
import { createStore, type SealingStore } from "../create-store.js";
import { leaseHolder, localSealer, type StoreWarning } from "../local-files.js";
import { listChanges, recordMethods } from "../sql-records.js";
import { checkStoreArguments, needs, type StoreKeys } from "../store-arguments.js";
import type { StoreBackend } from "../store-backend.js";
import {
  isBusy,
  isDamaged,
  isReadOnly,
  loadSqliteDriver,
  type OpenDatabase,
  openDatabase,
  toStateError,
} from "./open-database.js";

/** Options of {@link sqliteStore}. */
export interface SqliteStoreOptions {
  /**
   * Encrypts secret values: 32 bytes, or the same as base64 or hexadecimal text. In a list the first
   * encrypts and the others still decrypt.
   * @default TOOLPORT_STORE_KEY, else a key created at first use and stored in the keychain of the operating system (with
   * `@napi-rs/keyring`) or in `<path>.key`
   */
  key?: StoreKeys | undefined;
  /** How long a call waits while another process writes, before it fails with `BUSY`. @default 5000 */
  busyTimeoutMs?: number | undefined;
  /** Called when a damaged file was renamed, permissions were corrected … @default Node's process warnings */
  onWarning?: ((warning: StoreWarning) => void) | undefined;
}

/**
 * A store in a SQLite file. Several processes of one machine may share it. The file is opened at first use; it and its
 * directory are created if they are missing, readable by this user only.
 *
 * @example
 * ```ts
 * const toolport = createToolport({ mcpServers, store: sqliteStore("./state.db") });
 * ```
 */
export function sqliteStore(path: string | URL, options: SqliteStoreOptions = {}): SealingStore {
  checkStoreArguments({
    of: "sqliteStore()",
    problem: pathProblem(path),
    options,
    table: { key: readUnchecked, busyTimeoutMs: readNumber({ min: 0 }), onWarning: readFunction },
  });
  const file = resolve(path instanceof URL ? fileURLToPath(path) : path);
  return createStore(createSqliteBackend(file, options), { sealer: localSealer(file, options) });
}

function pathProblem(path: unknown): string | undefined {
  const expected = "the path of a file";
  if (path instanceof URL)
    return path.protocol === "file:" ? undefined : `needs ${expected}, or a URL with file:`;
  if (typeof path !== "string") return needs(expected, path);
  if (path.trim() === "" || path === ":memory:")
    return `needs ${expected}; leave out \`store\` to keep state in memory`;
  // As a path, an address with a password would become the name of a folder.
  return path.includes("://") ? `needs ${expected}, not an address: pass \`new URL("file:…")\`` : undefined;
}

export type { SealingStore } from "../create-store.js";
export type { StoreWarning } from "../local-files.js";
export { createStoreKey, type StoreKey } from "../sealing.js";
export type { StoreKeys } from "../store-arguments.js";

/** Poll interval for writes of other processes while there are watchers. */
const POLL_MS = 250;
const LONGEST_WAIT_MS = 50;

function createSqliteBackend(
  path: string,
  { busyTimeoutMs = 5_000, onWarning }: SqliteStoreOptions,
): StoreBackend {
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

  return {
    ...recordMethods(
      (step) => run(({ sql }) => step(sql)),
      (step, isDurable = false) =>
        run((open) => {
          open.setDurable(isDurable);
          return open.sql.transaction(() => step(open.sql));
        }),
      leaseHolder,
    ),
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
