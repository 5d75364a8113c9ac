import { expect, test } from "vitest";
import type { RequestOrigin } from "./request-origin.js";
import { MAX_WAITING, RequestDesk, RequestGate } from "./request-responder.js";

function openDesk() {
  const origins: RequestOrigin[] = [];
  const reports: unknown[] = [];
  const finish: (() => void)[] = [];
  const wait = (_params: unknown, origin: RequestOrigin) => {
    origins.push(origin);
    return new Promise<Record<string, unknown>>((resolve) => finish.push(() => resolve({})));
  };
  const desk = new RequestDesk({
    server: "shop",
    answers: { "elicitation/create": wait, "sampling/createMessage": wait, "roots/list": wait },
    report: (error) => reports.push(error),
  });
  return { desk, origins, reports, finish };
}

const roots = { method: "roots/list" };
const turn = () => new Promise((resolve) => setImmediate(resolve));

test("a call that fails ends what was asked on its behalf, even if the server does not say so", async () => {
  const { desk, origins, reports } = openDesk();
  const call = desk.beginCall("buy");
  const asking = desk.answerMessage(roots, new AbortController().signal);
  const refused = expect(asking).rejects.toMatchObject({ code: -32603 });
  await turn();
  expect(origins).toMatchObject([{ server: "shop", tool: "buy" }]);
  desk.endCall(call, new Error("aborted"));
  await refused;
  expect(origins[0]?.signal.aborted).toBe(true);
  expect(reports).toEqual([]);
});

test("a call that ends well leaves the user alone", async () => {
  const { desk, origins, finish } = openDesk();
  const call = desk.beginCall("buy");
  const asking = desk.answerMessage(roots, new AbortController().signal);
  await turn();
  desk.endCall(call);
  expect(origins[0]?.signal.aborted).toBe(false);
  finish[0]?.();
  expect(await asking).toEqual({});
});

test("a server that takes its request back ends the callback", async () => {
  const { desk, origins } = openDesk();
  const server = new AbortController();
  const asking = desk.answerMessage(roots, server.signal);
  const refused = expect(asking).rejects.toMatchObject({ code: -32603 });
  await turn();
  server.abort(new Error("cancelled"));
  await refused;
  expect(origins[0]?.signal.aborted).toBe(true);
  await expect(desk.answerMessage(roots, server.signal)).rejects.toMatchObject({ code: -32603 });
  expect(origins).toHaveLength(1);
});

test("kinds do not wait for each other", async () => {
  const { desk, origins, finish } = openDesk();
  const kinds = ["roots/list", "elicitation/create", "sampling/createMessage"];
  const all = [...kinds, ...kinds].map((method) => {
    return desk.answerMessage({ method }, new AbortController().signal);
  });
  await turn();
  expect(origins).toHaveLength(3);
  for (let index = 0; index < all.length; index += 1) {
    finish[index]?.();
    await turn();
  }
  expect(await Promise.all(all)).toHaveLength(6);
});

test("the time the server waited for us is known", async () => {
  const { desk, finish } = openDesk();
  expect(desk.lastOwedAt()).toBe(0);
  const asking = desk.answerMessage(roots, new AbortController().signal);
  await turn();
  const before = desk.lastOwedAt();
  expect(performance.now() - before).toBeLessThan(500);
  finish[0]?.();
  await asking;
  expect(desk.lastOwedAt()).toBeGreaterThanOrEqual(before);
  const after = desk.lastOwedAt();
  await turn();
  expect(desk.lastOwedAt()).toBe(after);
});

const never = () => new AbortController().signal;

function deferred() {
  let resolve!: () => void;
  const promise = new Promise<void>((done) => {
    resolve = done;
  });
  return { promise, resolve };
}

test("one at a time, in the order of arrival, and the rest turned away", async () => {
  const gate = new RequestGate();
  const first = deferred();
  let running = 0;
  let most = 0;
  const order: number[] = [];
  const work = (index: number) => async () => {
    most = Math.max(most, ++running);
    if (index === 0) await first.promise;
    order.push(index);
    running -= 1;
  };
  const runs = Array.from({ length: 1_000 }, (_, index) => gate.run(work(index), never()));
  const outcomes = Promise.allSettled(runs);
  first.resolve();
  const settled = await outcomes;
  expect(settled.filter(({ status }) => status === "fulfilled")).toHaveLength(MAX_WAITING + 1);
  expect(settled.at(-1)).toMatchObject({ reason: { code: "OVERLOADED" } });
  expect(order).toEqual(Array.from({ length: MAX_WAITING + 1 }, (_, index) => index));
  expect(most).toBe(1);
  expect(gate.idle).toBe(true);
});

test("who gives up while waiting makes room for another", async () => {
  const gate = new RequestGate();
  const first = deferred();
  const holding = gate.run(() => first.promise, never());
  const impatient = new AbortController();
  const waiting = gate.run(async () => "never run", impatient.signal);
  impatient.abort(new Error("enough"));
  await expect(waiting).rejects.toThrow("enough");
  const next = gate.run(async () => "served", never());
  first.resolve();
  await holding;
  expect(await next).toBe("served");
});

test("work that fails leaves the gate open", async () => {
  const gate = new RequestGate();
  await expect(gate.run(() => Promise.reject(new Error("no")), never())).rejects.toThrow("no");
  expect(await gate.run(async () => 1, never())).toBe(1);
});
