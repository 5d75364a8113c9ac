/** One clock for many requests; the test moves the time. */
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
  vi.restoreAllMocks();
  vi.useRealTimers();
});

const clocked = (parts: Pick<Clocked, "dueAt" | "expire"> & Partial<Clocked>): Clocked => ({
  slot: -1,
  isBackground: false,
  extend: () => false,
  ...parts,
});

function waiting(name: string, ms: number, isBackground = false): Clocked {
  const end = performance.now() + ms;
  const one = clocked({ isBackground, dueAt: () => end, expire: () => void over.push(name) });
  clock.add(one);
  return one;
}

/** The event loop is not faked: it polls once. */
const poll = () => new Promise<void>((resolve) => setImmediate(resolve));

async function advance(ms: number): Promise<void> {
  vi.advanceTimersByTime(ms);
  await poll();
}

/** The timer that is due in `dueMs` goes off `lateMs` after that. */
async function blockUntilLate(dueMs: number, lateMs: number): Promise<void> {
  const now = performance.now.bind(performance);
  vi.spyOn(performance, "now").mockImplementation(() => now() + lateMs);
  await advance(dueMs);
}

test("everyone at their own time, by one timer", async () => {
  waiting("long", 1_000);
  waiting("short", 100);
  waiting("between", 500);
  expect(vi.getTimerCount()).toBe(1);
  await advance(100);
  expect(over).toEqual(["short"]);
  await advance(400);
  expect(over).toEqual(["short", "between"]);
  await advance(500);
  expect(over).toEqual(["short", "between", "long"]);
  expect(clock.isHolding).toBe(false);
});

test("settled requests do not expire, and only waiting requests keep the host alive", async () => {
  const first = waiting("first", 100);
  expect(clock.isHolding).toBe(true);
  clock.delete(first);
  expect(clock.isHolding).toBe(false);
  await advance(50);
  const second = waiting("second", 100);
  expect(clock.isHolding).toBe(true);
  await advance(50);
  expect(over).toEqual([]);
  expect(clock.isHolding).toBe(true);
  await advance(50);
  expect(over).toEqual(["second"]);
  clock.delete(second);
});

test("what runs in the background ends in time but never holds the host", async () => {
  waiting("ping", 100, true);
  expect(clock.isHolding).toBe(false);
  const call = waiting("call", 500);
  expect(clock.isHolding).toBe(true);
  clock.delete(call);
  expect(clock.isHolding).toBe(false);
  await advance(100);
  expect(over).toEqual(["ping"]);
  waiting("ping", 50, true);
  expect(clock.isHolding).toBe(false);
});

test("one who begins anew while another's time is up is kept", async () => {
  const end = performance.now() + 10;
  clock.add(clocked({ dueAt: () => end, expire: () => void waiting("next", 10) }));
  await advance(10);
  await advance(10);
  expect(over).toEqual(["next"]);
});

test("what is answered by the poll that follows the timer does not run out of time", async () => {
  const answered = waiting("answered", 100);
  waiting("silent", 100);
  vi.advanceTimersByTime(100);
  expect(over).toEqual([]);
  clock.delete(answered);
  await poll();
  expect(over).toEqual(["silent"]);
});

test("time in which the host was blocked is given again", async () => {
  let end = performance.now() + 100;
  const extend = (ms: number) => {
    over.push(`extended by ${ms}`);
    end = performance.now() + ms;
    return true;
  };
  clock.add(clocked({ dueAt: () => end, extend, expire: () => void over.push("one") }));
  await blockUntilLate(100, 300);
  expect(over).toEqual(["extended by 300"]);
  expect(clock.isHolding).toBe(true);
  await advance(299);
  expect(over).toHaveLength(1);
  await advance(1);
  expect(over).toEqual(["extended by 300", "one"]);
});

test("closed, it expires nothing", async () => {
  waiting("never", 10);
  vi.advanceTimersByTime(10);
  clock.close();
  await poll();
  waiting("nor this", 10);
  clock.close();
  await advance(20);
  expect(over).toEqual([]);
});
