/** One clock for many, with the time in our hands. */
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { type Clocked, DeadlineClock } from "./deadline-clock.js";

let clock: DeadlineClock;
let over: string[];
beforeEach(() => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "performance"] });
  clock = new DeadlineClock();
  over = [];
});
afterEach(() => {
  clock.close();
  expect(vi.getTimerCount()).toBe(0);
  vi.useRealTimers();
});

function waiting(name: string, ms: number): Clocked {
  const end = performance.now() + ms;
  const one = { slot: -1, dueAt: () => end, expire: () => void over.push(name) };
  clock.add(one);
  return one;
}

test("everyone at their own time, by one timer", () => {
  waiting("long", 1_000);
  waiting("short", 100);
  waiting("between", 500);
  expect(vi.getTimerCount()).toBe(1);
  vi.advanceTimersByTime(100);
  expect(over).toEqual(["short"]);
  vi.advanceTimersByTime(400);
  expect(over).toEqual(["short", "between"]);
  vi.advanceTimersByTime(500);
  expect(over).toEqual(["short", "between", "long"]);
  expect(clock.isHolding).toBe(false);
});

test("whoever is done is not asked, and the host is held only for those who wait", () => {
  const first = waiting("first", 100);
  expect(clock.isHolding).toBe(true);
  clock.delete(first);
  expect(clock.isHolding).toBe(false);
  vi.advanceTimersByTime(50);
  const second = waiting("second", 100);
  expect(clock.isHolding).toBe(true);
  vi.advanceTimersByTime(50);
  expect(over).toEqual([]);
  expect(clock.isHolding).toBe(true);
  vi.advanceTimersByTime(50);
  expect(over).toEqual(["second"]);
  clock.delete(second);
});

test("one who begins anew while another's time is up is kept", () => {
  const end = performance.now() + 10;
  clock.add({ slot: -1, dueAt: () => end, expire: () => void waiting("next", 10) });
  vi.advanceTimersByTime(10);
  vi.advanceTimersByTime(10);
  expect(over).toEqual(["next"]);
});

test("closed, it tells nobody", () => {
  waiting("never", 10);
  clock.close();
  vi.advanceTimersByTime(20);
  expect(over).toEqual([]);
});
