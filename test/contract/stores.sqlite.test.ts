/** The store in a SQLite file keeps the contract. */
import { mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Store } from "toolport";
import { sqliteStore } from "toolport/sqlite";
import { describeStore } from "./store-contract.js";

describeStore("sqlite", async () => {
  const folder = await mkdtemp(join(tmpdir(), "toolport-sqlite-"));
  const path = join(folder, "state.db");
  const handles: Store[] = [];
  const open = (): Store => {
    const store = sqliteStore(path, {
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
      // The log beside the file holds what was written last.
      const files = await readdir(folder);
      const read = files
        .filter((name) => !name.endsWith(".key"))
        .map((name) => readFile(join(folder, name), "latin1"));
      return (await Promise.all(read)).join("\n");
    },
    async remove() {
      await Promise.all(handles.map((store) => store.close()));
      await rm(folder, { recursive: true });
    },
  };
});
