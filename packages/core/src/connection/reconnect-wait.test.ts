/** What ends the delay before a reconnect, and when. */
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { ReconnectWait, reconnectWaits } from "./reconnect-policy.js";

beforeEach(() => void vi.useFakeTimers());
afterEach(() => {
  expect(vi.getTimerCount()).toBe(0);
  vi.useRealTimers();
});

/** Starts a wait and reports whether it is over. */
function begin(wait: ReconnectWait, waits: { backgroundMs: number; callPauseMs: number }) {
  const abort = new AbortController();
  let state: "waiting" | "due" | unknown = "waiting";
  wait.start(waits, abort.signal).then(
    () => (state = "due"),
    (reason: unknown) => (state = reason),
  );
  const after = async (ms: number) => {
    await vi.advanceTimersByTimeAsync(ms);
    return state;
  };
  return { abort, after };
}

test("uses the long delay while no call waits", async () => {
  const { after } = begin(new ReconnectWait(), { backgroundMs: 500, callPauseMs: 0 });
  expect(await after(499)).toBe("waiting");
  expect(await after(1)).toBe("due");
});

test("a call ends it at once before the first attempt", async () => {
  const wait = new ReconnectWait();
  const { after } = begin(wait, { backgroundMs: 60_000, callPauseMs: 0 });
  expect(await after(0)).toBe("waiting");
  wait.needed();
  expect(await after(0)).toBe("due");
});

test("after a failed attempt, calls end it after their minimum delay, with one shared timer", async () => {
  const wait = new ReconnectWait();
  const first = begin(wait, { backgroundMs: 0, callPauseMs: 0 });
  expect(await first.after(200)).toBe("due");
  const second = begin(wait, { backgroundMs: 60_000, callPauseMs: 1_000 });
  for (let call = 0; call < 100; call += 1) wait.needed();
  expect(vi.getTimerCount()).toBe(2);
  // 200 ms have passed since the previous attempt.
  expect(await second.after(799)).toBe("waiting");
  expect(await second.after(1)).toBe("due");
});

test("a call after the minimum delay ends it at once", async () => {
  const wait = new ReconnectWait();
  await begin(wait, { backgroundMs: 0, callPauseMs: 0 }).after(0);
  const { after } = begin(wait, { backgroundMs: 60_000, callPauseMs: 1_000 });
  expect(await after(30_000)).toBe("waiting");
  wait.needed();
  expect(await after(0)).toBe("due");
});

test("an explicit connect ends it at once", async () => {
  const wait = new ReconnectWait();
  await begin(wait, { backgroundMs: 0, callPauseMs: 0 }).after(0);
  const { after } = begin(wait, { backgroundMs: 60_000, callPauseMs: 1_000 });
  wait.needed();
  wait.end();
  expect(await after(0)).toBe("due");
});

test("an abort rejects it with its reason", async () => {
  const wait = new ReconnectWait();
  const { abort, after } = begin(wait, { backgroundMs: 60_000, callPauseMs: 1_000 });
  abort.abort("enough");
  expect(await after(0)).toBe("enough");
  // No delay is pending any more.
  wait.needed();
  wait.end();
});

test("a server whose connections are short is tried at most 30 times a minute, however many calls wait", async () => {
  const wait = new ReconnectWait();
  const policy = { enabled: true, maxAttempts: undefined, delayMs: undefined };
  const ended = new AbortController();
  let attempts = 0;
  const calls = setInterval(() => wait.needed(), 10);
  const trying = (async () => {
    for (; attempts < 1_000; attempts += 1) {
      await wait.start(reconnectWaits(attempts + 1, policy), ended.signal);
    }
  })().catch(() => {});
  await vi.advanceTimersByTimeAsync(60_000);
  clearInterval(calls);
  ended.abort();
  await trying;
  expect(attempts).toBeGreaterThan(10);
  expect(attempts).toBeLessThanOrEqual(30);
});
