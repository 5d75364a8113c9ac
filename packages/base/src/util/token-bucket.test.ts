import { describe, expect, test } from "vitest";
import { TokenBucket } from "./concurrency.js";

describe("a budget", () => {
  test("take() takes nothing if there are too few tokens", () => {
    const bucket = new TokenBucket({ capacity: 20 });
    expect(bucket.take(14)).toBe(true);
    expect(bucket.take(14)).toBe(false);
    expect(bucket.tokens).toBe(6);
  });

  test("never exceeds its capacity", () => {
    const bucket = new TokenBucket({ capacity: 20 });
    bucket.take(5);
    bucket.give(100);
    expect(bucket.tokens).toBe(20);
  });

  test("does not refill over time", () => {
    const bucket = new TokenBucket({ capacity: 1 });
    bucket.take(1);
    expect(bucket.waitMs(1)).toBe(Infinity);
  });
});

describe("a rate", () => {
  test("refills over time, up to its capacity", () => {
    let now = 0;
    const bucket = new TokenBucket({ capacity: 2, perSecond: 10, now: () => now });
    expect([bucket.take(1), bucket.take(1), bucket.take(1)]).toEqual([true, true, false]);
    expect(bucket.waitMs(1)).toBe(100);
    now = 100;
    expect([bucket.take(1), bucket.take(1)]).toEqual([true, false]);
    now = 10_000;
    expect(bucket.tokens).toBe(2);
  });

  test("waitMs() is Infinity beyond the capacity", () => {
    expect(new TokenBucket({ capacity: 2, perSecond: 1, now: () => 0 }).waitMs(3)).toBe(Infinity);
  });
});
