/** The store in a JSON file, which the command line uses on a Node without SQLite, keeps the contract. */
import { mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Store } from "../../src/state/store.js";
import { fileStore } from "../../src/state/stores/file/file-store.js";
import { describeStore } from "./store-contract.js";

describeStore("file", async () => {
  const folder = await mkdtemp(join(tmpdir(), "toolport-file-"));
  const path = join(folder, "state.json");
  const handles: Store[] = [];
  const open = (): Store => {
    const store = fileStore(path, {
      onWarning: ({ message }) => {
        throw new Error(message);
      },
    });
    handles.push(store);
    return store;
  };
  return {
    store: open(),
    another: open,
    async contents() {
      const files = (await readdir(folder)).filter((name) => !name.endsWith(".key"));
      return (await Promise.all(files.map((name) => readFile(join(folder, name), "utf8")))).join("\n");
    },
    async remove() {
      await Promise.all(handles.map((store) => store.close()));
      await rm(folder, { recursive: true });
    },
  };
});
