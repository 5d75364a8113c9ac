import { expect, test } from "vitest";
import { RequestDesk } from "./request-desk.js";
import type { RequestOrigin } from "./request-origin.js";

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
