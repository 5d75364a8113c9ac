/** The limits of shared notes: time, number, and a store that is slow or away. */

import { memoryStore, type Store } from "@toolport/stores";
import { afterEach, describe, expect, test, vi } from "vitest";
import { createSharedNotes, type SharedNotes } from "./shared-notes.js";

const opened: SharedNotes[] = [];
const open = (store: Store, maxNotes?: number): SharedNotes => {
  const notes = createSharedNotes(store, "n/", { maxNotes });
  opened.push(notes);
  return notes;
};
afterEach(() => {
  vi.useRealTimers();
  for (const notes of opened.splice(0)) notes.close();
});

describe("shared notes", () => {
  test("end after their time, and a minute later on a clock that is a minute behind", async () => {
    vi.useFakeTimers({ toFake: ["Date"] });
    const notes = open(memoryStore());
    await notes.set("a", 1, 10_000);
    vi.setSystemTime(Date.now() + 69_000);
    expect(notes.get("a")?.value).toBe(1);
    vi.setSystemTime(Date.now() + 2_000);
    expect(notes.get("a")).toBeUndefined();
    expect([...notes.entries()]).toEqual([]);
  });

  test("keep the newest of too many", async () => {
    const notes = open(memoryStore(), 3);
    for (const key of ["a", "b", "c", "a", "d"]) await notes.set(key, Math.random(), 60_000);
    expect([...notes.entries()].map(([key]) => key)).toEqual(["c", "a", "d"]);
  });

  test("a read that is under way does not undo a change made here", async () => {
    const store = memoryStore();
    let answer: (() => void) | undefined;
    const slow: Store = {
      ...store,
      async get(key) {
        const found = await store.get(key);
        await new Promise<void>((resolve) => {
          answer = resolve;
        });
        return found;
      },
    };
    const notes = open(slow);
    await notes.ready;
    await store.put("n/a", { value: "old", until: Date.now() + 60_000 }, { secret: true });
    await vi.waitFor(() => expect(answer).toBeDefined());
    const seen: unknown[] = [];
    notes.onChange((_key, note) => seen.push(note?.value));
    const saved = notes.set("a", "new", 60_000);
    answer?.();
    await saved;
    expect(notes.get("a")?.value).toBe("new");
    expect(seen).toEqual(["new"]);
    answer?.();
  });

  test("a failed write is made up for, with the latest value", async () => {
    const store = memoryStore();
    let isAway = true;
    const flaky: Store = {
      ...store,
      put: (...args) => (isAway ? Promise.reject(new Error("away")) : store.put(...args)),
    };
    const notes = open(flaky);
    await expect(notes.set("a", 1, 60_000)).rejects.toThrow("away");
    await expect(notes.set("a", 2, 60_000)).rejects.toThrow("away");
    // A caller that does not wait causes no unhandled rejection.
    void notes.set("a", 3, 60_000);
    expect(notes.get("a")?.value).toBe(3);
    isAway = false;
    await vi.waitFor(async () => expect((await store.get("n/a"))?.value).toMatchObject({ value: 3 }), 5_000);
  });

  test("`ready` resolves when it is closed first, and a listener that throws has no effect", async () => {
    const store = memoryStore();
    const notes = open({ ...store, list: () => Promise.reject(new Error("away")) });
    notes.onChange(() => {
      throw new Error("listener");
    });
    await notes.set("a", 1, 60_000);
    expect(notes.get("a")?.value).toBe(1);
    notes.close();
    await notes.ready;
  });
});
