/** What every store promises about watching. */
import { type StoreCase, same, that, until } from "./store-subject.js";

export const watchCases: readonly StoreCase[] = [
  {
    name: "tells of own writes and deletions under the prefix",
    async run({ store }) {
      const told: string[] = [];
      const stop = store.watch("a/", (key) => told.push(key));
      await store.put("b/1", 1);
      await store.put("a/1", 1);
      await until(() => told.includes("a/1"), "the write is told");
      told.length = 0;
      same(await store.delete("a/1"), true);
      await until(() => told.includes("a/1"), "the deletion is told");
      that(!told.includes("b/1"), "nothing outside the prefix is told");
      stop();
      stop();
    },
  },
  {
    name: "tells of writes and deletions through another handle",
    async run({ store, another }) {
      const other = await another();
      await store.put("a/1", 1);
      await store.put("b/1", 1);
      const told = new Set<string>();
      const stop = store.watch("a/", (key) => told.add(key));
      await other.put("b/1", 2);
      await other.put("a/1", 2);
      await other.put("a/2", 1, { secret: true });
      await until(() => told.has("a/1") && told.has("a/2"), "the writes are told");
      told.clear();
      await other.delete("a/2");
      await until(() => told.has("a/2"), "the deletion is told");
      that(!told.has("b/1"), "nothing outside the prefix is told");
      stop();
    },
  },
  {
    name: "each watcher is told of its own prefix until it stops, and one that throws disturbs nobody",
    async run({ store }) {
      const told = { all: 0, some: 0 };
      const stopThrowing = store.watch("", () => {
        throw new Error("the listener fails");
      });
      const stopAll = store.watch("", () => told.all++);
      const stopSome = store.watch("a/", () => told.some++);
      await store.put("b/1", 1);
      await until(() => told.all > 0, "the write is told");
      same(told.some, 0);
      stopAll();
      const before = told.all;
      await store.put("a/1", 1);
      await until(() => told.some > 0, "the write is told");
      same(told.all, before, "the count of the one who stopped");
      stopSome();
      stopThrowing();
    },
  },
  {
    name: "a refused write is not told",
    async run({ store }) {
      await store.put("a", 1);
      const told: string[] = [];
      store.watch("b", (key) => told.push(key));
      await store.put("b", 1, { ifVersion: 12 });
      await store.delete("b");
      await store.put("bb", 1);
      await until(() => told.includes("bb"), "the last write is told");
      that(!told.includes("b"), "the refused ones are not told");
    },
  },
];
