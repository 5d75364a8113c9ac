/** Opens the state of the command line: a SQLite file, or a JSON file if SQLite is not available. */
import { existsSync } from "node:fs";
import { StateError } from "../errors/state-error.js";
import { memoryStore } from "../state/memory-store.js";
import { fileStore } from "../state/stores/file/file-store.js";
import { loadSqliteDriver } from "../state/stores/sqlite/sqlite-driver.js";
import { sqliteStore } from "../state/stores/sqlite/sqlite-store.js";
import type { OpenedStore } from "./command-context.js";

/**
 * An existing JSON file stays in use after an update of Node, so that logins and consent are not lost.
 *
 * @param path undefined for state in memory
 */
export async function openStore(
  path: string | undefined,
  warn: (text: string) => void,
): Promise<OpenedStore> {
  if (path === undefined) return { store: memoryStore(), statePath: undefined, compact: async () => {} };
  const file = `${path.replace(/\.db$/, "")}.json`;
  const onWarning = ({ message }: { message: string }) => warn(message);
  const [hasDatabase, hasFile] = [existsSync(path), existsSync(file)];
  const missing = hasDatabase || !hasFile ? await driverProblem() : undefined;
  if (missing === undefined && (hasDatabase || !hasFile))
    return { store: sqliteStore(path, { onWarning }), statePath: path, compact: () => compact(path) };
  if (missing !== undefined && hasDatabase && !hasFile)
    warn(
      `${missing.what}, so Toolport cannot read the state in ${path} and starts with new state in ${file}. ${missing.next}`,
    );
  // Every write rewrites the whole JSON file: there is nothing to compact.
  return { store: fileStore(file, { onWarning }), statePath: file, compact: async () => {} };
}

/** Why SQLite is not available; undefined if it is. */
async function driverProblem(): Promise<StateError | undefined> {
  try {
    await loadSqliteDriver();
    return undefined;
  } catch (error) {
    if (error instanceof StateError) return error;
    throw error;
  }
}

/** Frees the unused pages of a SQLite file. */
async function compact(path: string): Promise<void> {
  const database = new (await loadSqliteDriver())(path);
  try {
    database.exec("PRAGMA wal_checkpoint(TRUNCATE)");
    database.exec("VACUUM");
    database.exec("PRAGMA wal_checkpoint(TRUNCATE)");
  } catch {
    // Another process is using the file. The next `gc` compacts it.
  } finally {
    database.close();
  }
}
