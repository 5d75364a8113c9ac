/** When Toolport reconnects a lost server, and when it gives up. */

import { AuthError, ConnectionError, type ToolportError } from "@toolport/base";
import { describe, expect, test } from "vitest";
import type { ReconnectConfig } from "../config/server-config.js";
import { MAX_STARTS, RestartBudget, reconnectWaits, START_WINDOW_MS } from "./reconnect-policy.js";

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

test("a call starts the first attempt at once; later attempts are 1, 2, then 4 s apart", () => {
  const pauses = [1, 2, 3, 4, 5, 50].map((attempt) => reconnectWaits(attempt, policy()).callPauseMs);
  expect(pauses).toEqual([0, 1_000, 2_000, 4_000, 4_000, 4_000]);
});

/** A budget with a clock that the test advances. */
function openBudget(
  kind: "stdio" | "docker" | "http" | "sse" | "websocket",
  more?: Partial<ReconnectConfig>,
) {
  let now = 0;
  const budget = new RestartBudget({ name: "it", kind, reconnect: policy(more) }, () => now);
  const take = () => budget.limit() === undefined && budget.take() > 0;
  const advance = (ms: number) => {
    now += ms;
  };
  return { budget, take, advance };
}

const stopAfter = (errors: ToolportError[]) => {
  const { budget } = openBudget("http");
  for (const error of errors) budget.failed(error);
  return budget.stop();
};

describe("giving up", () => {
  test("never happens by default", () => {
    const { budget, take } = openBudget("http");
    for (let attempt = 1; attempt <= 500; attempt += 1) {
      expect(take()).toBe(true);
      budget.failed(lost());
    }
    expect(budget.stop()).toBeUndefined();
    expect(budget.count).toBe(500);
  });

  test("happens after the same authorization error twice in a row", () => {
    expect(stopAfter([denied()])).toBeUndefined();
    expect(stopAfter([denied(), lost(), denied()])).toBeUndefined();
    expect(stopAfter([denied("ISSUER_MISMATCH"), denied()])).toBeUndefined();
    const error = denied();
    expect(stopAfter([lost(), denied(), error])).toMatchObject({ error });
  });
});

describe("maxAttempts", () => {
  test.each(["http", "sse", "websocket", "stdio", "docker"] as const)(
    "is a maximum over %s, also of attempts that succeed",
    (kind) => {
      const { budget, take } = openBudget(kind, { maxAttempts: 3 });
      budget.begin();
      for (let attempt = 1; attempt <= 3; attempt += 1) {
        expect(take()).toBe(true);
        budget.lost(1_000, lost());
      }
      expect(take()).toBe(false);
      expect(budget.stop()?.error).toMatchObject({ code: "RESTART_LIMIT", server: "it", outcome: "unsent" });
    },
  );

  test("of 0 allows the first attempt only", () => {
    const { budget, take } = openBudget("http", { maxAttempts: 0 });
    expect(budget.begin()).toBe(1);
    expect(take()).toBe(false);
  });

  test("is filled again after 60 s in ready, not before", () => {
    const { budget, take } = openBudget("http", { maxAttempts: 1 });
    expect(take()).toBe(true);
    budget.lost(59_999, lost());
    expect(take()).toBe(false);
    budget.reset();
    expect(take()).toBe(true);
    budget.lost(60_000, lost());
    expect(take()).toBe(true);
    expect(take()).toBe(false);
  });

  test("counts the time before Toolport closed the connection, but not that before a loss", () => {
    const { budget, take } = openBudget("http", { maxAttempts: 1 });
    expect(take()).toBe(true);
    budget.closed(40_000);
    budget.begin();
    expect(take()).toBe(false);
    budget.lost(19_999, lost());
    budget.closed(59_999);
    expect(take()).toBe(false);
    budget.closed(1);
    expect(take()).toBe(true);
  });

  test.each([
    ["stdio", "restart.maxAttempts", "started again once"],
    ["http", "reconnect.maxAttempts", "connected again once"],
  ] as const)("is named by the error over %s, with what to do", (kind, option, what) => {
    const { budget, take } = openBudget(kind, { maxAttempts: 1 });
    take();
    const cause = lost();
    budget.failed(cause);
    const error = budget.limit()!;
    expect(error).toMatchObject({ code: "RESTART_LIMIT", retryable: false, outcome: "unsent", cause });
    for (const part of [option, what, "60 s", "It is gone", 'connectServer("it")'])
      expect(error.message).toContain(part);
  });

  test("does not count the second half of an attempt that succeeds", () => {
    const { budget, take } = openBudget("stdio", { maxAttempts: 1 });
    budget.begin();
    take();
    budget.giveBack();
    expect(take()).toBe(true);
  });
});

describe("starts of a process", () => {
  test("are limited to five a minute, the first included", () => {
    const { budget, take, advance } = openBudget("stdio");
    budget.begin();
    for (let start = 2; start <= MAX_STARTS; start += 1) {
      advance(1_000);
      expect(take()).toBe(true);
    }
    expect(take()).toBe(false);
    // Rejected starts do not count: the first start expires after one minute.
    advance(START_WINDOW_MS - 1_000 * (MAX_STARTS - 1) - 1);
    expect(take()).toBe(false);
    advance(1);
    expect(take()).toBe(true);
    expect(take()).toBe(false);
  });

  test("do not include those that Toolport ended itself", () => {
    const { budget, take } = openBudget("stdio");
    for (let round = 0; round < 20; round += 1) {
      budget.begin();
      budget.closed(10);
    }
    expect(take()).toBe(true);
  });

  test("begin again after a reset", () => {
    const { budget, take } = openBudget("docker");
    while (take());
    budget.reset();
    expect(take()).toBe(true);
  });

  test("are not limited by time over a network", () => {
    const { take } = openBudget("websocket");
    expect(Array.from({ length: 100 }, take)).not.toContain(false);
  });

  test("the error of the limit contains the last exit of the process", () => {
    const { budget, take } = openBudget("stdio");
    while (take());
    const limit = "The server was started 5 times within 60 s and ended every time";
    expect(budget.limit()!.what).toBe(limit);
    const last = new ConnectionError({
      code: "SPAWN_FAILED",
      what: "It exited with code 3",
      exitCode: 3,
      stderrTail: "out of luck",
    });
    budget.failed(last);
    const error = budget.limit()!;
    expect(error).toMatchObject({
      code: "RESTART_LIMIT",
      server: "it",
      exitCode: 3,
      stderrTail: "out of luck",
    });
    expect(error).toMatchObject({ retryable: false, outcome: "unsent", cause: last });
    expect(error.message).toContain(`${limit}; last: It exited with code 3`);
  });
});
