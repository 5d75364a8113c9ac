/** One obtains, the others use it; whoever dies with the lease holds them up only for so long. */
import { describe, expect, it } from "vitest";
import { memoryStore } from "../state/memory-store.js";
import type { Store } from "../state/store.js";
import { obtainOnce } from "./obtain-once.js";

const parts = (store: Store, obtain: () => Promise<string | undefined>, waitMs?: number) => ({
  store,
  lease: "lease",
  watch: "thing",
  find: async () => (await store.get("thing"))?.value as string | undefined,
  obtain,
  ...(waitMs !== undefined && { waitMs }),
});

describe("obtainOnce", () => {
  it("lets one of many obtain it", async () => {
    const store = memoryStore();
    let runs = 0;
    const obtain = async () => {
      await new Promise((resolve) => setTimeout(resolve, 30));
      const got = `run ${++runs}`;
      await store.put("thing", got);
      return got;
    };
    const all = await Promise.all(Array.from({ length: 10 }, () => obtainOnce(parts(store, obtain))));
    expect(new Set(all)).toEqual(new Set(["run 1"]));
  });

  it("looks before it obtains", async () => {
    const store = memoryStore();
    await store.put("thing", "there");
    expect(await obtainOnce(parts(store, () => Promise.reject(new Error("never"))))).toBe("there");
  });

  it("goes on when the holder gives up or dies", async () => {
    const store = memoryStore();
    await store.lease("lease", { ttlMs: 60 });
    expect(await obtainOnce(parts(store, async () => "mine"))).toBe("mine");
  });

  it("gives the lease back when it fails", async () => {
    const store = memoryStore();
    await expect(obtainOnce(parts(store, () => Promise.reject(new Error("no"))))).rejects.toThrow("no");
    expect(await obtainOnce(parts(store, async () => undefined))).toBeUndefined();
    expect(await store.lease("lease", { ttlMs: 10 })).toBeDefined();
  });

  it("does not wait for ever", async () => {
    const store = memoryStore();
    await store.lease("lease", { ttlMs: 60_000 });
    expect(await obtainOnce(parts(store, async () => "mine", 100))).toBe("late");
  });
});
