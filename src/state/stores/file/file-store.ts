/** A store in a JSON file. */
import { resolve } from "node:path";
import { createStore, type SealingStore } from "../../create-store.js";
import { createSealer } from "../../sealing.js";
import { loadLocalKeys } from "../local/local-keys.js";
import { inspectPrivateFile } from "../local/private-file.js";
import type { StoreWarning } from "../store-warning.js";
import { createFileBackend } from "./file-backend.js";

interface FileStoreOptions {
  /** How long a call waits while other processes write, before it fails with `BUSY`. @default 15000 */
  busyTimeoutMs?: number | undefined;
  /** Called when a damaged file was renamed, or permissions were corrected. @default Node's process warnings */
  onWarning?: ((warning: StoreWarning) => void) | undefined;
}

/**
 * A store in a JSON file, for the command line on a Node without SQLite. It has the same guarantees as `sqliteStore`; every write
 * replaces the whole file, so it is meant for small state. Keys come from `TOOLPORT_STORE_KEY`, else from the keychain or
 * `<path>.key`.
 *
 * @example
 * ```ts
 * const store = fileStore("./state.json");
 * ```
 */
export function fileStore(path: string, options: FileStoreOptions = {}): SealingStore {
  const { busyTimeoutMs = 15_000, onWarning } = options;
  const file = resolve(path);
  const backend = createFileBackend({ path: file, busyTimeoutMs, onWarning });
  const sealer = createSealer(async () => {
    // Check the file first, so that no key is created for a rejected file.
    inspectPrivateFile(file, onWarning);
    return loadLocalKeys({ key: undefined, keyFile: `${file}.key`, onWarning });
  });
  return createStore(backend, { sealer });
}
