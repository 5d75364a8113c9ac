/** Opens the state of the command line: a SQLite file, or a JSON file where there is no SQLite. */
import { existsSync } from "node:fs";
import { StateError } from "../errors/state-error.js";
import { memoryStore } from "../state/memory-store.js";
import { fileStore } from "../state/stores/file/file-store.js";
import { loadSqliteDriver } from "../state/stores/sqlite/sqlite-driver.js";
import { sqliteStore } from "../state/stores/sqlite/sqlite-store.js";
import type { OpenedStore } from "./shell.js";

/**
 * State that was begun in a JSON file stays there after an update of Node: logins and consent must not vanish with it.
 *
 * @param path undefined: the user wants it in memory
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
      `${missing.what}, so the state in ${path} cannot be read. A new one is begun in ${file}. ${missing.next}`,
    );
  // Every write makes the file anew, without holes.
  return { store: fileStore(file, { onWarning }), statePath: file, compact: async () => {} };
}

/** Why there is no SQLite; undefined if there is one. */
async function driverProblem(): Promise<StateError | undefined> {
  try {
    await loadSqliteDriver();
    return undefined;
  } catch (error) {
    if (error instanceof StateError) return error;
    throw error;
  }
}

/** Rewrites a SQLite file without its holes. */
async function compact(path: string): Promise<void> {
  const database = new (await loadSqliteDriver())(path);
  try {
    database.exec("PRAGMA wal_checkpoint(TRUNCATE)");
    database.exec("VACUUM");
    database.exec("PRAGMA wal_checkpoint(TRUNCATE)");
  } catch {
    // Another process is using it; the next time will do.
  } finally {
    database.close();
  }
}
