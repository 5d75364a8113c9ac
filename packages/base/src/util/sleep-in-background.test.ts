import { getEventListeners } from "node:events";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { pause } from "./timers.js";

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  expect(vi.getTimerCount()).toBe(0);
  vi.useRealTimers();
});

test("resolves after its time and leaves no listener on the signal", async () => {
  const { signal } = new AbortController();
  const waiting = pause(1_000, signal);
  await vi.advanceTimersByTimeAsync(1_000);
  await waiting;
  expect(getEventListeners(signal, "abort")).toEqual([]);
});

test("rejects with the reason of an abort at once", async () => {
  const abort = new AbortController();
  const waiting = pause(1_000, abort.signal);
  abort.abort("enough");
  await expect(waiting).rejects.toBe("enough");
  expect(getEventListeners(abort.signal, "abort")).toEqual([]);
});

test("rejects at once if the signal is already aborted", async () => {
  await expect(pause(1_000, AbortSignal.abort("gone"))).rejects.toBe("gone");
});

test("a delay beyond the range of timers does not end at once", async () => {
  const abort = new AbortController();
  const waiting = pause(2 ** 31, abort.signal);
  let over = false;
  waiting.then(
    () => (over = true),
    () => {},
  );
  await vi.advanceTimersByTimeAsync(60_000);
  expect(over).toBe(false);
  abort.abort();
  await expect(waiting).rejects.toThrow();
});
