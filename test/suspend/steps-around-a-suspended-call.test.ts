/** Interceptors, listeners, events, caches and fallbacks around a call that is suspended. */
import {
  type CallEndEvent,
  cacheResults,
  createToolport,
  type Suspended,
  type ToolportEvents,
} from "toolport";
import { expect, test } from "vitest";
import { failure } from "../support/failure.js";
import { openBooking } from "./booking-scene.js";
import { createBookingServer } from "./booking-server.js";

const oslo = { to: "Oslo" };
const seat = { answers: { seat: { action: "accept" as const, content: { seat: "12A" } } } };

test("listeners get each round with its outcome and who answered; events and snapshot() count them without a token", async () => {
  const ended: CallEndEvent[] = [];
  await using scene = openBooking({ listeners: [{ after: (event) => void ended.push(event) }] });
  const news: ToolportEvents["suspension"][] = [];
  scene.toolport.on("suspension", (event) => void news.push(event));
  const { token } = (await scene.toolport.callTool("travel__book", oslo, { suspend: true })) as Suspended;
  await scene.toolport.resume(token, { ...seat, answeredBy: "ada" });
  const other = (await scene.toolport.callTool("travel__book", oslo, { suspend: true })) as Suspended;
  await scene.toolport.discard(other.token);
  expect(ended.map(({ outcome, answeredBy }) => ({ outcome, answeredBy }))).toEqual([
    { outcome: "suspended", answeredBy: undefined },
    { outcome: "ok", answeredBy: "ada" },
    { outcome: "suspended", answeredBy: undefined },
  ]);
  const common = { server: "travel", tool: "travel__book", reason: "input" };
  expect(news).toEqual([
    { ...common, phase: "suspended" },
    { ...common, phase: "resumed", answeredBy: "ada" },
    { ...common, phase: "suspended" },
    { ...common, phase: "discarded" },
  ]);
  expect(scene.toolport.snapshot().suspensions).toEqual({ suspended: 2, resumed: 1, discarded: 1 });
  expect(JSON.stringify([ended, news, scene.toolport.snapshot()])).not.toContain("tpc1.");
});

test("interceptors see every round, and cannot change the arguments of a later one", async () => {
  let calls = 0;
  await using scene = openBooking({
    interceptors: [
      (next) => async (call) => {
        calls += 1;
        const result = await next({ ...call, args: { to: `${call.args["to"]} ${calls}` } });
        return { ...result, text: result.text.toUpperCase() };
      },
    ],
  });
  const out = (await scene.toolport.callTool("travel__book", oslo, { suspend: true })) as Suspended;
  expect(out.args).toEqual({ to: "Oslo 1" });
  expect(await scene.toolport.resume(out.token, seat)).toMatchObject({
    text: "BOOKED OSLO 1, SEAT 12A, MEAL NONE",
  });
});

test("an interceptor that builds a new result loses no suspension", async () => {
  const outcomes: string[] = [];
  await using scene = openBooking({
    listeners: [{ after: ({ outcome }) => void outcomes.push(outcome) }],
    interceptors: [
      (next) => async (call) => {
        const { text, server } = await next(call);
        return {
          text,
          content: [{ type: "text", text }],
          isError: false,
          server,
          attempts: 1,
          durationMs: 0,
        };
      },
    ],
  });
  const suspend = { key: "order 4" };
  const out = (await scene.toolport.callTool("travel__book", oslo, { suspend })) as Suspended;
  expect(out).toMatchObject({ suspended: true, reason: "input" });
  expect(await scene.toolport.resume(out.token, seat)).toMatchObject({
    text: "booked Oslo, seat 12A, meal none",
  });
  expect(outcomes).toEqual(["suspended", "ok"]);
  expect(scene.seen.requests).toBe(2);
});

test("an approval is valid for the approved arguments only", async () => {
  let tenant = "a";
  await using scene = openBooking({
    approve: { when: "always" },
    interceptors: [(next) => (call) => next({ ...call, args: { to: `${call.args["to"]} ${tenant}` } })],
  });
  const first = (await scene.toolport.callTool("travel__note", oslo, { suspend: true })) as Suspended;
  expect(first.args).toEqual({ to: "Oslo a" });
  tenant = "b";
  const second = (await scene.toolport.resume(first.token, { approve: true })) as Suspended;
  expect(second).toMatchObject({ reason: "approval", args: { to: "Oslo b" } });
  expect(scene.seen.requests).toBe(0);
  expect(await scene.toolport.resume(second.token, { approve: true })).toMatchObject({
    text: "noted Oslo b",
  });
});

test("a cache neither keeps a suspension nor answers a person", async () => {
  await using scene = openBooking({ interceptors: [cacheResults({ tools: ["travel__*"], ttlMs: 60_000 })] });
  const call = async () =>
    (await scene.toolport.callTool("travel__book", oslo, { suspend: true })) as Suspended;
  const [first, second] = [await call(), await call()];
  expect(second.token).not.toBe(first.token);
  await scene.toolport.resume(first.token, seat);
  await scene.toolport.resume(second.token, seat);
  expect(scene.seen.booked).toHaveLength(2);
});

test("a fallback server that asks gets the answer", async () => {
  const main = createBookingServer();
  const spare = createBookingServer();
  const toolport = createToolport({
    mcpServers: { main: { ...main.server.memory(), fallback: ["spare"] }, spare: spare.server.memory() },
  });
  await toolport.connect();
  await toolport.disconnect("main");
  const out = (await toolport.callTool("main__book", oslo, { suspend: true })) as Suspended;
  expect(out).toMatchObject({ server: "spare", tool: "main__book" });
  expect(await toolport.resume(out.token, seat)).toMatchObject({ isError: false, server: "spare" });
  expect([main.seen.requests, spare.seen.requests]).toEqual([0, 2]);
  await toolport.close();
  await main.server.close();
  await spare.server.close();
});

test("deferred tools suspend like others", async () => {
  await using scene = openBooking({ deferTools: true });
  await scene.toolport.connect();
  const out = (await scene.toolport.callTool(
    "call_tool",
    { name: "travel__book", arguments: oslo },
    { suspend: true },
  )) as Suspended;
  expect(out).toMatchObject({ tool: "travel__book", args: oslo });
  expect(await scene.toolport.resume(out.token, seat)).toMatchObject({ isError: false });
  expect(await scene.toolport.callTool("search_tools", { query: "book" }, { suspend: true })).toMatchObject({
    isError: false,
  });
});

test("invalid options, arguments and answers fail without a request, and keep the token", async () => {
  await using scene = openBooking();
  const call = (suspend: object, args: object = oslo) =>
    failure(scene.toolport.callTool("travel__book", args as never, { suspend }));
  for (const suspend of [{ ttlMs: 0 }, { ttlMs: 31 * 24 * 3_600_000 }, { ttlMs: Number.NaN }, { key: "" }])
    expect(await call(suspend)).toMatchObject({ code: "INVALID_ARGUMENTS", outcome: "unsent" });
  expect(await call({}, { to: 1n })).toMatchObject({ code: "INVALID_ARGUMENTS" });
  expect(await call({ requireDurable: true })).toMatchObject({ code: "NOT_OFFERED", outcome: "unsent" });
  expect(scene.seen.requests).toBe(0);

  const { token } = (await scene.toolport.callTool("travel__book", oslo, { suspend: true })) as Suspended;
  const accept = (content: object) => ({ answers: { seat: { action: "accept", content } } });
  for (const [answer, path] of [
    [{}, "seat"],
    [{ approve: true }, "approve"],
    [accept({}), "seat.content.seat"],
    [accept({ seat: "1" }), "seat.content.seat"],
    [accept({ seat: "12A", window: true }), "seat.content.window"],
    [{ answers: { seat: { action: "yes" } } }, "seat.action"],
    [{ answers: { ...seat.answers, other: { action: "cancel" } } }, "other"],
  ] as const) {
    const error = await failure(scene.toolport.resume(token, answer as never));
    expect(error).toMatchObject({ code: "INVALID_ARGUMENTS", outcome: "unsent" });
    expect((error as { issues?: unknown }).issues).toContainEqual(expect.objectContaining({ path }));
    expect(error.message).not.toContain("12A");
  }
  expect(scene.seen.requests).toBe(1);
  expect(await scene.toolport.resume(token, seat)).toMatchObject({ isError: false });
});
