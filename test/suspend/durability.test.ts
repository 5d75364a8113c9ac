/** Stores that may lose an acknowledged write say so, and a call with `requireDurable` is not suspended there. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { memoryStore, type Store } from "toolport";
import { sqliteStore } from "toolport/sqlite";
import { expect, test } from "vitest";
import { durableObjectStore } from "../../packages/stores/src/durable-object/durable-object-store.js";
import { fileStore } from "../../packages/stores/src/file/file-store.js";
import { openDurableObjectStorage } from "../contract/durable-object-storage.js";
import { KEY } from "../contract/server-stores.js";
import { failure } from "../support/failure.js";
import { openBookings } from "./durability-scene.js";

test("stores on the disk have no risk, and suspend with requireDurable", async () => {
  const folder = mkdtempSync(join(tmpdir(), "toolport-durability-"));
  const { storage, close } = openDurableObjectStorage();
  const stores: Store[] = [
    sqliteStore(join(folder, "state.db"), { key: KEY }),
    fileStore(join(folder, "state.json")),
    durableObjectStore(storage, { key: KEY }),
  ];
  try {
    for (const store of stores) {
      expect(await store.durabilityRisk!()).toBeUndefined();
      await using scene = openBookings(store);
      expect(await scene.suspend({ requireDurable: true })).toMatchObject({ suspended: true });
      expect(scene.warnings).toEqual([]);
    }
  } finally {
    await Promise.all(stores.map((store) => store.close()));
    close();
    rmSync(folder, { recursive: true });
  }
});

test("the memory store is refused with requireDurable, and otherwise not worth a warning", async () => {
  await using scene = openBookings(memoryStore());
  const error = await failure(scene.suspend({ requireDurable: true }));
  expect(error).toMatchObject({ code: "NOT_OFFERED", outcome: "unsent" });
  expect(error.message).toContain("Use sqliteStore, redisStore or postgresStore");
  expect(await scene.suspend({})).toMatchObject({ suspended: true });
  expect(scene.warnings).toEqual([]);
  expect(scene.seen.requests).toBe(1);
});

test("a store without the method is refused with requireDurable only", async () => {
  const { durabilityRisk: _, ...store } = memoryStore();
  await using scene = openBookings(store);
  const error = await failure(scene.suspend({ requireDurable: true }));
  expect(error).toMatchObject({ code: "NOT_OFFERED", outcome: "unsent" });
  expect(error.message).toContain("durabilityRisk()");
  expect(await scene.suspend({})).toMatchObject({ suspended: true });
  expect(scene.warnings).toEqual([]);
});

test("a failed check sends nothing, and the next call checks again", async () => {
  const what = "the disk of this store is a lottery";
  let isDown = true;
  const store: Store = {
    ...memoryStore(),
    durabilityRisk: async () => {
      if (isDown) throw new Error("the store is down");
      return { what, next: "Use another one" };
    },
  };
  await using scene = openBookings(store);
  await failure(scene.suspend({}));
  expect(scene.seen.requests).toBe(0);
  isDown = false;
  await scene.suspend({});
  await scene.suspend({});
  expect(scene.warnings).toEqual([expect.stringContaining(what)]);
});
