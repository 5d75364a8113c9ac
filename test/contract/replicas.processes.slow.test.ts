/** Replicas in processes of their own, with a SQLite file between them. */
import { sqliteStore } from "toolport/sqlite";
import { testMailboxProcesses } from "./mailbox-processes.js";
import { KEY } from "./server-stores.js";
import { openOnDisk } from "./store-on-disk.js";

testMailboxProcesses(async () => {
  const { store, path, remove } = await openOnDisk("sqlite", "state.db", (place, options) =>
    sqliteStore(place, { ...options, key: KEY }),
  );
  return { kind: "sqlite", place: path, namespace: "", store, close: remove };
});
