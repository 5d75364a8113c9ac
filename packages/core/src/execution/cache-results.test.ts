import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import {
  callOf,
  callOn,
  deferred,
  inTurn,
  resultOf,
  unreachable,
} from "../../../../test/support/tool-call.js";
import { TRUNCATED_META_KEY } from "./artifacts/result-payload.js";
import { cacheResults } from "./cache-results.js";
import type { CallHandler, ToolCall } from "./tool-call.js";
import type { ToolResult } from "./tool-result.js";

beforeEach(() => void vi.useFakeTimers());
afterEach(() => {
  expect(vi.getTimerCount()).toBe(0);
  vi.useRealTimers();
});

const ok = resultOf("ok");
const named = (name: string, changes: Partial<ToolCall> = {}): ToolCall => {
  const call = callOf(changes);
  return { ...call, tool: { ...call.tool, name, sourceName: name } };
};

function setup(next: CallHandler = inTurn(ok), options: Partial<Parameters<typeof cacheResults>[0]> = {}) {
  const handler = vi.fn(next);
  const run = cacheResults({ tools: ["a__*"], ttlMs: 1_000, ...options })(handler);
  return { handler, run };
}

test("returns the cached result of an equal call, without an attempt", async () => {
  const { handler, run } = setup();
  expect(await run(callOf())).toBe(ok);
  await vi.advanceTimersByTimeAsync(500);
  const call = callOf({ startedAt: performance.now() - 7 });
  expect(await run(call)).toEqual({ ...ok, attempts: 0, durationMs: 7 });
  expect(handler).toHaveBeenCalledTimes(1);
});

test("results expire", async () => {
  const { handler, run } = setup();
  await run(callOf());
  await vi.advanceTimersByTimeAsync(999);
  await run(callOf());
  expect(handler).toHaveBeenCalledTimes(1);
  await vi.advanceTimersByTimeAsync(1);
  await run(callOf());
  expect(handler).toHaveBeenCalledTimes(2);
});

test("caches only the named tools", async () => {
  const { handler, run } = setup(undefined, { tools: ["a__read", "b__get_*"] });
  for (const name of ["a__read", "a__read", "b__get_x", "b__get_x"]) await run(named(name));
  expect(handler).toHaveBeenCalledTimes(2);
  for (const name of ["a__write", "a__write", "b__put_x"]) await run(named(name));
  expect(handler).toHaveBeenCalledTimes(5);
});

describe("two calls are equal", () => {
  const asks = async (one: ToolCall, other: ToolCall): Promise<number> => {
    const { handler, run } = setup();
    await run(one);
    await run(other);
    return handler.mock.calls.length;
  };

  test("regardless of the order of their arguments", async () => {
    const one = callOf({ args: { a: 1, b: { c: [1, 2], d: null } } });
    const other = callOf({ args: { b: { d: null, c: [1, 2] }, a: 1 } });
    expect(await asks(one, other)).toBe(1);
  });

  test.each<[string, ToolCall]>([
    ["arguments", callOf({ args: { a: 2 } })],
    ["a type of an argument", callOf({ args: { a: "1" } })],
    ["a server", callOn("b", { args: { a: 1 } })],
    ["a principal", callOf({ args: { a: 1 }, principal: "user" })],
    ["headers", callOf({ args: { a: 1 }, options: { headers: { authorization: "Bearer x" } } })],
    ["_meta", callOf({ args: { a: 1 }, options: { meta: { tenant: "x" } } })],
  ])("unless they differ in %s", async (_name, other) => {
    expect(await asks(callOf({ args: { a: 1 } }), other)).toBe(2);
  });

  test("unless their arguments are not JSON", async () => {
    const circle: Record<string, unknown> = {};
    circle["self"] = circle;
    expect(await asks(callOf({ args: circle }), callOf({ args: circle }))).toBe(2);
  });
});

test.each<[string, ToolResult | Error]>([
  ["a result with isError", resultOf("failed", { isError: true })],
  ["a truncated result", resultOf("cut", { _meta: { [TRUNCATED_META_KEY]: {} } })],
  ["a result with artifacts", resultOf("note", { artifacts: [] })],
  ["a failure", unreachable()],
])("%s is not cached", async (_name, outcome) => {
  const { handler, run } = setup(inTurn(outcome));
  for (let count = 0; count < 2; count++)
    expect(await run(callOf()).catch((error: unknown) => error)).toBe(outcome);
  expect(handler).toHaveBeenCalledTimes(2);
});

test("changing a result does not affect other callers", async () => {
  const { run } = setup(async () => resultOf("ok"));
  for (let count = 0; count < 3; count++) {
    const { content } = await run(callOf());
    expect(content).toEqual([{ type: "text", text: "ok" }]);
    (content as unknown[]).length = 0;
  }
});

test("evicts the least recently used result first", async () => {
  const { handler, run } = setup(undefined, { max: 2 });
  const ask = (n: number) => run(callOf({ args: { n } }));
  for (const n of [1, 2, 1, 3]) await ask(n);
  expect(handler).toHaveBeenCalledTimes(3);
  await ask(1);
  expect(handler).toHaveBeenCalledTimes(3);
  await ask(2);
  expect(handler).toHaveBeenCalledTimes(4);
});

test("every pipeline has its own cache", async () => {
  const interceptor = cacheResults({ tools: ["*"], ttlMs: 1_000 });
  const [one, other] = [inTurn(ok), inTurn(ok)];
  await interceptor(one)(callOf());
  await interceptor(other)(callOf());
  expect([one.calls.length, other.calls.length]).toEqual([1, 1]);
});

describe("equal calls at the same time", () => {
  /** Responses that the test controls, one per request. */
  function open() {
    const answers: ReturnType<typeof deferred<ToolResult>>[] = [];
    const setUp = setup(() => {
      const answer = deferred<ToolResult>();
      answers.push(answer);
      return answer.promise;
    });
    return { ...setUp, answers };
  }

  test("share one request", async () => {
    const { run, handler, answers } = open();
    const calls = [run(callOf()), run(callOf()), run(callOf())];
    await vi.advanceTimersByTimeAsync(0);
    answers[0]?.resolve(ok);
    expect((await Promise.all(calls)).map(({ text, attempts }) => [text, attempts])).toEqual([
      ["ok", 1],
      ["ok", 0],
      ["ok", 0],
    ]);
    expect(handler).toHaveBeenCalledTimes(1);
  });

  test("send their own request if the shared one fails or is aborted", async () => {
    const { run, handler, answers } = open();
    const first = expect(run(callOf())).rejects.toBe("my own reason");
    const second = run(callOf());
    answers[0]?.reject("my own reason");
    await first;
    await vi.advanceTimersByTimeAsync(0);
    answers[1]?.resolve(ok);
    expect(await second).toBe(ok);
    expect(handler).toHaveBeenCalledTimes(2);
  });

  test("keep their own signal and deadline", async () => {
    const { run, answers } = open();
    const controller = new AbortController();
    const first = run(callOf());
    const aborted = expect(run(callOf({ options: { signal: controller.signal } }))).rejects.toBe("enough");
    const late = expect(run(callOf({ deadline: performance.now() + 50 }))).rejects.toThrow("TIMEOUT");
    controller.abort("enough");
    await aborted;
    await vi.advanceTimersByTimeAsync(50);
    await late;
    answers[0]?.resolve(ok);
    expect(await first).toBe(ok);
  });
});
