/** Verdicts about eras: kept, aged, and never worth a failure. */
import { describe, expect, test } from "vitest";
import { memoryStore } from "../state/memory-store.js";
import type { Store } from "../state/store.js";
import { EraMemory } from "./era-memory.js";

const DAY = 24 * 60 * 60 * 1_000;
const discover = { supportedVersions: ["2026-07-28"] };

function memory(store: Store = memoryStore()) {
  const clock = { now: 1_000_000 };
  return { clock, store, eras: new EraMemory(store, "", () => clock.now) };
}

test("what was never seen is not known", async () => {
  expect(await memory().eras.recall("x")).toBeUndefined();
});

test("a legacy verdict holds for seven days, then the server is asked again", async () => {
  const { eras, clock } = memory();
  await eras.remember("x", { era: "legacy", via: "sse" });
  clock.now += 7 * DAY - 1;
  expect(await eras.recall("x")).toMatchObject({ era: "legacy", via: "sse" });
  clock.now += 1;
  expect(await eras.recall("x")).toBeUndefined();
  await eras.remember("x", { era: "legacy" });
  expect(await eras.recall("x")).toMatchObject({ era: "legacy", at: clock.now });
});

test("a verdict from the future is not believed: the clock was set back", async () => {
  const { eras, clock } = memory();
  await eras.remember("x", { era: "legacy" });
  clock.now -= 1;
  expect(await eras.recall("x")).toBeUndefined();
});

test("a modern verdict does not age", async () => {
  const { eras, clock } = memory();
  await eras.remember("x", { era: "modern", discover });
  clock.now += 1_000 * DAY;
  expect(await eras.recall("x")).toEqual({ era: "modern", discover });
});

test("servers are kept apart, and can be forgotten", async () => {
  const { eras } = memory();
  await eras.remember("x", { era: "legacy" });
  await eras.remember("y", { era: "modern", discover });
  await eras.forget("x");
  await eras.forget("never seen");
  expect(await eras.recall("x")).toBeUndefined();
  expect(await eras.recall("y")).toMatchObject({ era: "modern" });
});

test.each<unknown>([
  null,
  "modern",
  5,
  [],
  {},
  { era: "future" },
  { era: "modern" },
  { era: "modern", discover: null },
  { era: "modern", discover: "yes" },
  { era: "legacy" },
  { era: "legacy", at: "yesterday" },
])("a record %j of another version or hand is as good as none", async (value) => {
  const { eras, store } = memory();
  await eras.remember("x", { era: "legacy" });
  const [key] = await store.list("era/");
  await store.put(key!, value);
  expect(await eras.recall("x")).toBeUndefined();
});

describe("a store that fails", () => {
  const broken = (fail: () => Promise<never>): Store => ({
    get: fail,
    put: fail,
    delete: fail,
    list: fail,
    lease: fail,
    watch: () => () => {},
    close: fail,
  });

  test.each<[string, () => Promise<never>]>([
    ["rejects", () => Promise.reject(new Error("down"))],
    [
      "throws",
      () => {
        throw new Error("down");
      },
    ],
  ])("because it %s costs a question, not the connection", async (_how, fail) => {
    const { eras } = memory(broken(fail));
    await expect(eras.recall("x")).resolves.toBeUndefined();
    await expect(eras.remember("x", { era: "legacy" })).resolves.toBeUndefined();
    await expect(eras.forget("x")).resolves.toBeUndefined();
  });
});
