import { describe, expect, test } from "vitest";
import { Emitter } from "./callbacks.js";

interface Events {
  word: string;
  number: number;
}

function make() {
  const reported: unknown[] = [];
  return { reported, emitter: new Emitter<Events>(() => ({ report: (error) => reported.push(error) })) };
}

test("calls the listeners of an event in order, and no others", () => {
  const { emitter } = make();
  const received: string[] = [];
  emitter.on("word", (word) => received.push(`a ${word}`));
  emitter.on("word", (word) => received.push(`b ${word}`));
  emitter.on("number", () => received.push("number"));
  emitter.emit("word", "x");
  expect(received).toEqual(["a x", "b x"]);
});

test("emits without listeners", () => {
  expect(() => make().emitter.emit("word", "x")).not.toThrow();
});

test("a function registered twice is called twice, and each registration is removed separately", () => {
  const { emitter } = make();
  let calls = 0;
  const listener = () => {
    calls += 1;
  };
  const off = emitter.on("word", listener);
  emitter.on("word", listener);
  off();
  off();
  emitter.emit("word", "x");
  expect(calls).toBe(1);
});

test("listeners may be added and removed during emit()", () => {
  const { emitter } = make();
  const received: string[] = [];
  const off = emitter.on("word", () => {
    received.push("first");
    off();
    emitter.on("word", () => received.push("late"));
  });
  emitter.on("word", () => received.push("second"));
  emitter.emit("word", "x");
  expect(received).toEqual(["first", "second"]);
  emitter.emit("word", "x");
  expect(received).toEqual(["first", "second", "second", "late"]);
});

test("clear() removes all listeners of all events", () => {
  const { emitter, reported } = make();
  let calls = 0;
  emitter.on("word", () => calls++);
  emitter.on("number", () => calls++);
  emitter.clear();
  emitter.emit("word", "x");
  emitter.emit("number", 1);
  expect(calls).toBe(0);
  expect(reported).toEqual([]);
});

test("has() is true while an event has a listener", () => {
  const { emitter } = make();
  expect(emitter.has("word")).toBe(false);
  const off = [emitter.on("word", () => {}), emitter.on("word", () => {})];
  expect(emitter.has("word")).toBe(true);
  expect(emitter.has("number")).toBe(false);
  off[0]?.();
  expect(emitter.has("word")).toBe(true);
  off[1]?.();
  expect(emitter.has("word")).toBe(false);
  emitter.on("word", () => {});
  emitter.clear();
  expect(emitter.has("word")).toBe(false);
});

/** A thenable, as older libraries return them. */
class Foreign {
  readonly #error: Error;
  constructor(error: Error) {
    this.#error = error;
  }
  // biome-ignore lint/suspicious/noThenProperty: the test needs a thenable
  then(_resolve: unknown, reject: (error: Error) => void): void {
    reject(this.#error);
  }
}

describe("a listener that returns promises", () => {
  const turn = () => new Promise((resolve) => setImmediate(resolve));

  test("gets one event at a time, while others are called immediately", async () => {
    const { emitter } = make();
    const received: string[] = [];
    let release = () => {};
    emitter.on("word", async (word) => {
      received.push(`slow ${word}`);
      await new Promise<void>((resolve) => {
        release = resolve;
      });
    });
    emitter.on("word", (word) => received.push(`quick ${word}`));
    for (const word of ["a", "b"]) emitter.emit("word", word);
    expect(received).toEqual(["slow a", "quick a", "quick b"]);
    release();
    await turn();
    expect(received).toEqual(["slow a", "quick a", "quick b", "slow b"]);
  });

  test("gets waiting events after clear(), but none after its removal", async () => {
    const { emitter } = make();
    const received: string[] = [];
    const releases: (() => void)[] = [];
    const slow = (name: string) => (word: string) => {
      received.push(`${name} ${word}`);
      return new Promise<void>((resolve) => releases.push(resolve));
    };
    const off = emitter.on("word", slow("off"));
    emitter.on("word", slow("cleared"));
    for (const word of ["a", "b"]) emitter.emit("word", word);
    off();
    emitter.clear();
    emitter.emit("word", "c");
    for (const release of releases.splice(0)) release();
    await turn();
    expect(received).toEqual(["off a", "cleared a", "cleared b"]);
  });
});

describe("a listener that fails", () => {
  test.each<[string, (error: Error) => unknown]>([
    [
      "throws",
      (error) => {
        throw error;
      },
    ],
    ["rejects", (error) => Promise.reject(error)],
    ["rejects with a thenable", (error) => new Foreign(error)],
  ])("because it %s is reported, and the others are still called", async (_how, fail) => {
    const { emitter, reported } = make();
    const error = new Error("mine");
    let received = false;
    emitter.on("word", () => fail(error));
    emitter.on("word", () => {
      received = true;
    });
    emitter.emit("word", "x");
    await new Promise((resolve) => setImmediate(resolve));
    expect(reported).toEqual([error]);
    expect(received).toBe(true);
  });
});
