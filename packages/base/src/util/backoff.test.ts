import { expect, test } from "vitest";
import { backoffMs, fullJitterMs } from "./timers.js";

const random = () => 0.5;

test("the first attempt has no delay", () => {
  expect([1, 0, -5].map((attempt) => backoffMs(attempt))).toEqual([0, 0, 0]);
});

test("the delay grows by its factor up to the maximum", () => {
  const options = { baseMs: 100, factor: 2, maxMs: 500, random };
  expect([2, 3, 4, 5, 99].map((attempt) => backoffMs(attempt, options))).toEqual([100, 200, 400, 500, 500]);
});

test("jitter stays within its share, also at the maximum", () => {
  const options = { baseMs: 100, factor: 1, jitter: 0.5, maxMs: 100 };
  expect(backoffMs(2, { ...options, random: () => 0 })).toBe(50);
  expect(backoffMs(2, { ...options, random: () => 1 })).toBe(150);
  expect(backoffMs(2, { ...options, jitter: 0, random: () => 1 })).toBe(100);
});

test("a very large attempt number has a finite delay", () => {
  expect(backoffMs(1e9, { random })).toBe(60_000);
});

test("full jitter is between 0 and a limit that doubles, from the first attempt on", () => {
  const limits = (random: () => number) =>
    [-1, 1, 2, 3, 4, 99].map((attempt) => fullJitterMs(attempt, { baseMs: 100, maxMs: 500, random }));
  expect(limits(() => 0)).toEqual([0, 0, 0, 0, 0, 0]);
  expect(limits(() => 0.5)).toEqual([50, 50, 100, 200, 250, 250]);
  expect(limits(() => 1)).toEqual([100, 100, 200, 400, 500, 500]);
  expect(fullJitterMs(1e9, { random: () => 1 })).toBe(60_000);
});
