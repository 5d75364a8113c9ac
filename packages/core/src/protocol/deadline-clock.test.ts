/** One timer for many requests, with fake time. */
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { DeadlineClock, type TimedRequest } from "./pending-request.js";

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

const clocked = (parts: Pick<TimedRequest, "dueAt" | "expire"> & Partial<TimedRequest>): TimedRequest => ({
  slot: -1,
  isBackground: false,
  extend: () => false,
  ...parts,
});

function waiting(name: string, ms: number, isBackground = false): TimedRequest {
  const end = performance.now() + ms;
  const one = clocked({ isBackground, dueAt: () => end, expire: () => void over.push(name) });
  clock.add(one);
  return one;
}

/** The event loop is real: this waits for one poll. */
const poll = () => new Promise<void>((resolve) => setImmediate(resolve));

async function advance(ms: number): Promise<void> {
  vi.advanceTimersByTime(ms);
  await poll();
}

/** Fires the timer that is due in `dueMs` with a delay of `lateMs`. */
async function blockUntilLate(dueMs: number, lateMs: number): Promise<void> {
  const now = performance.now.bind(performance);
  vi.spyOn(performance, "now").mockImplementation(() => now() + lateMs);
  await advance(dueMs);
}

test("one timer expires every request at its own deadline", async () => {
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
  expect(clock.keepsAlive).toBe(false);
});

test("settled requests do not expire, and only open requests keep the process alive", async () => {
  const first = waiting("first", 100);
  expect(clock.keepsAlive).toBe(true);
  clock.delete(first);
  expect(clock.keepsAlive).toBe(false);
  await advance(50);
  const second = waiting("second", 100);
  expect(clock.keepsAlive).toBe(true);
  await advance(50);
  expect(over).toEqual([]);
  expect(clock.keepsAlive).toBe(true);
  await advance(50);
  expect(over).toEqual(["second"]);
  clock.delete(second);
});

test("background requests expire but never keep the process alive", async () => {
  waiting("ping", 100, true);
  expect(clock.keepsAlive).toBe(false);
  const call = waiting("call", 500);
  expect(clock.keepsAlive).toBe(true);
  clock.delete(call);
  expect(clock.keepsAlive).toBe(false);
  await advance(100);
  expect(over).toEqual(["ping"]);
  waiting("ping", 50, true);
  expect(clock.keepsAlive).toBe(false);
});

test("a request added while another expires is kept", async () => {
  const end = performance.now() + 10;
  clock.add(clocked({ dueAt: () => end, expire: () => void waiting("next", 10) }));
  await advance(10);
  await advance(10);
  expect(over).toEqual(["next"]);
});

test("a request whose response is read by the poll after the timer does not expire", async () => {
  const answered = waiting("answered", 100);
  waiting("silent", 100);
  vi.advanceTimersByTime(100);
  expect(over).toEqual([]);
  clock.delete(answered);
  await poll();
  expect(over).toEqual(["silent"]);
});

test("time in which the event loop was blocked extends the deadline", async () => {
  let end = performance.now() + 100;
  const extend = (ms: number) => {
    over.push(`extended by ${ms}`);
    end = performance.now() + ms;
    return true;
  };
  clock.add(clocked({ dueAt: () => end, extend, expire: () => void over.push("one") }));
  await blockUntilLate(100, 300);
  expect(over).toEqual(["extended by 300"]);
  expect(clock.keepsAlive).toBe(true);
  await advance(299);
  expect(over).toHaveLength(1);
  await advance(1);
  expect(over).toEqual(["extended by 300", "one"]);
});

test("a closed clock expires no request", async () => {
  waiting("never", 10);
  vi.advanceTimersByTime(10);
  clock.close();
  await poll();
  waiting("nor this", 10);
  clock.close();
  await advance(20);
  expect(over).toEqual([]);
});
