/** Storing, expiry and sharing of eras, and failures of the store. */

import { memoryStore, type Store } from "@toolport/stores";
import { describe, expect, test } from "vitest";
import { parseServerEntry } from "../config/parse-servers.js";
import { EraMemory } from "./era.js";

const server = (name: string) => parseServerEntry(name, { url: `https://${name}.example.com/mcp` });
const X = server("x");
const Y = server("y");
const DAY = 24 * 60 * 60 * 1_000;
const discover = { supportedVersions: ["2026-07-28"] };

function memory(store: Store = memoryStore()) {
  const clock = { now: 1_000_000 };
  return { clock, store, eras: new EraMemory(store, undefined, { now: () => clock.now }) };
}

test("an unknown server has no remembered era", async () => {
  expect(await memory().eras.recall(X)).toBeUndefined();
});

test("a legacy era expires after seven days", async () => {
  const { eras, clock } = memory();
  await eras.remember(X, { era: "legacy", via: "sse" });
  clock.now += 7 * DAY - 1;
  expect(await eras.recall(X)).toMatchObject({ era: "legacy", via: "sse" });
  clock.now += 1;
  expect(await eras.recall(X)).toBeUndefined();
  await eras.remember(X, { era: "legacy" });
  expect(await eras.recall(X)).toMatchObject({ era: "legacy", at: clock.now });
});

test("an era stored in the future is ignored: the clock was set back", async () => {
  const { eras, clock } = memory();
  await eras.remember(X, { era: "legacy" });
  clock.now -= 1;
  expect(await eras.recall(X)).toBeUndefined();
});

test("a modern era does not expire", async () => {
  const { eras, clock } = memory();
  await eras.remember(X, { era: "modern", discover });
  clock.now += 1_000 * DAY;
  expect(await eras.recall(X)).toEqual({ era: "modern", discover });
});

test("eras are stored per server and can be deleted", async () => {
  const { eras } = memory();
  await eras.remember(X, { era: "legacy" });
  await eras.remember(Y, { era: "modern", discover });
  await eras.forget(X);
  await eras.forget(server("never-seen"));
  expect(await eras.recall(X)).toBeUndefined();
  expect(await eras.recall(Y)).toMatchObject({ era: "modern" });
});

describe("two users", () => {
  const users = () => {
    const store = memoryStore();
    return { store, ada: new EraMemory(store, "ada"), grace: new EraMemory(store, "grace") };
  };

  test("share a legacy era, also under another name for the same address", async () => {
    const { ada, grace } = users();
    await ada.remember(X, { era: "legacy" });
    expect(await grace.recall(X)).toMatchObject({ era: "legacy" });
    const sameAddress = parseServerEntry("other", { url: "https://x.example.com/mcp" });
    expect(await grace.recall(sameAddress)).toMatchObject({ era: "legacy" });
  });

  test.each([
    ["private", undefined],
    [undefined, undefined],
    ["public", { era: "modern" }],
  ])("a result of server/discover with cacheScope %s", async (cacheScope, expected) => {
    const { ada, grace } = users();
    const said = { ...discover, instructions: "for ada", ...(cacheScope && { cacheScope }) };
    await ada.remember(X, { era: "modern", discover: said });
    expect(await ada.recall(X)).toEqual({ era: "modern", discover: said });
    const found = await grace.recall(X);
    if (expected === undefined) expect(found).toBeUndefined();
    else expect(found).toMatchObject(expected);
  });
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
])("an invalid record %j is ignored", async (value) => {
  const { eras, store } = memory();
  await eras.remember(X, { era: "legacy" });
  const [key] = await store.list("era/");
  await store.put(key!, value);
  expect(await eras.recall(X)).toBeUndefined();
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
  ])("because it %s does not fail the connection", async (_how, fail) => {
    const { eras } = memory(broken(fail));
    await expect(eras.recall(X)).resolves.toBeUndefined();
    await expect(eras.remember(X, { era: "legacy" })).resolves.toBeUndefined();
    await expect(eras.forget(X)).resolves.toBeUndefined();
  });
});
