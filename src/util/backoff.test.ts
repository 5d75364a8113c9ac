import { expect, test } from "vitest";
import { backoffMs, fullJitterMs } from "./backoff.js";

const random = () => 0.5;

test("the first attempt never waits", () => {
  expect([1, 0, -5].map((attempt) => backoffMs(attempt))).toEqual([0, 0, 0]);
});

test("grows by its factor up to its cap", () => {
  const options = { baseMs: 100, factor: 2, maxMs: 500, random };
  expect([2, 3, 4, 5, 99].map((attempt) => backoffMs(attempt, options))).toEqual([100, 200, 400, 500, 500]);
});

test("jitter stays within its share, also at the cap", () => {
  const options = { baseMs: 100, factor: 1, jitter: 0.5, maxMs: 100 };
  expect(backoffMs(2, { ...options, random: () => 0 })).toBe(50);
  expect(backoffMs(2, { ...options, random: () => 1 })).toBe(150);
  expect(backoffMs(2, { ...options, jitter: 0, random: () => 1 })).toBe(100);
});

test("an attempt beyond counting still has a wait", () => {
  expect(backoffMs(1e9, { random })).toBe(60_000);
});

test("full jitter takes anything from zero to a limit that doubles, from the first attempt on", () => {
  const limits = (random: () => number) =>
    [-1, 1, 2, 3, 4, 99].map((attempt) => fullJitterMs(attempt, { baseMs: 100, maxMs: 500, random }));
  expect(limits(() => 0)).toEqual([0, 0, 0, 0, 0, 0]);
  expect(limits(() => 0.5)).toEqual([50, 50, 100, 200, 250, 250]);
  expect(limits(() => 1)).toEqual([100, 100, 200, 400, 500, 500]);
  expect(fullJitterMs(1e9, { random: () => 1 })).toBe(60_000);
});
