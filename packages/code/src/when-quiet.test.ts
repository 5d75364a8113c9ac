/** When a worker thread can be ended: time is simulated, and V8 has nothing else to do. */
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { ThreadState } from "./worker/thread-link.js";
import { whenQuiet } from "./worker-thread.js";

const A_WHILE_MS = 250;
const LAST_RESORT_MS = 20_000;

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

/** Resolves when the thread is watched. */
async function watch(): Promise<() => void> {
  const cancel = whenQuiet({ restMark: () => state.restMark }, () => {
    calls += 1;
  });
  await new Promise((resolve) => setImmediate(resolve));
  expect(vi.getTimerCount()).toBe(1);
  return cancel;
}

test("a thread that rests is quiet after a while", async () => {
  state.rest();
  await watch();
  expect(calls).toBe(0);
  vi.advanceTimersByTime(A_WHILE_MS);
  expect(calls).toBe(1);
  expect(vi.getTimerCount()).toBe(0);
});

test("a thread that works in between is not quiet", async () => {
  state.rest();
  await watch();
  for (let round = 0; round < 5; round += 1) {
    state.wake();
    state.rest();
    vi.advanceTimersByTime(A_WHILE_MS);
    expect(calls).toBe(0);
  }
  vi.advanceTimersByTime(A_WHILE_MS);
  expect(calls).toBe(1);
});

test("a thread that never rests is given up, late", async () => {
  state.wake();
  await watch();
  vi.advanceTimersByTime(A_WHILE_MS * 10);
  expect(calls).toBe(0);
  vi.advanceTimersByTime(LAST_RESORT_MS);
  expect(calls).toBe(1);
});

test("a cancelled watch never calls back", async () => {
  state.rest();
  (await watch())();
  vi.advanceTimersByTime(LAST_RESORT_MS);
  expect(calls).toBe(0);
});
