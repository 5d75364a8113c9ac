import { AuthError, ConnectionError, TokenBucket, ToolCallError, ToolportError } from "@toolport/base";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { idempotent, ok, setup } from "../../../../test/support/retry-setup.js";
import {
  asInterceptor,
  callOf,
  callOn,
  inTurn,
  resultOf,
  targetOf,
  timedOut,
  unreachable,
} from "../../../../test/support/tool-call.js";
import { retryStep } from "./retry.js";
import type { CallHandler } from "./tool-call.js";

describe("what is repeated", () => {
  test("a call that was not sent, three times at most", async () => {
    const { run } = setup();
    const next = inTurn(unreachable());
    await expect(run(next)).rejects.toThrow("UNREACHABLE");
    expect(next.calls).toHaveLength(3);
  });

  test("until it is answered", async () => {
    const { run } = setup();
    const next = inTurn(unreachable(), ok);
    expect(await run(next)).toBe(ok);
    expect(next.calls).toHaveLength(2);
  });

  test("as often as the options say", async () => {
    const next = inTurn(unreachable());
    await expect(setup({ options: { maxAttempts: 5 } }).run(next)).rejects.toThrow();
    expect(next.calls).toHaveLength(5);
  });

  test("not where the time to connect was all used up", async () => {
    const late = new ConnectionError({
      code: "CONNECT_TIMEOUT",
      what: "late",
      retryable: true,
      outcome: "unsent",
    });
    const next = inTurn(late, ok);
    await expect(setup().run(next)).rejects.toBe(late);
    expect(next.calls).toHaveLength(1);
  });

  test("a call that may have run, only if the caller or a trusted server marks it as repeatable", async () => {
    const alone = inTurn(timedOut(), ok);
    await expect(setup().run(alone)).rejects.toThrow("TIMEOUT");
    expect(alone.calls).toHaveLength(1);
    expect(await setup().run(inTurn(timedOut(), ok), callOf(idempotent))).toBe(ok);
    const tool = { ...callOf().tool, annotations: { readOnlyHint: true } };
    const trusted = callOf({ tool, target: targetOf({ isTrusted: true }) });
    expect(await setup().run(inTurn(timedOut(), ok), trusted)).toBe(ok);
    await expect(setup().run(inTurn(timedOut(), ok), callOf({ tool }))).rejects.toThrow("TIMEOUT");
  });

  test.each<[string, unknown]>([
    ["a result with isError", resultOf("failed", { isError: true })],
    ["wrong arguments", final("INVALID_ARGUMENTS")],
    ["an answer that breaks its schema", final("INVALID_OUTPUT")],
    ["a refusal", final("REFUSED")],
    ["a full queue", final("OVERLOADED")],
    ["a JSON-RPC error", final("PROTOCOL", -32602)],
    ["an error without a JSON-RPC code", final("PROTOCOL")],
    [
      "an authorization that is missing",
      new AuthError({ code: "AUTH_FAILED", what: "x", retryable: true, outcome: "unsent" }),
    ],
    [
      "an open breaker",
      new ConnectionError({ code: "CIRCUIT_OPEN", what: "x", retryable: true, outcome: "unsent" }),
    ],
    ["an abort", new ToolportError({ code: "ABORTED", what: "x", retryable: true, outcome: "unsent" })],
    ["what is not retryable", new ConnectionError({ code: "BAD_RESPONSE", what: "x", outcome: "unsent" })],
    ["an error of another kind", new Error("x")],
  ])("never %s", async (_name, outcome) => {
    const next = inTurn(outcome as Error);
    await setup()
      .run(next, callOf(idempotent))
      .catch((error) => expect(error).toBe(outcome));
    expect(next.calls).toHaveLength(1);
  });

  test("an internal error of the server's, where that is safe", async () => {
    expect(await setup().run(inTurn(final("PROTOCOL", -32603), ok), callOf(idempotent))).toBe(ok);
  });

  test("nothing once the caller has given up", async () => {
    const controller = new AbortController();
    const next: CallHandler = vi.fn(async () => {
      controller.abort("enough");
      throw unreachable();
    });
    await expect(setup().run(next, callOf({ options: { signal: controller.signal } }))).rejects.toThrow();
    expect(next).toHaveBeenCalledTimes(1);
  });
});

function final(code: ConstructorParameters<typeof ToolCallError>[0]["code"], rpcCode?: number) {
  const outcome = code === "PROTOCOL" ? "unknown" : "unsent";
  return new ToolCallError({ code, what: "x", retryable: true, outcome, rpcCode });
}

describe("waiting", () => {
  test("grows from 50 ms, and from 1 s when the server is busy", async () => {
    const transient = setup();
    await transient.run(inTurn(unreachable())).catch(() => {});
    expect(transient.rounded()).toEqual([50, 100]);
    const busy = setup();
    await busy.run(inTurn(unreachable({ status: 503 }))).catch(() => {});
    expect(busy.rounded()).toEqual([1_000, 2_000]);
  });

  test("is random from nothing to its bound", async () => {
    const { run, slept } = setup({ random: () => 0 });
    await run(inTurn(unreachable())).catch(() => {});
    expect(slept).toEqual([0, 0]);
  });

  test("stays below its cap", async () => {
    const { run, rounded } = setup({ options: { maxAttempts: 12 } });
    await run(inTurn(unreachable())).catch(() => {});
    expect(rounded().slice(-3)).toEqual([12_800, 20_000, 20_000]);
    const short = setup({ options: { baseMs: 10, maxMs: 15 } });
    await short.run(inTurn(unreachable())).catch(() => {});
    expect(short.rounded()).toEqual([10, 15]);
  });

  test.each([
    [5_000, 5_000],
    [999_999, 30_000],
    [10, 1_000],
  ])("a server that asks for %i ms gets %i ms", async (retryAfterMs, expected) => {
    const { run, rounded } = setup();
    await run(inTurn(unreachable({ status: 429, retryAfterMs }), ok));
    expect(rounded()).toEqual([expected]);
  });

  test("does not begin if it would go beyond the deadline, and costs nothing then", async () => {
    const { run, slept, budget } = setup();
    const next = inTurn(unreachable({ status: 429, retryAfterMs: 5_000 }));
    await expect(run(next, callOf({ deadline: 4_999 }))).rejects.toThrow("HTTP_STATUS");
    expect(next.calls).toHaveLength(1);
    expect(slept).toEqual([]);
    expect(budget.tokens).toBe(500);
  });
});

describe("with a clock of the test", () => {
  beforeEach(() => void vi.useFakeTimers());
  afterEach(() => void vi.useRealTimers());

  test("an abort ends the wait with the caller's reason", async () => {
    const controller = new AbortController();
    const step = asInterceptor(retryStep({ random: () => 1 }));
    const next = inTurn(unreachable({ status: 503 }));
    const answer = step(next)(callOf({ options: { signal: controller.signal } }));
    const failed = expect(answer).rejects.toBe("enough");
    await vi.advanceTimersByTimeAsync(500);
    controller.abort("enough");
    await failed;
    expect(next.calls).toHaveLength(1);
    expect(vi.getTimerCount()).toBe(0);
  });
});

describe("the budget", () => {
  const atMost = (count: number, run: () => Promise<unknown>) =>
    Promise.all(Array.from({ length: count }, () => run().catch(() => {})));

  test("of 500 tokens allows 35 repetitions of failures, then none", async () => {
    const { run, budget } = setup();
    const next = inTurn(unreachable());
    await atMost(100, () => run(next));
    expect(next.calls).toHaveLength(100 + 35);
    expect(budget.tokens).toBe(10);
  });

  test("allows 100 where the server is busy", async () => {
    const { run } = setup();
    const next = inTurn(unreachable({ status: 429 }));
    await atMost(100, () => run(next));
    expect(next.calls).toHaveLength(100 + 100);
  });

  test("gets back what a successful repetition cost, and one for a plain success", async () => {
    const { run, budget } = setup();
    budget.take(100);
    await run(inTurn(unreachable(), unreachable({ status: 503 }), ok));
    expect(budget.tokens).toBe(400 - 14 - 5 + 5);
    await run(inTurn(ok));
    expect(budget.tokens).toBe(400 - 14 + 1);
    await run(inTurn(unreachable(), ok));
    expect(budget.tokens).toBe(400 - 14 + 1);
  });

  test("is each server's own", async () => {
    const step = asInterceptor(retryStep({ sleep: async () => {} }));
    const calls = ["a", "b"].map((server) => callOn(server));
    for (const call of calls) await step(inTurn(unreachable(), ok))(call);
    const [first, second] = calls.map(({ target }) => target.guards.retryBudget);
    expect(first).toBeInstanceOf(TokenBucket);
    expect(second).toBeInstanceOf(TokenBucket);
    expect(first).not.toBe(second);
  });
});

test("after any failure, a call with an unknown outcome is sent again only if the caller or a trusted server allows it", async () => {
  let seed = 42;
  const random = (): number => {
    seed = (Math.imul(seed, 1_664_525) + 1_013_904_223) >>> 0;
    return seed / 2 ** 32;
  };
  const pick = <T>(values: readonly T[]): T => values[Math.floor(random() * values.length)] as T;
  const fail = (): ToolportError => {
    const init = { what: "x", retryable: pick([true, false]), outcome: pick(["unsent", "unknown"] as const) };
    return pick([
      () =>
        new ConnectionError({
          ...init,
          code: pick(["UNREACHABLE", "STREAM_CUT", "CLOSED", "HTTP_STATUS", "CIRCUIT_OPEN"] as const),
          status: pick([undefined, 429, 500, 503]),
          retryAfterMs: pick([undefined, 0, 99_999]),
        }),
      () =>
        new ToolCallError({
          ...init,
          code: pick(["TIMEOUT", "PROTOCOL", "INVALID_OUTPUT", "REFUSED", "OVERLOADED"] as const),
          rpcCode: pick([undefined, -32603, -32602, -32000]),
        }),
      () => new AuthError({ ...init, code: "AUTH_FAILED" }),
      () => new ToolportError({ ...init, code: "UNEXPECTED" }),
    ])();
  };
  let repeated = 0;
  for (let round = 0; round < 5_000; round++) {
    const allowed = { idempotent: pick([true, false, undefined]), trusted: pick([true, false]) };
    const errors: ToolportError[] = [];
    const next: CallHandler = async () => {
      const error = random() < 0.8 ? fail() : undefined;
      if (error === undefined) return ok;
      errors.push(error);
      throw error;
    };
    const { run } = setup({ random });
    const call = callOf({
      options: { idempotent: allowed.idempotent ?? false },
      tool: { ...callOf().tool, annotations: { idempotentHint: true } },
      target: targetOf({ isTrusted: allowed.trusted }),
    });
    const ended = await run(next, call).catch((error) => error);
    const overcome = ended === ok ? errors : errors.slice(0, -1);
    repeated += overcome.length;
    expect(errors.length).toBeLessThanOrEqual(3);
    for (const error of overcome) {
      expect(error.retryable).toBe(true);
      expect(error).not.toBeInstanceOf(AuthError);
      const { status, retryAfterMs } = error as ConnectionError;
      const isAskedBack = status === 503 && retryAfterMs !== undefined;
      if (error.outcome === "unknown")
        expect(allowed.idempotent === true || allowed.trusted || isAskedBack).toBe(true);
    }
    // What may have run on the way makes the whole call one that may have run.
    if (ended !== ok && errors.some((error) => error.outcome === "unknown"))
      expect(ended.outcome).toBe("unknown");
  }
  expect(repeated).toBeGreaterThan(500);
});
