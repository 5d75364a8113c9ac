/** The contract for a store that is a file, in its own folder. */
import { mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Store } from "../../packages/stores/src/store.js";
import { describeStore, type StoreSubject } from "./store-contract.js";

type OpenStore = (path: string, options: { onWarning(warning: { message: string }): void }) => Store;

/** Checks the contract. A warning of the store is a failure. */
export function describeStoreOnDisk(name: string, fileName: string, openStore: OpenStore): void {
  describeStore(name, () => openOnDisk(name, fileName, openStore));
}

/** A fresh store in its own folder. A warning of the store is a failure. */
export async function openOnDisk(
  name: string,
  fileName: string,
  openStore: OpenStore,
): Promise<StoreSubject & { readonly path: string }> {
  const folder = await mkdtemp(join(tmpdir(), `toolport-${name}-`));
  const path = join(folder, fileName);
  const handles: Store[] = [];
  const open = (): Store => {
    const store = openStore(path, {
      onWarning: ({ message }) => {
        throw new Error(message);
      },
    });
    handles.push(store);
    return store;
  };
  return {
    path,
    store: open(),
    another: open,
    async contents() {
      // Files beside the store may hold the last writes.
      const files = (await readdir(folder)).filter((file) => !file.endsWith(".key"));
      return (await Promise.all(files.map((file) => readFile(join(folder, file), "latin1")))).join("\n");
    },
    async remove() {
      await Promise.all(handles.map((store) => store.close()));
      await rm(folder, { recursive: true });
    },
  };
}
