import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { ArtifactStore } from "./artifact-store.js";

const HOUR = 60 * 60 * 1_000;
const MIB = 1024 * 1024;

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  // First the spies: `useRealTimers` does not replace a function that a spy has wrapped.
  vi.restoreAllMocks();
  vi.useRealTimers();
});

describe("ids", () => {
  test("the same text has the same id, also in another part and another process", () => {
    const one = new ArtifactStore().createPart();
    const other = new ArtifactStore().createPart();
    const id = one.keep("some text");
    expect(one.keep(["some", "text"].join(" "))).toBe(id);
    expect(other.keep("some text")).toBe(id);
    expect(one.keep("some text.")).not.toBe(id);
  });

  test("two texts with the same hash have two ids", () => {
    const part = new ArtifactStore({ hash: () => "same" }).createPart();
    expect([part.keep("a"), part.keep("b"), part.keep("a"), part.keep("b")]).toEqual([
      "same",
      "same-2",
      "same",
      "same-2",
    ]);
    expect(part.get("same-2")?.text).toBe("b");
  });

  test("a part does not find the texts of another", () => {
    const store = new ArtifactStore();
    const ada = store.createPart();
    const id = ada.keep("the diary of Ada", { server: "diary", tool: "read" })!;
    expect(ada.get(id)).toMatchObject({ text: "the diary of Ada", server: "diary", tool: "read", bytes: 16 });
    expect(store.createPart().get(id)).toBeUndefined();
  });

  test.each(["", "__proto__", "constructor", "toString", "a".repeat(1_000_000)])(
    "an id that was never given is unknown: %.20s",
    (id) => {
      expect(new ArtifactStore().createPart().get(id)).toBeUndefined();
    },
  );
});

describe("limits", () => {
  test("keeps 64 MiB for all users", () => {
    const store = new ArtifactStore();
    const [one, two] = [store.createPart(), store.createPart()];
    const half = one.keep("x".repeat(32 * MIB))!;
    const other = two.keep("y".repeat(32 * MIB))!;
    expect([one.get(half)?.bytes, two.get(other)?.bytes]).toEqual([32 * MIB, 32 * MIB]);
    expect(two.keep("z")).toBeDefined();
    expect([one.get(half)?.bytes, two.get(other)?.bytes]).toEqual([undefined, 32 * MIB]);
  });

  test("removes the least recently used first, of any user", () => {
    const store = new ArtifactStore({ maxBytes: 40 });
    const [one, two] = [store.createPart(), store.createPart()];
    const parts = [one, two, one, two];
    const ids = parts.map((part, index) => part.keep(`${index}234567890`)!);
    const known = () => ids.map((id, index) => parts[index]!.get(id) !== undefined);
    expect(one.get(ids[0]!)).toBeDefined();
    two.keep("y");
    expect(two.get(ids[1]!)).toBeUndefined();
    expect(known()).toEqual([true, false, true, true]);
    one.keep("z".repeat(20));
    expect(known()).toEqual([false, false, true, true]);
  });

  test("counts bytes, not characters", () => {
    const part = new ArtifactStore({ maxBytes: 10 }).createPart();
    const id = part.keep("€€€")!;
    expect(part.get(id)?.bytes).toBe(9);
    part.keep("ab");
    expect(part.get(id)).toBeUndefined();
  });

  test("does not keep a text that is larger than everything, and removes nothing for it", () => {
    const part = new ArtifactStore({ maxBytes: 10 }).createPart();
    const id = part.keep("small")!;
    expect(part.keep("x".repeat(11))).toBeUndefined();
    expect(part.get(id)?.text).toBe("small");
  });
});

describe("expiry", () => {
  test("a text is gone one hour after its last use", () => {
    const part = new ArtifactStore().createPart();
    const id = part.keep("text")!;
    vi.advanceTimersByTime(HOUR - 1);
    expect(part.get(id)).toBeDefined();
    vi.advanceTimersByTime(HOUR - 1);
    expect(part.keep("text")).toBe(id);
    vi.advanceTimersByTime(HOUR);
    expect(part.get(id)).toBeUndefined();
  });

  test("one timer frees the memory, and does not keep the process running", () => {
    const started = vi.spyOn(globalThis, "setTimeout");
    const store = new ArtifactStore();
    const part = store.createPart();
    const first = part.keep("first")!;
    vi.advanceTimersByTime(HOUR / 2);
    const second = part.keep("second")!;
    expect(vi.getTimerCount()).toBe(1);
    const timer = started.mock.results[0]!.value as { hasRef(): boolean };
    expect(timer.hasRef()).toBe(false);
    vi.advanceTimersByTime(HOUR / 2);
    expect(vi.getTimerCount()).toBe(1);
    expect(part.get(first)).toBeUndefined();
    vi.advanceTimersByTime(HOUR);
    expect(vi.getTimerCount()).toBe(0);
    expect(part.get(second)).toBeUndefined();
  });

  test("a late timer does not keep an expired text readable", () => {
    const part = new ArtifactStore({ lifeMs: 1_000 }).createPart();
    const id = part.keep("text")!;
    const now = performance.now();
    const clock = vi.spyOn(performance, "now").mockReturnValue(now + 1_000);
    expect(part.get(id)).toBeUndefined();
    clock.mockRestore();
  });
});

describe("close", () => {
  test("removes the texts of this part only, and its timer", () => {
    const store = new ArtifactStore();
    const [one, two] = [store.createPart(), store.createPart()];
    const id = one.keep("text")!;
    two.keep("text");
    one.close();
    expect(one.get(id)).toBeUndefined();
    expect(two.get(id)?.text).toBe("text");
    two.close();
    expect(vi.getTimerCount()).toBe(0);
  });

  test("a result that arrives later is not kept", () => {
    const part = new ArtifactStore().createPart();
    part.close();
    expect(part.keep("late")).toBeUndefined();
    expect(vi.getTimerCount()).toBe(0);
  });
});
