/** A program over its limit that cannot be interrupted: time is simulated, and V8 has nothing else to do. */
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { ThreadState } from "./worker/thread-link.js";
import { atDeadline } from "./worker-thread.js";

const LIMIT_MS = 2_000;
const QUIET_MS = 250;
const thread = { restMark: () => state.restMark };
const webAssembly = (globalThis as unknown as { WebAssembly: { compile(): Promise<object> } }).WebAssembly;
let state: ThreadState;
let calls: number;
beforeEach(() => {
  // Real jobs take real time, but the clock stands still.
  vi.spyOn(webAssembly, "compile").mockResolvedValue({});
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "performance"] });
  state = new ThreadState();
  calls = 0;
});
afterEach(() => {
  vi.useRealTimers();
  vi.restoreAllMocks();
});

const start = (ms = LIMIT_MS): (() => void) =>
  atDeadline(thread, ms, () => {
    calls += 1;
  });

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

/** Simulates time in steps; immediates are real. */
async function pass(ms: number): Promise<void> {
  for (let left = ms; left > 0; left -= 50) {
    vi.advanceTimersByTime(Math.min(50, left));
    await turn();
  }
}

test("a thread that rests is reported at the deadline, not before", async () => {
  state.rest();
  start();
  await pass(LIMIT_MS - 1);
  expect(calls).toBe(0);
  await pass(1);
  expect(calls).toBe(1);
});

test("a thread that worked shortly before the deadline is reported when it is quiet", async () => {
  state.rest();
  start();
  await pass(LIMIT_MS - 10);
  state.wake();
  state.rest();
  await pass(20);
  expect(calls).toBe(0);
  await pass(QUIET_MS * 2);
  expect(calls).toBe(1);
});

test("without time left, a thread is reported when it is quiet", async () => {
  state.rest();
  start(0);
  await pass(10);
  expect(calls).toBe(0);
  await pass(QUIET_MS);
  expect(calls).toBe(1);
});

test("a thread that works is not reported, and neither is one that reports itself", async () => {
  state.wake();
  const cancel = start();
  await pass(LIMIT_MS + QUIET_MS);
  expect(calls).toBe(0);
  state.rest();
  cancel();
  await pass(LIMIT_MS);
  expect(calls).toBe(0);
  expect(vi.getTimerCount()).toBe(0);
});
