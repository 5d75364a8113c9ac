/** A store in a file. */
import { resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { readFunction, readNumber, readUnchecked } from "../../../config/option-table.js";
import { createStore, type SealingStore } from "../../create-store.js";
import { createSealer } from "../../sealing.js";
import type { StoreKeys } from "../configured-keys.js";
import { loadLocalKeys } from "../local/local-keys.js";
import { inspectPrivateFile } from "../local/private-file.js";
import { checkStoreArguments, needs } from "../store-arguments.js";
import type { StoreWarning } from "../store-warning.js";
import { createSqliteBackend } from "./sqlite-backend.js";

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
  const { key, busyTimeoutMs = 5_000, onWarning } = options;
  const file = resolve(path instanceof URL ? fileURLToPath(path) : path);
  const backend = createSqliteBackend({ path: file, busyTimeoutMs, onWarning });
  const sealer = createSealer(async () => {
    // Check the file first, so that no key is created for a rejected file.
    inspectPrivateFile(file, onWarning);
    return loadLocalKeys({ key, keyFile: `${file}.key`, onWarning });
  });
  return createStore(backend, { sealer });
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
