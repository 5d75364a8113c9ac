/** The store in a Durable Object's SQL storage keeps the contract. In workerd itself: `test/workerd/store.test.ts`. */
import { describe, expect, test } from "vitest";
import { durableObjectStore } from "../../src/state/stores/durable-object/durable-object-store.js";
import { openDurableObjectStorage } from "./durable-object-storage.js";
import { describeStore } from "./store-contract.js";

const KEY = "00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff";

describe.each([
  ["with a key", KEY],
  ["without a key", undefined],
])("%s", (_name, key) => {
  describeStore("durable object", async () => {
    const { storage, close } = openDurableObjectStorage();
    const open = () => durableObjectStore(storage, { key });
    const contents = async () => JSON.stringify(storage.sql.exec("SELECT * FROM toolport_records").toArray());
    return {
      store: open(),
      another: open,
      // Without a key the platform alone encrypts.
      ...(key !== undefined && { contents }),
      remove: async () => close(),
    };
  });
});

test("a key given later reads what was kept without one, and seals it", async () => {
  const { storage, close } = openDurableObjectStorage();
  await durableObjectStore(storage).put("a", "secret-9c", { secret: true });
  const store = durableObjectStore(storage, { key: KEY });
  expect(await store.get("a")).toMatchObject({ value: "secret-9c", sealed: true });
  expect(await store.reseal()).toBe(1);
  expect(await store.get("a")).toMatchObject({ value: "secret-9c", sealed: true });
  expect(JSON.stringify(storage.sql.exec("SELECT * FROM toolport_records").toArray())).not.toContain(
    "secret-9c",
  );
  close();
});
