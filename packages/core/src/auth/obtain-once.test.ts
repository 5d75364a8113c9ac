/** One process obtains a value and the others use it; a process that dies with the lease blocks them for a limited time. */

import { memoryStore, type Store } from "@toolport/stores";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
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
  it("lets one of many callers obtain it", async () => {
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

  it("checks for an existing value first", async () => {
    const store = memoryStore();
    await store.put("thing", "there");
    expect(await obtainOnce(parts(store, () => Promise.reject(new Error("never"))))).toBe("there");
  });

  it("continues if the holder gives up or dies", async () => {
    const store = memoryStore();
    await store.lease("lease", { ttlMs: 60 });
    expect(await obtainOnce(parts(store, async () => "mine"))).toBe("mine");
  });

  it("releases the lease when it fails", async () => {
    const store = memoryStore();
    await expect(obtainOnce(parts(store, () => Promise.reject(new Error("no"))))).rejects.toThrow("no");
    expect(await obtainOnce(parts(store, async () => undefined))).toBeUndefined();
    expect(await store.lease("lease", { ttlMs: 10 })).toBeDefined();
  });

  it("stops waiting after a timeout", async () => {
    const store = memoryStore();
    await store.lease("lease", { ttlMs: 60_000 });
    expect(await obtainOnce(parts(store, async () => "mine", 100))).toBe("late");
  });
});

describe("obtainOnce over time", () => {
  beforeEach(() => void vi.useFakeTimers());
  afterEach(() => void vi.useRealTimers());

  it("renews its lease until it has finished, and leaves no timer", async () => {
    const store = memoryStore();
    let finish = (_value: string) => {};
    const obtain = () => new Promise<string>((resolve) => (finish = resolve));
    const obtaining = obtainOnce(parts(store, obtain));
    await vi.advanceTimersByTimeAsync(60_000);
    expect(await store.lease("lease", { ttlMs: 10 })).toBeUndefined();
    finish("mine");
    expect(await obtaining).toBe("mine");
    expect(vi.getTimerCount()).toBe(0);
    expect(await store.lease("lease", { ttlMs: 10 })).toBeDefined();
  });

  it("looks again after each change and after growing pauses, then stops watching", async () => {
    const store = memoryStore();
    await store.lease("lease", { ttlMs: 600_000 });
    const { find, ...others } = parts(store, async () => "mine", 10_000);
    let [looks, watchers] = [0, 0];
    const counted = {
      ...others,
      find: () => {
        looks += 1;
        return find();
      },
      store: new Proxy(store, {
        get(target, name) {
          const value: unknown = Reflect.get(target, name);
          if (name !== "watch") return typeof value === "function" ? value.bind(target) : value;
          return (...given: Parameters<Store["watch"]>) => {
            watchers += 1;
            const stop = target.watch(...given);
            return () => {
              watchers -= 1;
              stop();
            };
          };
        },
      }),
    };
    const waiting = obtainOnce(counted);
    await vi.advanceTimersByTimeAsync(1);
    await store.put("thing/other", 1);
    await vi.advanceTimersByTimeAsync(1);
    expect({ looks, watchers }).toEqual({ looks: 1, watchers: 1 });
    await vi.advanceTimersByTimeAsync(1_000);
    expect(looks).toBeGreaterThan(3);
    expect(looks).toBeLessThan(8);
    await vi.advanceTimersByTimeAsync(10_000);
    expect(await waiting).toBe("late");
    expect({ watchers, timers: vi.getTimerCount() }).toEqual({ watchers: 0, timers: 0 });
  });
});
