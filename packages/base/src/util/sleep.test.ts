import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { sleep } from "./timers.js";

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

test("resolves after its time", async () => {
  const slept = sleep(100);
  await vi.advanceTimersByTimeAsync(100);
  await expect(slept).resolves.toBeUndefined();
});

test("an abort rejects at once and leaves no timer", async () => {
  const controller = new AbortController();
  const slept = sleep(100, controller.signal);
  controller.abort("enough");
  await expect(slept).rejects.toBe("enough");
  expect(vi.getTimerCount()).toBe(0);
  await expect(sleep(100, controller.signal)).rejects.toBe("enough");
});
