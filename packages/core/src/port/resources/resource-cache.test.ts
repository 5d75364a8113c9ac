/** Limits of the resource cache, and changes during a read. */
import { expect, test, vi } from "vitest";
import { ResourceCache } from "./resource-cache.js";

const keep = (cache: ResourceCache, uri: string, text: string, { server = "s", ttlMs = 1_000 } = {}) =>
  cache.keep({ server, uri, ttlMs }, [{ uri, text }], cache.begin());

test("keeps at most 512 entries, and evicts the least recently used first", () => {
  const cache = new ResourceCache();
  for (let index = 0; index < 512; index += 1) keep(cache, `t://${index}`, "x");
  expect(cache.get("s", "t://0")).toBeDefined();
  keep(cache, "t://new", "x");
  expect(cache.get("s", "t://0")).toBeDefined();
  expect(cache.get("s", "t://1")).toBeUndefined();
  expect(cache.get("s", "t://new")).toBeDefined();
});

test("keeps at most 16 MiB, and no entry of a quarter of that", () => {
  const cache = new ResourceCache();
  const large = "x".repeat(4 * 1024 * 1024 - 100);
  for (const name of ["a", "b", "c", "d", "e"]) keep(cache, name, large);
  expect(["a", "b", "c", "d", "e"].filter((uri) => cache.get("s", uri) !== undefined)).toEqual([
    "b",
    "c",
    "d",
    "e",
  ]);
  keep(cache, "f", `${large}${"x".repeat(200)}`);
  expect(cache.get("s", "f")).toBeUndefined();
});

test("does not cache a resource that changes during the read", () => {
  const cache = new ResourceCache();
  const begun = cache.begin();
  cache.forget("s", "t://a");
  cache.keep({ server: "s", uri: "t://a", ttlMs: 1_000 }, [{ uri: "t://a", text: "old" }], begun);
  expect(cache.get("s", "t://a")).toBeUndefined();
  keep(cache, "t://a", "new");
  keep(cache, "t://a", "other", { server: "s2" });
  cache.forget("s2");
  expect(cache.get("s", "t://a")?.[0]?.text).toBe("new");
  expect(cache.get("s2", "t://a")).toBeUndefined();
});

test("limits the time to live to a day, and does not cache without one", () => {
  vi.useFakeTimers();
  try {
    const cache = new ResourceCache();
    keep(cache, "t://long", "x", { ttlMs: Number.POSITIVE_INFINITY });
    for (const ttlMs of [0, -1, Number.NaN]) keep(cache, `t://${ttlMs}`, "x", { ttlMs });
    for (const ttlMs of [0, -1, Number.NaN]) expect(cache.get("s", `t://${ttlMs}`)).toBeUndefined();
    vi.advanceTimersByTime(24 * 60 * 60 * 1_000 - 1);
    expect(cache.get("s", "t://long")).toBeDefined();
    vi.advanceTimersByTime(1);
    expect(cache.get("s", "t://long")).toBeUndefined();
  } finally {
    vi.useRealTimers();
  }
});
