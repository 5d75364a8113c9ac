/** Suspended calls are sent at most once and reported honestly when stores, clocks, answers and servers misbehave. */
import { createToolport, memoryStore, type Store, type Suspended, type ToolportOptions } from "toolport";
import { createTestServer } from "toolport/testing";
import { afterEach, describe, expect, test, vi } from "vitest";
import { startTaskServer } from "../fixtures/servers/task-server.js";
import { failure } from "../support/failure.js";
import { openBooking } from "./booking-scene.js";
import { createBookingServer } from "./booking-server.js";

const SEAT = { answers: { seat: { action: "accept", content: { seat: "12A" } } } } as const;
const KEYED = { suspend: { key: "order 1" } } as const;

function open(options: ToolportOptions = {}) {
  const scene = openBooking(options);
  const { toolport } = scene;
  return {
    ...scene,
    book: async (args: Record<string, unknown> = { to: "Oslo" }, suspend: object | true = true) =>
      (await toolport.callTool("travel__book", args, { suspend })) as Suspended,
    note: (suspend: object | true = true) => toolport.callTool("travel__note", { to: "Oslo" }, { suspend }),
  };
}

/** A store on which single writes fail, after or before they are made. */
function brokenStore(fails: (key: string, value: unknown) => "before" | "after" | undefined): Store {
  const store = memoryStore();
  return {
    ...store,
    async put(key, value, options) {
      const when = key.startsWith("suspended/") ? fails(key, value) : undefined;
      if (when === "before") throw new Error("the store is down");
      const version = await store.put(key, value, options);
      if (when === "after") throw new Error("the store went down");
      return version;
    },
  };
}

/** Its tool `slow` waits for `finish()`. */
function createSlowServer() {
  let [begin, finish] = [() => {}, (_text: string) => {}];
  const begun = new Promise<void>((resolve) => {
    begin = resolve;
  });
  const finished = new Promise<string>((resolve) => {
    finish = resolve;
  });
  const server = createTestServer({
    tools: {
      slow: {
        handler() {
          begin();
          return finished;
        },
      },
    },
  });
  return { server, begun, finish };
}

const stateOf = (value: unknown) => (value as { state?: string }).state;

afterEach(() => void vi.useRealTimers());

describe("the store", () => {
  test("fails at the end: the result is returned, and the same key is not sent again", async () => {
    const store = brokenStore((_key, value) => (stateOf(value) === "done" ? "before" : undefined));
    await using scene = open({ store });
    expect(await scene.note(KEYED.suspend)).toMatchObject({ text: "noted Oslo" });
    vi.useFakeTimers({ toFake: ["Date"], now: Date.now() + 11_000 });
    expect(await failure(scene.note(KEYED.suspend))).toMatchObject({ code: "OUTCOME_UNKNOWN" });
    expect(scene.seen.requests).toBe(1);
  });

  test("fails at the mark: nothing is sent", async () => {
    let isDown = false;
    const store = brokenStore((_key, value) =>
      isDown && stateOf(value) === "sending" ? "before" : undefined,
    );
    await using scene = open({ store });
    const { token } = await scene.book();
    isDown = true;
    await failure(scene.toolport.resume(token, SEAT));
    await failure(scene.note(KEYED.suspend));
    expect(scene.seen).toEqual({ requests: 1, booked: [] });
    isDown = false;
    expect(await scene.toolport.resume(token, SEAT)).toMatchObject({ isError: false });
    expect(scene.seen.requests).toBe(2);
  });

  test("writes a renewal and reports a failure: the outcome is saved nevertheless", async () => {
    vi.useFakeTimers({ toFake: ["setInterval", "clearInterval"] });
    let marks = 0;
    const store = brokenStore((_key, value) =>
      stateOf(value) === "sending" && ++marks > 1 ? "after" : undefined,
    );
    const { server: slow, begun, finish } = createSlowServer();
    await using server = slow;
    await using toolport = createToolport({ mcpServers: { it: server.memory() }, store });
    const calling = toolport.callTool("it__slow", {}, KEYED);
    await begun;
    await vi.advanceTimersByTimeAsync(3_100);
    await vi.waitFor(() => expect(marks).toBe(2));
    finish("done");
    expect(await calling).toMatchObject({ text: "done" });
    expect(await toolport.callTool("it__slow", {}, KEYED)).toMatchObject({ text: "done" });
    expect(server.calls).toHaveLength(1);
    expect(vi.getTimerCount()).toBe(0);
  });

  test("keeps a record longer than this clock says: the key is still in use", async () => {
    await using scene = open();
    const first = await scene.book({ to: "Oslo" }, { key: "order 1", ttlMs: 60_000 });
    vi.useFakeTimers({ toFake: ["Date"], now: Date.now() });
    const store = memoryStore();
    await using other = open({
      store: { ...store, put: (key, value, { ttlMs: _, ...rest } = {}) => store.put(key, value, rest) },
    });
    const kept = await other.book({ to: "Oslo" }, { key: "order 1", ttlMs: 60_000 });
    vi.setSystemTime(Date.now() + 120_000);
    expect((await other.book({ to: "Oslo" }, { key: "order 1", ttlMs: 60_000 })).token).toBe(kept.token);
    expect(await failure(other.toolport.resume(kept.token, SEAT))).toMatchObject({
      code: "SUSPENSION_UNKNOWN",
    });
    expect(other.seen.requests).toBe(1);
    expect(await failure(scene.toolport.resume(first.token, SEAT))).toMatchObject({
      code: "SUSPENSION_UNKNOWN",
    });
  });
});

test("a call that takes longer than the life of its key is not sent twice", async () => {
  const { server: slow, begun, finish } = createSlowServer();
  await using server = slow;
  await using toolport = createToolport({ mcpServers: { it: server.memory() } });
  const call = () => toolport.callTool("it__slow", {}, { suspend: { key: "k", ttlMs: 1 } });
  const first = call();
  await begun;
  const second = call();
  await new Promise((resolve) => setTimeout(resolve, 50));
  finish("done");
  expect(await Promise.all([first, second])).toMatchObject([{ text: "done" }, { text: "done" }]);
  expect(server.calls).toHaveLength(1);
});

test("a port that closes while it waits for another one stops waiting", async () => {
  const store = memoryStore();
  const { server: slow, begun } = createSlowServer();
  await using server = slow;
  const mcpServers = { it: server.memory() };
  const toolport = createToolport({ mcpServers, store });
  const other = createToolport({ mcpServers, store });
  const first = failure(toolport.callTool("it__slow", {}, KEYED));
  await begun;
  const waiting = failure(other.callTool("it__slow", {}, KEYED));
  await other.connect();
  await other.close();
  expect(await waiting).toMatchObject({ code: "CLOSED", outcome: "unsent" });
  await toolport.close();
  expect(await first).toMatchObject({ outcome: "unknown" });
  await using later = createToolport({ mcpServers, store });
  expect(await failure(later.callTool("it__slow", {}, KEYED))).toMatchObject({ code: "OUTCOME_UNKNOWN" });
  expect(server.calls).toHaveLength(1);
});

describe("arguments", () => {
  test("dates and undefined members are the same call again", async () => {
    await using scene = open();
    const args = { to: "Oslo", at: new Date(0), no: undefined, list: [undefined, 1] };
    const first = await scene.book(args, { key: "k" });
    expect(first.args).toEqual({ to: "Oslo", at: "1970-01-01T00:00:00.000Z", list: [null, 1] });
    expect((await scene.book(args, { key: "k" })).token).toBe(first.token);
  });

  test("what JSON cannot represent is INVALID_ARGUMENTS and unsent", async () => {
    await using scene = open();
    const circular: Record<string, unknown> = {};
    circular["self"] = circular;
    for (const value of [1n, Number.NaN, circular, () => 1])
      for (const suspend of [true, { key: "k" }] as const)
        expect(await failure(scene.book({ to: "Oslo", value }, suspend))).toMatchObject({
          code: "INVALID_ARGUMENTS",
          outcome: "unsent",
        });
    expect(scene.seen.requests).toBe(0);
  });
});

describe("the caller's signal", () => {
  test("aborts before the call is sent: the token stays valid", async () => {
    await using scene = open();
    const { token } = await scene.book();
    const reason = new Error("enough");
    const signal = AbortSignal.abort(reason);
    expect(await failure<Error>(scene.toolport.resume(token, SEAT, { signal }))).toBe(reason);
    expect(scene.seen.requests).toBe(1);
    expect(await scene.toolport.resume(token, SEAT)).toMatchObject({ isError: false });
  });

  test("aborts after the call was sent: OUTCOME_UNKNOWN", async () => {
    const abort = new AbortController();
    await using scene = open({
      interceptors: [
        (next) => (call) => {
          const running = next(call);
          if (call.options.context === "abort") queueMicrotask(() => abort.abort(new Error("enough")));
          return running;
        },
      ],
    });
    const { token } = await scene.book();
    const resuming = scene.toolport.resume(token, SEAT, { signal: abort.signal, context: "abort" });
    expect(await failure<Error>(resuming)).toMatchObject({ message: "enough" });
    expect(await failure(scene.toolport.resume(token, SEAT))).toMatchObject({ code: "OUTCOME_UNKNOWN" });
    expect(scene.seen.requests).toBeLessThanOrEqual(2);
  });
});

describe("at most once", () => {
  test.each([503, 500, 502])(
    "a round that is answered with %s and Retry-After is not sent again",
    async (status) => {
      const { server, seen } = createBookingServer();
      await using _ = server;
      let isBroken = false;
      let sent = 0;
      const http = await server.http({
        async intercept(request) {
          if (!isBroken || !(await request.clone().text()).includes("inputResponses")) return undefined;
          sent += 1;
          return new Response(null, { status, headers: { "retry-after": "0" } });
        },
      });
      await using toolport = createToolport({ mcpServers: { travel: http.entry } });
      const { token } = (await toolport.callTool(
        "travel__book",
        { to: "Oslo" },
        { suspend: true },
      )) as Suspended;
      isBroken = true;
      expect(await failure(toolport.resume(token, SEAT))).toMatchObject({
        code: "HTTP_STATUS",
        outcome: "unknown",
      });
      expect(sent).toBe(1);
      isBroken = false;
      expect(await failure(toolport.resume(token, SEAT))).toMatchObject({ code: "OUTCOME_UNKNOWN" });
      expect(await toolport.resume(token, { ...SEAT, again: true })).toMatchObject({ isError: false });
      expect(seen.requests).toBe(2);
    },
  );

  test("a call whose task cannot be polled is not unsent, and its key sends no second task", async () => {
    await using server = await startTaskServer("modern");
    server.onTask = () => {
      server.isAway = true;
    };
    await using toolport = createToolport({ mcpServers: { jobs: server.entry }, retry: false });
    const call = () => toolport.callTool("jobs__work", { text: "x" }, { ...KEYED, timeoutMs: 300 });
    expect(await failure(call())).toMatchObject({ outcome: "unknown" });
    server.isAway = false;
    expect(await failure(call())).toMatchObject({ code: "OUTCOME_UNKNOWN" });
    expect(server.made).toHaveLength(1);
  });
});
