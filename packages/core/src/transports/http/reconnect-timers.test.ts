/** Delays before a broken stream is opened again. */
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { ReconnectTimers } from "./endpoint-streams.js";

beforeEach(() => void vi.useFakeTimers());
afterEach(() => {
  vi.useRealTimers();
  vi.restoreAllMocks();
});

/** The delays of 1,000 clients whose server closes their streams at the same time. */
async function waitsOf(options: { attempt?: number; spreadMs?: number }, retryMs = 300): Promise<number[]> {
  const startedAt = performance.now();
  const waits: number[] = [];
  for (let client = 0; client < 1_000; client += 1) {
    const timers = new ReconnectTimers();
    timers.retryMs = retryMs;
    timers.schedule(() => waits.push(performance.now() - startedAt), options);
  }
  await vi.runAllTimersAsync();
  return waits;
}

test("a stream that a call waits for is reopened after exactly the delay the server set", async () => {
  expect(new Set(await waitsOf({}))).toEqual(new Set([300]));
});

test("without a waiting call, 1,000 clients reconnect spread over a second, none before the delay the server set", async () => {
  const waits = await waitsOf({ spreadMs: 1_000 });
  expect(Math.min(...waits)).toBeGreaterThanOrEqual(300);
  expect(Math.max(...waits)).toBeLessThanOrEqual(1_300);
  for (let quarter = 0; quarter < 4; quarter += 1) {
    const [from, to] = [300 + quarter * 250, 300 + (quarter + 1) * 250];
    expect(waits.filter((ms) => ms >= from && ms < to).length).toBeGreaterThan(100);
  }
});

test("clear() cancels scheduled reconnects", () => {
  const timers = new ReconnectTimers();
  timers.schedule(() => expect.unreachable(), { spreadMs: 1_000 });
  timers.clear();
  expect(vi.getTimerCount()).toBe(0);
});
