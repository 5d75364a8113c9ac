/** The poll interval: that of the server, within limits. */
import { expect, test } from "vitest";
import { taskPaceMs } from "./follow-task.js";

const steady = () => 0;

test("uses the interval of the server between 100 ms and a minute, and never polls sooner", () => {
  expect(taskPaceMs(5_000, 0, steady)).toBe(5_000);
  expect(taskPaceMs(0, 0, steady)).toBe(100);
  expect(taskPaceMs(Number.POSITIVE_INFINITY, 0, steady)).toBe(60_000);
  expect(taskPaceMs(1_000, 0, () => 0.999)).toBeLessThan(1_101);
  expect(taskPaceMs(1_000, 0)).toBeGreaterThanOrEqual(1_000);
});

test("without an interval, polls soon at first, then less often", () => {
  const paces = [0, 1, 2, 50].map((polls) => taskPaceMs(undefined, polls, steady));
  expect(paces).toEqual([250, 375, 562.5, 5_000]);
});
