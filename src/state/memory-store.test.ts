/** The store in memory keeps the promises that every store keeps. */
import { afterEach, describe, expect, test, vi } from "vitest";
import { memoryStore } from "./memory-store.js";

afterEach(() => {
  vi.useRealTimers();
});

test("what was put is got, with a version that grows", async () => {
  const store = memoryStore();
  expect(await store.get("a")).toBeUndefined();
  const first = await store.put("a", { n: 1 });
  expect(await store.get("a")).toEqual({ value: { n: 1 }, version: first });
  const second = await store.put("a", { n: 2 });
  expect(second).toBeGreaterThan(first!);
  expect(await store.get("a")).toEqual({ value: { n: 2 }, version: second });
});

test.each<unknown>([null, 0, "", false, [], { deep: [{ x: null }] }])("keeps %j", async (value) => {
  const store = memoryStore();
  await store.put("a", value);
  expect((await store.get("a"))?.value).toEqual(value);
});

test("neither writer nor reader shares an object with the store", async () => {
  const store = memoryStore();
  const mine = { list: [1] };
  await store.put("a", mine);
  mine.list.push(2);
  const read = (await store.get("a"))?.value as typeof mine;
  expect(read.list).toEqual([1]);
  read.list.push(3);
  expect((await store.get("a"))?.value).toEqual({ list: [1] });
});

describe("compare and set", () => {
  test("writes over the version that was read, and over no other", async () => {
    const store = memoryStore();
    const first = (await store.put("a", 1))!;
    const second = await store.put("a", 2, { ifVersion: first });
    expect(second).toBeGreaterThan(first);
    expect(await store.put("a", 3, { ifVersion: first })).toBeUndefined();
    expect((await store.get("a"))?.value).toBe(2);
  });

  test("0 means: only if there is none", async () => {
    const store = memoryStore();
    expect(await store.put("a", 1, { ifVersion: 0 })).toBeGreaterThan(0);
    expect(await store.put("a", 2, { ifVersion: 0 })).toBeUndefined();
    await store.delete("a");
    expect(await store.put("a", 3, { ifVersion: 0 })).toBeGreaterThan(0);
  });

  test("a record that was deleted and made anew has another version", async () => {
    const store = memoryStore();
    const first = (await store.put("a", 1))!;
    await store.delete("a");
    await store.put("a", 1);
    expect(await store.put("a", 2, { ifVersion: first })).toBeUndefined();
  });

  test("of a hundred writers with the same version one wins", async () => {
    const store = memoryStore();
    const version = (await store.put("a", -1))!;
    const writes = Array.from({ length: 100 }, (_, index) => store.put("a", index, { ifVersion: version }));
    expect((await Promise.all(writes)).filter((won) => won !== undefined)).toHaveLength(1);
  });

  test("delete respects the version too", async () => {
    const store = memoryStore();
    const first = (await store.put("a", 1))!;
    const second = (await store.put("a", 2))!;
    expect(await store.delete("a", { ifVersion: first })).toBe(false);
    expect(await store.delete("a", { ifVersion: second })).toBe(true);
    expect(await store.delete("a")).toBe(false);
  });
});

test("a record with a time to live is forgotten after it, everywhere", async () => {
  vi.useFakeTimers({ toFake: ["Date"] });
  const store = memoryStore();
  const version = await store.put("a", 1, { ttlMs: 1_000 });
  vi.setSystemTime(Date.now() + 999);
  expect(await store.get("a")).toBeDefined();
  vi.setSystemTime(Date.now() + 1);
  expect(await store.list("")).toEqual([]);
  expect(await store.get("a")).toBeUndefined();
  expect(await store.delete("a", { ifVersion: version! })).toBe(false);
  expect(await store.put("a", 2, { ifVersion: version! })).toBeUndefined();
  expect(await store.put("a", 2, { ifVersion: 0 })).toBeDefined();
});

test("keys are listed by prefix, in order", async () => {
  const store = memoryStore();
  for (const key of ["b/2", "a/1", "b/1", "b", "bb/1"]) await store.put(key, key);
  expect(await store.list("b/")).toEqual(["b/1", "b/2"]);
  expect(await store.list("")).toEqual(["a/1", "b", "b/1", "b/2", "bb/1"]);
  expect(await store.list("nothing")).toEqual([]);
  await store.close();
});
