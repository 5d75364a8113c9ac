/** The store in a Durable Object's SQL storage keeps the contract. In workerd itself: `test/workerd/store.test.ts`. */
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import {
  type DurableObjectSqlStorage,
  durableObjectStore,
} from "../../packages/stores/src/durable-object/durable-object-store.js";
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

describe("the key", () => {
  const OTHER = "ffeeddccbbaa99887766554433221100ffeeddccbbaa99887766554433221100";
  const quiet = { warn() {} };
  let storage: DurableObjectSqlStorage;
  let close: () => void;
  beforeEach(() => {
    ({ storage, close } = openDurableObjectStorage());
  });
  afterEach(() => close());

  const contents = () => JSON.stringify(storage.sql.exec("SELECT * FROM toolport_records").toArray());

  test("added later reads the plain records, and seals all of them with the next secret", async () => {
    const plain = durableObjectStore(storage, { logger: quiet });
    await plain.put("a", "secret-9c", { secret: true });
    await plain.put("b", "secret-5f", { secret: true });
    const store = durableObjectStore(storage, { key: KEY });
    expect(await store.get("a")).toMatchObject({ value: "secret-9c", sealed: true });
    expect(contents()).toContain("secret-9c");
    await store.put("a", "secret-77", { secret: true });
    for (const text of ["secret-9c", "secret-5f", "secret-77"]) expect(contents()).not.toContain(text);
    expect(await store.get("b")).toMatchObject({ value: "secret-5f", sealed: true });
  });

  test("is rotated with a comma-separated list: the first key seals, and the others are not needed after the next secret", async () => {
    await durableObjectStore(storage, { key: KEY }).put("a", 1, { secret: true });
    const rotated = durableObjectStore(storage, { key: ` ${OTHER}, ${KEY},` });
    expect(await rotated.get("a")).toMatchObject({ value: 1 });
    await rotated.put("b", 2, { secret: true });
    const renewed = durableObjectStore(storage, { key: async () => OTHER });
    expect(await renewed.get("a")).toMatchObject({ value: 1, sealed: true });
    await expect(durableObjectStore(storage, { key: KEY }).get("a")).rejects.toMatchObject({
      code: "KEY_MISMATCH",
    });
    expect(contents()).not.toMatch(new RegExp(`${KEY}|${OTHER}`));
  });

  test("is missing: KEY_MISMATCH, and no new secret is stored in plain text", async () => {
    await durableObjectStore(storage, { key: KEY }).put("a", "secret-9c", { secret: true });
    const before = contents();
    const store = durableObjectStore(storage, { logger: quiet });
    await expect(store.get("a")).rejects.toMatchObject({ code: "KEY_MISMATCH" });
    const writing = store.put("b", "secret-5f", { secret: true });
    await expect(writing).rejects.toMatchObject({ code: "KEY_MISMATCH" });
    expect(contents()).toBe(before);
    await store.put("c", "no secret");
    await store.delete("a");
    await store.put("b", "secret-5f", { secret: true });
  });

  test("is requested once per isolate, when the first secret is stored in plain text", async () => {
    // Shared with other copies of Toolport in the isolate, and set by the tests above.
    const warned = (globalThis as { [key: symbol]: unknown })[
      Symbol.for("toolport.durable-object-clear-warning")
    ] as { isGiven: boolean };
    warned.isGiven = false;
    const warnings: string[] = [];
    const logger = { warn: (message: string) => void warnings.push(message) };
    const store = durableObjectStore(storage, { logger });
    expect([store.sealed, durableObjectStore(storage, { key: KEY }).sealed]).toEqual([false, true]);
    await store.put("a", 1);
    expect(warnings).toEqual([]);
    await store.put("b", 1, { secret: true });
    await durableObjectStore(storage, { logger }).put("c", 1, { secret: true });
    expect(warnings).toEqual([expect.stringContaining("TOOLPORT_STORE_KEY")]);
  });
});
