import { Emitter } from "@toolport/base";
import { expect, test, vi } from "vitest";
import { asInterceptor, callOf, inTurn, resultOf, unreachable } from "../../../../test/support/tool-call.js";
import {
  type CallEndEvent,
  type CallListener,
  type CallNews,
  type CallProgressNews,
  cancelCall,
  createCallObserver,
  listenerStep,
} from "./listeners.js";
import type { CallHandler } from "./tool-call.js";

const ok = resultOf("ok");

function setup(...listeners: CallListener[]) {
  const report = vi.fn();
  let now = 0;
  const around = createCallObserver({ listeners, report, now: () => (now += 5) });
  return {
    report,
    around,
    run: (next: CallHandler, call = callOf()) => asInterceptor(listenerStep(around))(next)(call),
  };
}

const recorder = () => {
  const events: unknown[] = [];
  const listener: CallListener = {
    before: (event) => void events.push(["before", event]),
    after: (event) => void events.push(["after", event]),
  };
  return { events, listener };
};

test("are called before and after a tool call, with all details", async () => {
  const { events, listener } = recorder();
  const call = callOf({
    args: { city: "Oslo" },
    options: { context: { user: 1 }, meta: { tenant: "x" } },
    principal: "p",
  });
  const { run } = setup(listener);
  const answered = await run(async ({ onSent }) => {
    expect(events).toHaveLength(0);
    const sent = { ...call, args: { city: "Oslo", tenant: "acme" } };
    const repaired = [{ path: "$.after", change: "left out" }] as const;
    onSent?.(sent, repaired);
    expect(events).toHaveLength(1);
    onSent?.(sent, repaired);
    expect(events).toHaveLength(1);
    call.attempts.push({ server: "a", durationMs: 1, error: unreachable() }, { server: "b", durationMs: 1 });
    return resultOf("ok", { server: "b" });
  }, call);
  const repaired = [{ path: "$.after", change: "left out" }];
  const common = {
    kind: "tool",
    name: "a__echo",
    message: { name: "echo", arguments: { city: "Oslo", tenant: "acme" }, _meta: { tenant: "x" } },
    given: call.args,
    context: { user: 1 },
    principal: "p",
  };
  expect(events).toEqual([
    ["before", { ...common, server: "a" }],
    [
      "after",
      { ...common, server: "b", attempts: 2, durationMs: 5, outcome: "ok", result: answered, repaired },
    ],
  ]);
});

test("get the original arguments of a call that is not sent", async () => {
  const { events, listener } = recorder();
  const call = callOf({ args: { city: "Oslo" } });
  await setup(listener).run(async () => {
    expect(events).toEqual([]);
    return resultOf("cached");
  }, call);
  const message = { name: "echo", arguments: call.args };
  expect(events).toEqual([
    ["before", expect.objectContaining({ message })],
    ["after", expect.objectContaining({ message, outcome: "ok" })],
  ]);
  expect(events[0]).not.toHaveProperty("[1].given");
});

test.each<[string, CallHandler, Partial<CallEndEvent>]>([
  ["ok", inTurn(ok), { outcome: "ok", result: ok }],
  ["tool_error", inTurn(resultOf("x", { isError: true })), { outcome: "tool_error" }],
  ["error", inTurn(unreachable()), { outcome: "error", error: unreachable(), attempts: 0, server: "a" }],
])("get the outcome: %s", async (_name, next, expected) => {
  const after = vi.fn();
  await setup({ after })
    .run(next)
    .catch(() => {});
  expect(after).toHaveBeenCalledExactlyOnceWith(expect.objectContaining(expected));
});

test("that throw or reject are reported and do not affect the call or other listeners", async () => {
  const { events, listener } = recorder();
  const bad: CallListener = {
    before() {
      throw new Error("before");
    },
    async after() {
      throw new Error("after");
    },
  };
  const hostile: CallListener = {
    before: (event) => {
      (event as { server: string }).server = "changed";
    },
  };
  const { run, report } = setup(bad, hostile, listener);
  expect(await run(inTurn(ok))).toBe(ok);
  await Promise.resolve();
  expect(report.mock.calls.map(([error]) => (error as Error).message)).toEqual([
    "before",
    expect.stringContaining("read only"),
    "after",
  ]);
  expect(events).toHaveLength(2);
  const error = unreachable();
  await expect(run(inTurn(error))).rejects.toBe(error);
});

test("do not delay calls", async () => {
  const never = () => new Promise<never>(() => {});
  expect(await setup({ before: never, after: never }).run(inTurn(ok))).toBe(ok);
});

test("are called with their `this`", async () => {
  class Counter implements CallListener {
    count = 0;
    after() {
      this.count++;
    }
  }
  const counter = new Counter();
  await setup(counter).run(inTurn(ok));
  expect(counter.count).toBe(1);
});

test("are called for prompts and resources too", async () => {
  const after = vi.fn();
  const { around } = setup({ after });
  const event = { kind: "resource", server: "a", uri: "file:///x", message: { uri: "file:///x" } } as const;
  expect(await around(event, async () => "text")).toBe("text");
  expect(after).toHaveBeenCalledExactlyOnceWith({
    ...event,
    attempts: 1,
    durationMs: 5,
    outcome: "ok",
    result: "text",
  });
});

test("a listener of the event `call` gets later calls, with their attempts", async () => {
  const news: CallNews[] = [];
  let isWatched = false;
  let now = 0;
  const around = createCallObserver({
    listeners: [],
    emitter: {
      has: () => isWatched,
      emit: (_event: string, emitted: object) => void news.push(emitted as CallNews),
    },
    report: () => {},
    now: () => (now += 5),
  });
  const step = asInterceptor(listenerStep(around));
  await step(inTurn(ok))(callOf());
  expect(news).toEqual([]);
  isWatched = true;
  const call = callOf({ args: { city: "Oslo" } });
  const error = unreachable();
  await step(async () => {
    call.attempts.push({ server: "a", durationMs: 1, error }, { server: "b", durationMs: 1 });
    return resultOf("ok", { server: "b" });
  })(call);
  expect(news).toMatchObject([
    { phase: "start", id: 1, kind: "tool", server: "a", message: { arguments: { city: "Oslo" } } },
    {
      phase: "end",
      id: 1,
      server: "b",
      outcome: "ok",
      durationMs: 5,
      tries: [{ server: "a", error }, { server: "b" }],
    },
  ]);
});

interface Events {
  call: CallNews;
  progress: CallProgressNews;
}

function watched() {
  const emitter = new Emitter<Events>(() => ({ report: () => {} }));
  const around = createCallObserver({ listeners: [], emitter, report: () => {} });
  return {
    emitter,
    run: (next: CallHandler, call = callOf()) => asInterceptor(listenerStep(around))(next)(call),
  };
}

test("a listener of the event `progress` gets the progress of a call, which its caller gets too", async () => {
  const { emitter, run } = watched();
  const news: CallProgressNews[] = [];
  emitter.on("progress", (event) => void news.push(event));
  const onProgress = vi.fn();
  const call = callOf({ options: { onProgress }, principal: "p" });
  await run(async ({ options }) => {
    options.onProgress?.({ progress: 1, total: 2, message: "half" });
    return ok;
  }, call);
  const progress = { progress: 1, total: 2, message: "half" };
  expect(news).toEqual([{ id: 1, server: "a", name: "a__echo", principal: "p", ...progress }]);
  expect(onProgress.mock.calls).toEqual([[progress]]);
});

test("without a listener of `progress`, calls keep their options and cannot be cancelled", async () => {
  const { emitter, run } = watched();
  const news: CallNews[] = [];
  emitter.on("call", (event) => void news.push(event));
  const call = callOf({ options: { context: 1 } });
  await run(async ({ options }) => {
    expect(options).toBe(call.options);
    return ok;
  }, call);
  expect(cancelCall(news[0]!, "no")).toBe(false);
});

test("a watched call can be cancelled; copies of its event cannot do that", async () => {
  const { emitter, run } = watched();
  emitter.on("progress", () => {});
  emitter.on("call", (event) => {
    if (event.phase === "end") return;
    expect(cancelCall({ ...event }, "no")).toBe(false);
    structuredClone(event);
    expect(cancelCall(event, "The user cancelled it")).toBe(true);
  });
  const calling = run(async (call) => {
    call.onSent?.(call, undefined);
    call.options.signal?.throwIfAborted();
    return ok;
  });
  await expect(calling).rejects.toMatchObject({
    code: "REFUSED",
    server: "a",
    tool: "echo",
    outcome: "unknown",
  });
});

test("the signal of the caller still ends a watched call, with its reason", async () => {
  const { emitter, run } = watched();
  emitter.on("progress", () => {});
  const caller = new AbortController();
  const reason = new Error("enough");
  const ended = (signal: AbortSignal) =>
    run(
      async ({ options }) => {
        caller.abort(reason);
        options.signal?.throwIfAborted();
        return ok;
      },
      callOf({ options: { signal } }),
    );
  await expect(ended(caller.signal)).rejects.toBe(reason);
  await expect(ended(caller.signal)).rejects.toBe(reason);
});
