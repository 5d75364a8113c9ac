/** When Toolport reconnects a lost server, and when it gives up. */
import { afterEach, describe, expect, test, vi } from "vitest";
import type { ReconnectConfig } from "../config/server-config.js";
import { AuthError } from "../errors/auth-error.js";
import { ConnectionError } from "../errors/connection-error.js";
import type { ToolportError } from "../errors/toolport-error.js";
import {
  Failures,
  failuresAfter,
  MAX_STARTS,
  reasonToStop,
  reconnectWaits,
  restartLimitError,
  START_WINDOW_MS,
  StartBudget,
} from "./reconnect-policy.js";

const policy = (more: Partial<ReconnectConfig> = {}): ReconnectConfig => ({
  enabled: true,
  maxAttempts: undefined,
  delayMs: undefined,
  ...more,
});
const lost = () => new ConnectionError({ code: "CLOSED", what: "It is gone" });
const denied = (code: "AUTH_REQUIRED" | "ISSUER_MISMATCH" = "AUTH_REQUIRED") =>
  new AuthError({ code, what: "Not you" });

/** Random numbers that are the same in every run (mulberry32). */
function seeded(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

describe("the delay in the background", () => {
  const almostOne = () => 1;

  test.each([
    [1, 1_000],
    [2, 2_000],
    [3, 4_000],
    [6, 32_000],
    [7, 60_000],
    [1_000, 60_000],
  ])("before attempt %d is anything from 0 to %d ms", (attempt, ms) => {
    expect(reconnectWaits(attempt, policy(), () => 0).backgroundMs).toBe(0);
    expect(reconnectWaits(attempt, policy(), () => 0.5).backgroundMs).toBe(ms / 2);
    expect(reconnectWaits(attempt, policy(), almostOne).backgroundMs).toBe(ms);
  });

  test.each([1, 2, 5, 20])("spreads attempt %d of 1,000 clients evenly over its range", (attempt) => {
    const random = seeded(attempt);
    const rangeMs = reconnectWaits(attempt, policy(), almostOne).backgroundMs;
    const tenths = new Array<number>(10).fill(0);
    for (let client = 0; client < 1_000; client += 1) {
      const { backgroundMs } = reconnectWaits(attempt, policy(), random);
      const tenth = Math.min(9, Math.floor((backgroundMs / rangeMs) * 10));
      tenths[tenth] = tenths[tenth]! + 1;
    }
    for (const clients of tenths) {
      expect(clients).toBeGreaterThan(60);
      expect(clients).toBeLessThan(140);
    }
  });

  test("follows the option from the second attempt on, and is not longer before the first", () => {
    const waits = [1, 2, 3, 50].map((attempt) => reconnectWaits(attempt, policy({ delayMs: 70 }), almostOne));
    expect(waits.map(({ backgroundMs }) => backgroundMs)).toEqual([70, 70, 70, 70]);
    expect(reconnectWaits(1, policy({ delayMs: 60_000 }), () => 0.5).backgroundMs).toBe(500);
    expect(reconnectWaits(5, policy({ delayMs: 0 })).backgroundMs).toBe(0);
  });
});

test("a call starts the first attempt at once; later attempts are a second apart", () => {
  const pauses = [1, 2, 3, 50].map((attempt) => reconnectWaits(attempt, policy()).callPauseMs);
  expect(pauses).toEqual([0, 1_000, 1_000, 1_000]);
});

/** Several failures in a row. */
function having(...errors: ToolportError[]): Failures {
  const failures = new Failures();
  for (const error of errors) failures.add(error);
  return failures;
}

describe("giving up", () => {
  test("stores only the last two failures", () => {
    const [first, second, third] = [lost(), lost(), lost()];
    const { count, last, before } = having(first, second, third);
    expect({ count, last, before }).toEqual({ count: 3, last: third, before: second });
  });

  test("never happens by default", () => {
    expect(reasonToStop(having(), policy())).toBeUndefined();
    expect(reasonToStop(having(...Array.from({ length: 500 }, lost)), policy())).toBeUndefined();
  });

  test("happens after the configured number of attempts", () => {
    expect(reasonToStop(having(lost(), lost()), policy({ maxAttempts: 3 }))).toBeUndefined();
    expect(reasonToStop(having(lost(), lost(), lost()), policy({ maxAttempts: 3 }))).toContain("3");
  });

  test("happens after the same authorization error twice in a row", () => {
    expect(reasonToStop(having(denied()), policy())).toBeUndefined();
    expect(reasonToStop(having(denied(), lost(), denied()), policy())).toBeUndefined();
    expect(reasonToStop(having(denied("ISSUER_MISMATCH"), denied()), policy())).toBeUndefined();
    expect(reasonToStop(having(lost(), denied(), denied()), policy())).toContain("authorization");
  });

  test("happens at the limit of starts", () => {
    expect(reasonToStop(having(restartLimitError("it", lost())), policy())).toContain("too often");
  });
});

describe("starts of a process", () => {
  test("are limited to five a minute", () => {
    let now = 0;
    const budget = new StartBudget(() => now);
    for (let start = 0; start < MAX_STARTS; start += 1) {
      expect(budget.spend()).toBe(true);
      now += 1_000;
    }
    expect(budget.spend()).toBe(false);
    // Rejected starts do not count: the first start expires after one minute.
    now = START_WINDOW_MS - 1;
    expect(budget.spend()).toBe(false);
    now = START_WINDOW_MS;
    expect(budget.spend()).toBe(true);
    expect(budget.spend()).toBe(false);
  });

  test("start again from zero after a reset", () => {
    const budget = new StartBudget(() => 0);
    while (budget.spend());
    budget.reset();
    expect(budget.spend()).toBe(true);
  });
});

test("the error of the limit contains the last exit of the process", () => {
  const last = new ConnectionError({
    code: "SPAWN_FAILED",
    what: "It exited with code 3",
    exitCode: 3,
    stderrTail: "out of luck",
  });
  const error = restartLimitError("it", last);
  expect(error).toMatchObject({
    code: "RESTART_LIMIT",
    server: "it",
    exitCode: 3,
    stderrTail: "out of luck",
  });
  expect(error).toMatchObject({ retryable: false, outcome: "unsent", cause: last });
  expect(error.message).toContain("It exited with code 3");
  expect(restartLimitError("it", undefined).message).not.toContain("undefined");
});

describe("after a connection", () => {
  afterEach(() => void vi.useRealTimers());

  test("failures are reset if it was ready for 30 s", () => {
    vi.useFakeTimers();
    const readySince = performance.now();
    const failures = having(lost());
    vi.advanceTimersByTime(29_999);
    expect(failuresAfter(readySince, failures)).toBe(failures);
    vi.advanceTimersByTime(1);
    expect(failuresAfter(readySince, failures).count).toBe(0);
  });
});

test("a process may start five times in 60 s, and the error says so", () => {
  expect([MAX_STARTS, START_WINDOW_MS]).toEqual([5, 60_000]);
  const { what } = restartLimitError("it", undefined);
  expect(what).toBe("The server was started 5 times within 60 s and ended every time");
});
