import { ConnectionError, type TokenBucket, ToolCallError } from "@toolport/base";
import { describe, expect, test } from "vitest";
import { idempotent, ok, setup } from "../../../../test/support/retry-setup.js";
import { asInterceptor, callOf, inTurn, unreachable } from "../../../../test/support/tool-call.js";
import { createResends, type RetryParts, retryStep } from "./retry.js";
import type { CallHandler } from "./tool-call.js";

describe("limits of a retry", () => {
  const timeout = (phase?: string) =>
    new ToolCallError({ code: "TIMEOUT", what: "late", retryable: true, outcome: "unsent", phase });
  const sends = async (error: Error, parts: Partial<RetryParts> = {}, call = callOf()) => {
    const next = inTurn(error);
    await setup(parts)
      .run(next, call)
      .catch(() => {});
    return next.calls.length;
  };

  test("a timeout while the call waited for a connection or a socket is final", async () => {
    expect(await sends(timeout("connect"))).toBe(1);
    expect(await sends(timeout("queue"))).toBe(1);
    expect(await sends(timeout("tools/call"))).toBe(3);
  });

  test("an exhausted fallback is final", async () => {
    const exhausted = new ToolCallError({
      code: "FALLBACK_EXHAUSTED",
      what: "x",
      retryable: true,
      outcome: "unsent",
    });
    expect(await sends(exhausted, {}, callOf(idempotent))).toBe(1);
  });

  test("a lost session is sent again only if the call may run twice", async () => {
    const lost = () =>
      new ConnectionError({ code: "SESSION_LOST", what: "x", retryable: true, outcome: "unsent" });
    expect(await sends(lost())).toBe(1);
    expect(await sends(lost(), {}, callOf(idempotent))).toBe(3);
  });

  test("a call with a fallback does not wait for a server that is away or busy", async () => {
    const impatient = callOf({ patient: false });
    const closed = new ConnectionError({ code: "CLOSED", what: "x", retryable: true, outcome: "unsent" });
    expect(await sends(unreachable(), {}, impatient)).toBe(1);
    expect(await sends(unreachable({ status: 503 }), {}, impatient)).toBe(1);
    expect(await sends(closed, {}, impatient)).toBe(3);
  });

  test("false sends once, and leaves one more send to healing", async () => {
    const left: (boolean | undefined)[] = [];
    const next: CallHandler = ({ resends }) => {
      left.push(resends?.take(), resends?.take());
      return Promise.reject(unreachable());
    };
    await expect(setup({ options: false }).run(next)).rejects.toThrow("UNREACHABLE");
    expect(left).toEqual([true, false]);
  });

  test("attempts and healing share the sends of a call", async () => {
    const call = callOf();
    const next = inTurn(unreachable());
    const healing: CallHandler = (sent) => {
      sent.resends?.take();
      return next(sent);
    };
    await expect(setup().run(healing, call)).rejects.toThrow("UNREACHABLE");
    expect(next.calls).toHaveLength(2);
  });

  test("a function decides which errors are transient, and undefined leaves the default", async () => {
    const broken = new ConnectionError({ code: "BAD_RESPONSE", what: "x", outcome: "unsent" });
    expect(await sends(broken, { options: () => true })).toBe(3);
    expect(await sends(broken, { options: () => undefined })).toBe(1);
    expect(await sends(unreachable(), { options: () => false })).toBe(1);
    expect(await sends(unreachable(), { options: { when: () => undefined } })).toBe(3);
  });

  test("a wait that would end exactly at the deadline does not begin", async () => {
    const busy = unreachable({ status: 429, retryAfterMs: 5_000 });
    expect(await sends(busy, {}, callOf({ deadline: 5_000 }))).toBe(1);
    expect(await sends(busy, { options: { maxAttempts: 2 } }, callOf({ deadline: 5_001 }))).toBe(2);
  });

  test("a failure after an unknown outcome has an unknown outcome", async () => {
    const cut = new ConnectionError({ code: "STREAM_CUT", what: "x", retryable: true, outcome: "unknown" });
    const call = callOf(idempotent);
    await expect(setup().run(inTurn(cut, unreachable()), call)).rejects.toMatchObject({ outcome: "unknown" });
    const again = setup().run(inTurn(unreachable()), callOf(idempotent));
    await expect(again).rejects.toMatchObject({ outcome: "unsent" });
  });

  test("a new budget has 500 tokens", async () => {
    const guards = {
      breaker: undefined,
      limiter: undefined,
      retryBudget: undefined as TokenBucket | undefined,
    };
    const call = callOf();
    const step = asInterceptor(retryStep({ sleep: async () => {} }))(inTurn(unreachable(), ok));
    await step({ ...call, target: { ...call.target, guards } });
    expect(guards.retryBudget?.take(500)).toBe(true);
    expect(guards.retryBudget?.take(1)).toBe(false);
  });
});

test("three sends allow two resends, one of them for a recovery", () => {
  const resends = createResends(3);
  expect([resends.takeRecovery(), resends.takeRecovery(), resends.take(), resends.take()]).toEqual([
    true,
    false,
    true,
    false,
  ]);
});

test("a recovery uses up a resend", () => {
  const resends = createResends(2);
  expect([resends.take(), resends.takeRecovery()]).toEqual([true, false]);
  expect(createResends(1).takeRecovery()).toBe(false);
});
