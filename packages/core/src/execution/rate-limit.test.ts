import { ConnectionError } from "@toolport/base";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { cpuTimeMs } from "../../../../test/support/cpu-time.js";
import { callOf, callOn, deferred, resultOf } from "../../../../test/support/tool-call.js";
import { hasLimits, Limiter, type LimitOptions, limitStep } from "./rate-limit.js";
import type { ToolCall } from "./tool-call.js";
import type { ToolResult } from "./tool-result.js";

beforeEach(() => void vi.useFakeTimers());
afterEach(() => {
  // No timer is left.
  expect(vi.getTimerCount()).toBe(0);
  vi.useRealTimers();
});

const ok = resultOf("ok");

/** A server whose responses the test controls, and the order of its requests. */
function setup(options: LimitOptions) {
  const limiter = new Limiter("a", options);
  const asked: unknown[] = [];
  const open: { resolve(result: ToolResult): void; reject(error: unknown): void }[] = [];
  const handler = limitStep<ToolCall>(() => limiter)((call) => {
    asked.push(call.args["n"]);
    const answer = deferred<ToolResult>();
    open.push(answer);
    return answer.promise;
  });
  const run = (n: number, changes: Partial<ToolCall> = {}) => handler(callOf({ args: { n }, ...changes }));
  const answer = async () => {
    open.shift()?.resolve(ok);
    await vi.advanceTimersByTimeAsync(0);
  };
  return { limiter, asked, open, run, answer };
}

describe("concurrency", () => {
  test("runs up to the limit at once, the rest in order as others end", async () => {
    const { asked, run, answer, limiter } = setup({ concurrency: 2 });
    const all = [1, 2, 3, 4].map((n) => run(n));
    await vi.advanceTimersByTimeAsync(0);
    expect(asked).toEqual([1, 2]);
    expect([limiter.active, limiter.queued]).toEqual([2, 2]);
    await answer();
    expect(asked).toEqual([1, 2, 3]);
    for (let count = 0; count < 3; count++) await answer();
    expect(await Promise.all(all)).toEqual([ok, ok, ok, ok]);
    expect([limiter.active, limiter.queued]).toEqual([0, 0]);
  });

  test("a failed call frees its slot too", async () => {
    const { asked, run, open, answer } = setup({ concurrency: 1 });
    const failing = expect(run(1)).rejects.toThrow("broken");
    const second = run(2);
    await vi.advanceTimersByTimeAsync(0);
    open.shift()?.reject(new Error("broken"));
    await failing;
    await vi.advanceTimersByTimeAsync(0);
    expect(asked).toEqual([1, 2]);
    await answer();
    expect(await second).toBe(ok);
  });
});

describe("the queue", () => {
  test("is bounded: one more call fails at once and is not sent", async () => {
    const { asked, run, answer } = setup({ concurrency: 1, maxQueue: 1 });
    const all = [run(1), run(2)];
    await expect(run(3)).rejects.toMatchObject({
      name: "ToolCallError",
      code: "OVERLOADED",
      retryable: true,
      outcome: "unsent",
      server: "a",
      tool: "echo",
    });
    await answer();
    await answer();
    await Promise.all(all);
    expect(asked).toEqual([1, 2]);
  });

  test("has 1000 places by default", async () => {
    const { run, answer } = setup({ concurrency: 1 });
    const all = Array.from({ length: 1_001 }, (_, n) => run(n));
    await expect(run(0)).rejects.toThrow("OVERLOADED");
    for (let count = 0; count < 1_001; count++) await answer();
    await Promise.all(all);
  });

  test("an abort removes a call and rejects it with the caller's reason", async () => {
    const { asked, run, answer, limiter } = setup({ concurrency: 1 });
    const controller = new AbortController();
    const first = run(1);
    const second = expect(run(2, { options: { signal: controller.signal } })).rejects.toBe("enough");
    const third = run(3);
    controller.abort("enough");
    await second;
    expect(limiter.queued).toBe(1);
    await expect(run(4, { options: { signal: controller.signal } })).rejects.toBe("enough");
    await answer();
    await answer();
    await Promise.all([first, third]);
    expect(asked).toEqual([1, 3]);
  });

  test("a call waits no longer than its deadline", async () => {
    const { asked, run, answer, limiter } = setup({ concurrency: 1 });
    const first = run(1);
    const late = { code: "TIMEOUT", phase: "queue", outcome: "unsent", retryable: true };
    const second = expect(run(2, { deadline: performance.now() + 500 })).rejects.toMatchObject(late);
    await vi.advanceTimersByTimeAsync(499);
    expect(limiter.queued).toBe(1);
    await vi.advanceTimersByTimeAsync(1);
    await second;
    expect(limiter.queued).toBe(0);
    await expect(run(3, { deadline: performance.now() - 1 })).rejects.toMatchObject(late);
    await answer();
    await first;
    expect(asked).toEqual([1]);
  });

  test("can be cleared when the port closes", async () => {
    const { run, answer, limiter } = setup({ concurrency: 1, rateLimit: { perSecond: 1 } });
    const first = run(1);
    const second = expect(run(2)).rejects.toThrow("CLOSED");
    await vi.advanceTimersByTimeAsync(0);
    limiter.clear(new ConnectionError({ code: "CLOSED", what: "The port was closed", outcome: "unsent" }));
    await second;
    await answer();
    await first;
  });

  test("runs 10,000 calls with one signal in order, in constant time per call", async () => {
    vi.useRealTimers();
    const time = async (count: number): Promise<number> => {
      const limiter = new Limiter("a", { concurrency: 10, maxQueue: count });
      const seen: number[] = [];
      const handler = limitStep<ToolCall>(() => limiter)(async (call) => {
        seen.push(call.args["n"] as number);
        return ok;
      });
      const { signal } = new AbortController();
      const startedAt = cpuTimeMs();
      const deadline = performance.now() + 60_000;
      await Promise.all(
        Array.from({ length: count }, (_, n) =>
          handler(callOf({ args: { n }, options: { signal }, deadline })),
        ),
      );
      expect(seen).toEqual(Array.from({ length: count }, (_, n) => n));
      return (cpuTimeMs() - startedAt) / count;
    };
    /** The best of three: garbage collection may run in any of them. */
    const best = async (count: number) => Math.min(await time(count), await time(count), await time(count));
    const few = await best(1_000);
    const many = await best(10_000);
    // A queue with linear time per call would be ten times as slow.
    expect(many).toBeLessThan(6 * few + 0.01);
    vi.useFakeTimers();
  });
});

describe("a rate", () => {
  test("allows the burst at once, then one by one", async () => {
    const { asked, run, answer } = setup({ rateLimit: { perSecond: 10, burst: 2 } });
    const all = [1, 2, 3, 4].map((n) => run(n));
    await vi.advanceTimersByTimeAsync(0);
    expect(asked).toEqual([1, 2]);
    await vi.advanceTimersByTimeAsync(99);
    expect(asked).toEqual([1, 2]);
    await vi.advanceTimersByTimeAsync(1);
    expect(asked).toEqual([1, 2, 3]);
    await vi.advanceTimersByTimeAsync(100);
    expect(asked).toEqual([1, 2, 3, 4]);
    for (let count = 0; count < 4; count++) await answer();
    await Promise.all(all);
  });

  test("uses perSecond as the default burst, at least 1", async () => {
    const { asked, run, answer } = setup({ rateLimit: { perSecond: 0.5 } });
    const all = [run(1), run(2)];
    await vi.advanceTimersByTimeAsync(1_999);
    expect(asked).toEqual([1]);
    await vi.advanceTimersByTimeAsync(1);
    expect(asked).toEqual([1, 2]);
    await answer();
    await answer();
    await Promise.all(all);
  });

  test("and concurrency apply together", async () => {
    const { asked, run, answer } = setup({ concurrency: 1, rateLimit: { perSecond: 10, burst: 1 } });
    const all = [run(1), run(2)];
    await vi.advanceTimersByTimeAsync(1_000);
    expect(asked).toEqual([1]);
    await answer();
    expect(asked).toEqual([1, 2]);
    await answer();
    await Promise.all(all);
  });
});

describe("limits", () => {
  test("apply per server; a server without limits has no queue", async () => {
    const limiter = new Limiter("a", { concurrency: 1, maxQueue: 0 });
    const answers = [deferred<ToolResult>(), deferred<ToolResult>()];
    let count = 0;
    const handler = limitStep<ToolCall>(({ tool }) => (tool.server === "a" ? limiter : undefined))(
      () => answers[count++]?.promise ?? Promise.resolve(ok),
    );
    const first = handler(callOn("a"));
    const other = handler(callOn("b"));
    await expect(handler(callOn("a"))).rejects.toThrow("OVERLOADED");
    for (const answer of answers) answer.resolve(ok);
    await Promise.all([first, other]);
  });

  test.each<[LimitOptions, boolean]>([
    [{}, false],
    [{ maxQueue: 5 }, false],
    [{ concurrency: Infinity }, false],
    [{ concurrency: 5 }, true],
    [{ rateLimit: { perSecond: 5 } }, true],
  ])("hasLimits(%j) is %s", (options, expected) => expect(hasLimits(options)).toBe(expected));

  test.each<[LimitOptions, string]>([
    [{ concurrency: 0 }, "concurrency"],
    [{ concurrency: Number.NaN }, "concurrency"],
    [{ rateLimit: { perSecond: 0 } }, "rateLimit.perSecond"],
    [{ rateLimit: { perSecond: Infinity } }, "rateLimit.perSecond"],
    [{ rateLimit: { perSecond: 1, burst: 0.5 } }, "rateLimit.burst"],
    [{ maxQueue: -1 }, "maxQueue"],
  ])("that are invalid are rejected at once: %j", (options, path) => {
    expect(() => new Limiter("a", options)).toThrow(
      expect.objectContaining({ code: "INVALID_CONFIG", issues: [expect.objectContaining({ path })] }),
    );
  });
});
