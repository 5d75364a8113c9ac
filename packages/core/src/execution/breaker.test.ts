import { AuthError, ConnectionError, ToolCallError, type ToolportError } from "@toolport/base";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import {
  callOf,
  deferred,
  inTurn,
  resultOf,
  targetOf,
  timedOut,
  unreachable,
} from "../../../../test/support/tool-call.js";
import { Breaker, breakerStep, judge } from "./breaker.js";
import type { CallHandler, ResolvedCall } from "./tool-call.js";

beforeEach(() => void vi.useFakeTimers({ now: 1_000_000 }));
afterEach(() => void vi.useRealTimers());

const ok = resultOf("ok");

function setup(options?: ConstructorParameters<typeof Breaker>[1]) {
  const breaker = new Breaker("a", options);
  const target = targetOf({ breaker });
  const run = (next: CallHandler, signal?: AbortSignal) =>
    breakerStep<ResolvedCall>(next)(
      callOf({ target, options: signal === undefined ? {} : { signal } }),
    ).catch((error: unknown) => error);
  const fail = async (times: number) => {
    for (let count = 0; count < times; count++) await run(inTurn(unreachable()));
  };
  return { breaker, run, fail };
}

test("five failures in a row open it for 30 s: calls fail at once and are not sent", async () => {
  const { breaker, run, fail } = setup();
  await fail(4);
  expect(breaker.snapshot).toEqual({ state: "closed", failures: 4, openUntil: null, opens: 0 });
  await fail(1);
  expect(breaker.snapshot).toEqual({ state: "open", failures: 5, openUntil: 1_030_000, opens: 1 });
  const next = inTurn(ok);
  await vi.advanceTimersByTimeAsync(10_000);
  const error = await run(next);
  expect(next.calls).toHaveLength(0);
  expect(error).toBeInstanceOf(ConnectionError);
  expect(error).toMatchObject({
    code: "CIRCUIT_OPEN",
    server: "a",
    tool: "echo",
    retryable: true,
    outcome: "unsent",
    retryAfterMs: 20_000,
    message:
      "[a/echo] The server failed too often in a row; calls are rejected for a while; last: The server cannot be reached. " +
      "Try again in 20 s. (CIRCUIT_OPEN)",
  });
});

test("a success in between resets the count", async () => {
  const { breaker, run, fail } = setup();
  await fail(4);
  await run(inTurn(ok));
  await fail(4);
  expect(breaker.snapshot).toMatchObject({ state: "closed", failures: 4 });
});

test("after that time one call probes the server; its success closes the breaker", async () => {
  const { breaker, run, fail } = setup();
  await fail(5);
  await vi.advanceTimersByTimeAsync(30_000);
  expect(breaker.isOpen).toBe(false);
  const { promise, resolve } = deferred<typeof ok>();
  const probe = run(() => promise);
  expect(breaker.snapshot).toMatchObject({ state: "half-open", opens: 1 });
  expect(breaker.isOpen).toBe(true);
  expect(await run(inTurn(ok))).toMatchObject({
    code: "CIRCUIT_OPEN",
    next: "Another call is probing the server now; try again after it",
  });
  resolve(ok);
  expect(await probe).toBe(ok);
  expect(breaker.snapshot).toEqual({ state: "closed", failures: 0, openUntil: null, opens: 0 });
  expect(await run(inTurn(ok))).toBe(ok);
});

test("every failed probe opens it for longer, 300 s at most", async () => {
  const { breaker, fail } = setup();
  await fail(5);
  const times: number[] = [];
  for (let count = 0; count < 12; count++) {
    const ms = (breaker.snapshot.openUntil ?? 0) - Date.now();
    times.push(ms / 1_000);
    await vi.advanceTimersByTimeAsync(ms);
    await fail(1);
  }
  expect(times).toEqual([30, 60, 90, 120, 150, 180, 210, 240, 270, 300, 300, 300]);
});

test("after an inconclusive probe the next call probes", async () => {
  const { breaker, run, fail } = setup();
  await fail(5);
  await vi.advanceTimersByTimeAsync(30_000);
  await run(inTurn(new ToolCallError({ code: "INVALID_ARGUMENTS", what: "x", outcome: "unsent" })));
  expect(breaker.snapshot).toMatchObject({ state: "open", opens: 1 });
  expect(await run(inTurn(ok))).toBe(ok);
});

test("calls that were under way when it opened neither prolong it nor count as a probe", async () => {
  const { breaker, run, fail } = setup();
  const late = Array.from({ length: 3 }, () => deferred<never>());
  const answers = late.map(({ promise }) => run(() => promise));
  await fail(5);
  const before = breaker.snapshot;
  late[0]?.reject(unreachable());
  await answers[0];
  expect(breaker.snapshot).toEqual(before);
  await vi.advanceTimersByTimeAsync(30_000);
  const { promise, resolve } = deferred<typeof ok>();
  const probe = run(() => promise);
  late[1]?.reject(unreachable());
  await answers[1];
  expect(breaker.snapshot.state).toBe("half-open");
  resolve(ok);
  await probe;
  expect(breaker.snapshot.state).toBe("closed");
  late[2]?.reject(unreachable());
  await answers[2];
});

test("calls interrupted by one lost connection count as one failure, later ones separately", async () => {
  const { breaker, run } = setup();
  const closed = () => new ConnectionError({ code: "CLOSED", what: "It was lost" });
  for (let loss = 1; loss <= 5; loss += 1) {
    const inFlight = Array.from({ length: 20 }, () => deferred<never>());
    const answers = inFlight.map(({ promise }) => run(() => promise));
    for (const { reject } of inFlight) reject(closed());
    await Promise.all(answers);
    expect(breaker.snapshot).toMatchObject({ failures: loss, state: loss < 5 ? "closed" : "open" });
  }
});

test("a late response closes it", async () => {
  const { breaker, run, fail } = setup();
  const { promise, resolve } = deferred<typeof ok>();
  const slow = run(() => promise);
  await fail(5);
  resolve(ok);
  await slow;
  expect(breaker.snapshot.state).toBe("closed");
});

test("an abort by the caller does not count", async () => {
  const { breaker, run } = setup();
  for (let count = 0; count < 10; count++) await run(inTurn(unreachable()), AbortSignal.abort("enough"));
  expect(breaker.snapshot.failures).toBe(0);
});

test("reset() closes it, and thresholds can be configured", async () => {
  const { breaker, fail } = setup({ failures: 2, openMs: 100, maxOpenMs: 150 });
  await fail(2);
  expect(breaker.snapshot.openUntil).toBe(Date.now() + 100);
  await vi.advanceTimersByTimeAsync(100);
  await fail(1);
  expect(breaker.snapshot.openUntil).toBe(Date.now() + 150);
  breaker.reset();
  expect(breaker.snapshot).toEqual({ state: "closed", failures: 0, openUntil: null, opens: 0 });
});

describe("an unanswered ping", () => {
  test("is a failure; the timeouts before it are not", async () => {
    const { breaker, run } = setup({ failures: 2 });
    for (let count = 0; count < 5; count += 1) await run(inTurn(timedOut()));
    expect(breaker.snapshot).toMatchObject({ state: "closed", failures: 0 });
    breaker.silent(unreachable());
    expect(breaker.snapshot).toMatchObject({ state: "closed", failures: 1 });
    breaker.silent(unreachable());
    expect(breaker.snapshot).toMatchObject({ state: "open", failures: 2, opens: 1 });
    breaker.silent(unreachable());
    expect(breaker.snapshot).toMatchObject({ state: "open", opens: 1 });
  });

  test("after a probe that timed out opens it again, for longer", async () => {
    const { breaker, run, fail } = setup();
    await fail(5);
    await vi.advanceTimersByTimeAsync(30_000);
    await run(inTurn(timedOut()));
    expect(breaker.isOpen).toBe(false);
    breaker.silent(unreachable());
    expect(breaker.snapshot).toMatchObject({ state: "open", opens: 2, openUntil: Date.now() + 60_000 });
  });
});

describe("judge", () => {
  const connection = (code: ConnectionError["code"], status?: number) =>
    new ConnectionError({ code, what: "x", status });
  const call = (code: ToolCallError["code"], more: { rpcCode?: number; phase?: string } = {}) =>
    new ToolCallError({ code, what: "x", ...more });

  test.each<[string, ToolportError]>([
    ["failed", unreachable()],
    ["failed", call("TIMEOUT", { phase: "connect" })],
    ["failed", connection("STREAM_CUT")],
    ["failed", connection("SPAWN_FAILED")],
    ["failed", connection("HTTP_STATUS", 500)],
    ["failed", connection("HTTP_STATUS", 503)],
    ["answered", connection("HTTP_STATUS", 404)],
    ["answered", connection("HTTP_STATUS", 429)],
    ["answered", connection("SESSION_LOST", 404)],
    ["answered", connection("MESSAGE_TOO_LARGE")],
    ["answered", call("PROTOCOL", { rpcCode: -32602 })],
    ["answered", call("PROTOCOL", { rpcCode: -32603 })],
    ["answered", call("INVALID_OUTPUT")],
    ["answered", new AuthError({ code: "AUTH_REQUIRED", what: "x", status: 401 })],
    ["nothing", new ToolCallError({ code: "PROTOCOL", what: "not supported", outcome: "unsent" })],
    ["nothing", new AuthError({ code: "AUTH_FAILED", what: "x" })],
    ["nothing", call("INVALID_ARGUMENTS")],
    ["nothing", call("REFUSED")],
    ["nothing", call("OVERLOADED")],
    ["nothing", call("TIMEOUT", { phase: "queue" })],
    ["nothing", call("TIMEOUT", { phase: "tools/call" })],
    ["nothing", timedOut()],
    ["nothing", connection("CIRCUIT_OPEN")],
  ])("%s: %s", (verdict, error) => expect(judge(error)).toBe(verdict));

  test("a tool that reports failure counts as a response", async () => {
    const { breaker, run, fail } = setup();
    await fail(4);
    await run(inTurn(resultOf("failed", { isError: true })));
    expect(breaker.snapshot.failures).toBe(0);
  });
});

test("allowProbe() only lets the next call probe an open server", async () => {
  const { breaker, run, fail } = setup();
  breaker.allowProbe();
  expect(breaker.snapshot.state).toBe("closed");
  await fail(5);
  const { openUntil } = breaker.snapshot;
  breaker.allowProbe();
  expect(breaker.isOpen).toBe(false);
  expect(breaker.snapshot).toEqual({ state: "open", failures: 5, openUntil, opens: 1 });
  expect(await run(inTurn(ok))).toBe(ok);
  expect(breaker.snapshot.state).toBe("closed");
});

test("stays open for its exact time", async () => {
  const { breaker, fail } = setup();
  await fail(5);
  await vi.advanceTimersByTimeAsync(29_999);
  expect(breaker.isOpen).toBe(true);
  await vi.advanceTimersByTimeAsync(1);
  expect(breaker.isOpen).toBe(false);
});

test.each([
  [399, "failed"],
  [400, "answered"],
  [499, "answered"],
  [500, "failed"],
])("HTTP status %i counts as %s", (status, verdict) => {
  expect(judge(new ConnectionError({ code: "HTTP_STATUS", what: "x", status }))).toBe(verdict);
});

test.each([
  [undefined, "unsent", "nothing"],
  [undefined, "unknown", "answered"],
  [-32602, "unsent", "answered"],
] as const)("a protocol error with code %s and outcome %s counts as %s", (rpcCode, outcome, verdict) => {
  expect(judge(new ToolCallError({ code: "PROTOCOL", what: "x", rpcCode, outcome }))).toBe(verdict);
});
