import { getEventListeners } from "node:events";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { withDeadline } from "./timers.js";

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  expect(vi.getTimerCount()).toBe(0);
  vi.useRealTimers();
});

const late = new Error("too late");
const onTimeout = () => late;
const never = new Promise<never>(() => {});

test.each([undefined, Number.POSITIVE_INFINITY])(
  "without limits (%s) it waits, and keeps the host alive meanwhile",
  async (timeoutMs) => {
    let resolve = (_value: number) => {};
    const promise = new Promise<number>((done) => {
      resolve = done;
    });
    const waiting = withDeadline(promise, { timeoutMs, onTimeout });
    expect(vi.getTimerCount()).toBe(1);
    vi.advanceTimersByTime(86_400_000);
    resolve(1);
    expect(await waiting).toBe(1);
    expect(vi.getTimerCount()).toBe(0);
  },
);

test("passes the value through and leaves no timer or listener", async () => {
  const { signal } = new AbortController();
  expect(await withDeadline(Promise.resolve(1), { signal, timeoutMs: 10, onTimeout })).toBe(1);
  const failing = withDeadline(Promise.reject(new Error("no")), { signal, timeoutMs: 10, onTimeout });
  await expect(failing).rejects.toThrow("no");
  expect(getEventListeners(signal, "abort")).toEqual([]);
});

test("rejects with the given error after the timeout", async () => {
  const { signal } = new AbortController();
  const waiting = withDeadline(never, { signal, timeoutMs: 10, onTimeout }).catch((error: unknown) => error);
  await vi.advanceTimersByTimeAsync(10);
  expect(await waiting).toBe(late);
  expect(getEventListeners(signal, "abort")).toEqual([]);
});

describe("an abort", () => {
  test("rejects with its reason", async () => {
    const abort = new AbortController();
    const waiting = withDeadline(never, { signal: abort.signal, timeoutMs: 10, onTimeout });
    abort.abort("enough");
    await expect(waiting).rejects.toBe("enough");
  });

  test("before the wait rejects at once, and a later failure is no unhandled rejection", async () => {
    const failing = Promise.reject(new Error("later"));
    await expect(withDeadline(failing, { signal: AbortSignal.abort("gone"), onTimeout })).rejects.toBe(
      "gone",
    );
    await Promise.resolve();
  });

  test("after the wait has no effect", async () => {
    const abort = new AbortController();
    expect(await withDeadline(Promise.resolve(1), { signal: abort.signal, onTimeout })).toBe(1);
    abort.abort();
  });
});

test("the promise continues for other callers", async () => {
  let finish: (value: number) => void = () => {};
  const shared = new Promise<number>((resolve) => {
    finish = resolve;
  });
  const impatient = withDeadline(shared, { timeoutMs: 5, onTimeout }).catch((error: unknown) => error);
  const patient = withDeadline(shared, { timeoutMs: 50, onTimeout });
  await vi.advanceTimersByTimeAsync(5);
  finish(1);
  expect(await impatient).toBe(late);
  expect(await patient).toBe(1);
});

test("a timeout beyond the range of timers does not fire at once", async () => {
  const abort = new AbortController();
  let ended = false;
  const waiting = withDeadline(never, {
    signal: abort.signal,
    timeoutMs: Number.MAX_SAFE_INTEGER,
    onTimeout,
  });
  waiting.catch(() => (ended = true));
  await vi.advanceTimersByTimeAsync(60_000);
  expect(ended).toBe(false);
  abort.abort();
  await expect(waiting).rejects.toThrow();
});
