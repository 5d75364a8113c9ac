/** The contract of every store: watching. */
import { type StoreCase, same, that, until } from "./store-subject.js";

export const watchCases: readonly StoreCase[] = [
  {
    name: "reports its own writes and deletions under the prefix",
    async run({ store }) {
      const changed: string[] = [];
      const stop = store.watch("a/", (key) => changed.push(key));
      await store.put("b/1", 1);
      await store.put("a/1", 1);
      await until(() => changed.includes("a/1"), "the write is reported");
      changed.length = 0;
      same(await store.delete("a/1"), true);
      await until(() => changed.includes("a/1"), "the deletion is reported");
      that(!changed.includes("b/1"), "nothing outside the prefix is reported");
      stop();
      stop();
    },
  },
  {
    name: "reports writes and deletions through another handle",
    async run({ store, another }) {
      const other = await another();
      await store.put("a/1", 1);
      await store.put("b/1", 1);
      const changed = new Set<string>();
      const stop = store.watch("a/", (key) => changed.add(key));
      await other.put("b/1", 2);
      await other.put("a/1", 2);
      await other.put("a/2", 1, { secret: true });
      await until(() => changed.has("a/1") && changed.has("a/2"), "the writes are reported");
      changed.clear();
      await other.delete("a/2");
      await until(() => changed.has("a/2"), "the deletion is reported");
      that(!changed.has("b/1"), "nothing outside the prefix is reported");
      stop();
    },
  },
  {
    name: "each watcher gets changes of its own prefix until it stops, and one that throws affects no other",
    async run({ store }) {
      const changed = { all: 0, some: 0 };
      const stopThrowing = store.watch("", () => {
        throw new Error("the listener fails");
      });
      const stopAll = store.watch("", () => changed.all++);
      const stopSome = store.watch("a/", () => changed.some++);
      await store.put("b/1", 1);
      await until(() => changed.all > 0, "the write is reported");
      same(changed.some, 0);
      stopAll();
      const before = changed.all;
      await store.put("a/1", 1);
      await until(() => changed.some > 0, "the write is reported");
      same(changed.all, before, "the count of the stopped watcher");
      stopSome();
      stopThrowing();
    },
  },
  {
    name: "a refused write is not reported",
    async run({ store }) {
      await store.put("a", 1);
      const changed: string[] = [];
      store.watch("b", (key) => changed.push(key));
      await store.put("b", 1, { ifVersion: 12 });
      await store.delete("b");
      await store.put("bb", 1);
      await until(() => changed.includes("bb"), "the last write is reported");
      that(!changed.includes("b"), "the refused writes are not reported");
    },
  },
];
