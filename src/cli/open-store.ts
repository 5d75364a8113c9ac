/** Opens the state of the command line: a SQLite file, or memory where there is no SQLite. */
import { StateError } from "../errors/state-error.js";
import { memoryStore } from "../state/memory-store.js";
import { loadSqliteDriver } from "../state/stores/sqlite/sqlite-driver.js";
import { sqliteStore } from "../state/stores/sqlite/sqlite-store.js";
import type { OpenedStore } from "./shell.js";

/** @param path undefined: memory is what the user wants */
export async function openStore(
  path: string | undefined,
  warn: (text: string) => void,
): Promise<OpenedStore> {
  if (path === undefined) return { store: memoryStore(), statePath: undefined };
  try {
    await loadSqliteDriver();
  } catch (error) {
    if (!(error instanceof StateError)) throw error;
    warn(`${error.what}. State is kept in memory and lost at the end. ${error.next}`);
    return { store: memoryStore(), statePath: undefined };
  }
  return { store: sqliteStore(path, { onWarning: ({ message }) => warn(message) }), statePath: path };
}
