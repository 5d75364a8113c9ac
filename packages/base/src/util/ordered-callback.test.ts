/** Order, concurrency and dropped calls of slow callbacks. */
import { describe, expect, test, vi } from "vitest";
import { MAX_WAITING_CALLS, OrderedCallback } from "./callbacks.js";

const turn = () => new Promise((resolve) => setImmediate(resolve));

/** A callback whose calls are settled by the test. */
function slow(options: { concurrency?: number } = {}) {
  const started: number[] = [];
  const ends: (() => void)[] = [];
  const report = vi.fn();
  const onDropped = vi.fn();
  const onCaughtUp = vi.fn();
  const callback = new OrderedCallback<number>(
    (value) => {
      started.push(value);
      return new Promise<void>((resolve) => ends.push(resolve));
    },
    { report, onDropped, onCaughtUp, ...options },
  );
  /** Settles running calls until none is left. */
  const endAll = async () => {
    while (ends.length > 0) {
      for (const end of ends.splice(0)) end();
      await turn();
    }
  };
  return { callback, started, ends, report, onDropped, onCaughtUp, endAll };
}

const count = (length: number) => Array.from({ length }, (_, index) => index);

test("a synchronous callback is called immediately, even from within itself", () => {
  const seen: number[] = [];
  const callback = new OrderedCallback<number>(
    (value) => {
      seen.push(value);
      if (value === 0) callback.call(7);
    },
    { report: vi.fn() },
  );
  for (const value of count(5_000)) callback.call(value);
  expect(seen).toHaveLength(5_001);
  expect(seen.slice(0, 3)).toEqual([0, 7, 1]);
});

test("promises: one call at a time, in order", async () => {
  const { callback, started, ends, endAll } = slow();
  for (const value of count(3)) callback.call(value);
  expect(started).toEqual([0]);
  ends.shift()!();
  await turn();
  expect(started).toEqual([0, 1]);
  await endAll();
  expect(started).toEqual([0, 1, 2]);
});

test("promises: up to `concurrency` calls at a time, started in order", async () => {
  const { callback, started, ends, endAll } = slow({ concurrency: 3 });
  for (const value of count(5)) callback.call(value);
  expect(started).toEqual([0, 1, 2]);
  ends.splice(1, 1)[0]!();
  await turn();
  expect(started).toEqual([0, 1, 2, 3]);
  await endAll();
  expect(started).toEqual([0, 1, 2, 3, 4]);
});

test("a new call does not overtake waiting calls", async () => {
  const seen: number[] = [];
  let release = () => {};
  const callback = new OrderedCallback<number>(
    (value): unknown => {
      seen.push(value);
      // A nested call while other calls wait.
      if (value === 1) callback.call(3);
      if (value > 0) return undefined;
      return new Promise<void>((resolve) => {
        release = resolve;
      });
    },
    { report: vi.fn() },
  );
  for (const value of count(3)) callback.call(value);
  release();
  await turn();
  expect(seen).toEqual([0, 1, 2, 3]);
});

describe("when more than 1,000 wait", () => {
  test("the oldest are dropped and counted, the newest are delivered", async () => {
    const { callback, started, onDropped, onCaughtUp, endAll } = slow();
    for (const value of count(1 + MAX_WAITING_CALLS + 250)) callback.call(value);
    expect(started).toEqual([0]);
    expect(onDropped.mock.calls.map(([dropped]) => dropped)).toEqual(count(250).map((index) => index + 1));
    expect(onCaughtUp).not.toHaveBeenCalled();
    await endAll();
    expect(started).toEqual([0, ...count(MAX_WAITING_CALLS).map((index) => 251 + index)]);
    expect(onCaughtUp.mock.calls).toEqual([[250]]);
    // The counter restarts.
    for (const value of count(2 + MAX_WAITING_CALLS)) callback.call(value);
    expect(onDropped.mock.lastCall).toEqual([1]);
    await endAll();
    expect(onCaughtUp.mock.calls).toEqual([[250], [1]]);
  });

  test("an observer that calls the same callback does not recurse forever", () => {
    let calls = 0;
    const callback = new OrderedCallback<number>(() => new Promise(() => {}), {
      report: vi.fn(),
      onDropped: (dropped) => {
        calls += 1;
        if (dropped === 1) callback.call(-1);
      },
    });
    for (const value of count(2 + MAX_WAITING_CALLS)) callback.call(value);
    expect(calls).toBe(2);
  });
});

/** A thenable, as older libraries return them. */
class Foreign {
  // biome-ignore lint/suspicious/noThenProperty: the test needs a thenable
  then(_resolve: unknown, reject: (error: Error) => void): void {
    reject(new Error("foreign"));
  }
}

test("failures are reported, and the next call runs", async () => {
  const report = vi.fn();
  const seen: number[] = [];
  const callback = new OrderedCallback<number>(
    (value): unknown => {
      seen.push(value);
      if (value === 1) throw new Error("thrown");
      if (value === 2) return new Foreign();
      return value === 0 ? Promise.reject(new Error("rejected")) : undefined;
    },
    { report },
  );
  for (const value of count(4)) callback.call(value);
  await turn();
  expect(seen).toEqual([0, 1, 2, 3]);
  expect(report.mock.calls.map(([error]) => (error as Error).message)).toEqual([
    "rejected",
    "thrown",
    "foreign",
  ]);
});

test("clear() drops waiting calls", async () => {
  const { callback, started, onCaughtUp, endAll } = slow();
  for (const value of count(2 + MAX_WAITING_CALLS)) callback.call(value);
  callback.clear();
  await endAll();
  expect(started).toEqual([0]);
  expect(onCaughtUp).not.toHaveBeenCalled();
  callback.call(9);
  expect(started).toEqual([0, 9]);
  await endAll();
});
