import { expect, test } from "vitest";
import { MAX_WAITING, RequestResponder, SerialQueue } from "./request-responder.js";
import type { RequestOrigin } from "./sampling-and-roots.js";

function openResponder() {
  const origins: RequestOrigin[] = [];
  const reports: unknown[] = [];
  const finish: (() => void)[] = [];
  const wait = (_params: unknown, origin: RequestOrigin) => {
    origins.push(origin);
    return new Promise<Record<string, unknown>>((resolve) => finish.push(() => resolve({})));
  };
  const responder = new RequestResponder({
    server: "shop",
    handlers: { "elicitation/create": wait, "sampling/createMessage": wait, "roots/list": wait },
    report: (error) => reports.push(error),
  });
  return { responder, origins, reports, finish };
}

const roots = { method: "roots/list" };
const turn = () => new Promise((resolve) => setImmediate(resolve));

test("a failed call aborts its open server requests, even if the server does not cancel them", async () => {
  const { responder, origins, reports } = openResponder();
  const call = responder.beginCall("buy");
  const asking = responder.respondToMessage(roots, new AbortController().signal);
  const rejected = expect(asking).rejects.toMatchObject({ code: -32603 });
  await turn();
  expect(origins).toMatchObject([{ server: "shop", tool: "buy" }]);
  responder.endCall(call, new Error("aborted"));
  await rejected;
  expect(origins[0]?.signal.aborted).toBe(true);
  expect(reports).toEqual([]);
});

test("a successful call does not abort its open server requests", async () => {
  const { responder, origins, finish } = openResponder();
  const call = responder.beginCall("buy");
  const asking = responder.respondToMessage(roots, new AbortController().signal);
  await turn();
  responder.endCall(call);
  expect(origins[0]?.signal.aborted).toBe(false);
  finish[0]?.();
  expect(await asking).toEqual({});
});

test("a cancelled server request aborts its callback", async () => {
  const { responder, origins } = openResponder();
  const server = new AbortController();
  const asking = responder.respondToMessage(roots, server.signal);
  const rejected = expect(asking).rejects.toMatchObject({ code: -32603 });
  await turn();
  server.abort(new Error("cancelled"));
  await rejected;
  expect(origins[0]?.signal.aborted).toBe(true);
  await expect(responder.respondToMessage(roots, server.signal)).rejects.toMatchObject({ code: -32603 });
  expect(origins).toHaveLength(1);
});

test("requests of different methods run concurrently", async () => {
  const { responder, origins, finish } = openResponder();
  const kinds = ["roots/list", "elicitation/create", "sampling/createMessage"];
  const all = [...kinds, ...kinds].map((method) => {
    return responder.respondToMessage({ method }, new AbortController().signal);
  });
  await turn();
  expect(origins).toHaveLength(3);
  for (let index = 0; index < all.length; index += 1) {
    finish[index]?.();
    await turn();
  }
  expect(await Promise.all(all)).toHaveLength(6);
});

test("serverLastWaitedAt() returns when the server last waited for a response", async () => {
  const { responder, finish } = openResponder();
  expect(responder.serverLastWaitedAt()).toBe(0);
  const asking = responder.respondToMessage(roots, new AbortController().signal);
  await turn();
  const before = responder.serverLastWaitedAt();
  expect(before).toBeGreaterThan(0);
  finish[0]?.();
  await asking;
  expect(responder.serverLastWaitedAt()).toBeGreaterThanOrEqual(before);
  const after = responder.serverLastWaitedAt();
  await turn();
  expect(responder.serverLastWaitedAt()).toBe(after);
});

const never = () => new AbortController().signal;

function deferred() {
  let resolve!: () => void;
  const promise = new Promise<void>((done) => {
    resolve = done;
  });
  return { promise, resolve };
}

test("SerialQueue runs one at a time in order of arrival and rejects on overflow", async () => {
  const queue = new SerialQueue();
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
  const runs = Array.from({ length: 1_000 }, (_, index) => queue.run(work(index), never()));
  const outcomes = Promise.allSettled(runs);
  first.resolve();
  const settled = await outcomes;
  expect(settled.filter(({ status }) => status === "fulfilled")).toHaveLength(MAX_WAITING + 1);
  expect(settled.at(-1)).toMatchObject({ reason: { code: "OVERLOADED" } });
  expect(order).toEqual(Array.from({ length: MAX_WAITING + 1 }, (_, index) => index));
  expect(most).toBe(1);
  expect(queue.isIdle).toBe(true);
});

test("SerialQueue skips work that is aborted while it waits", async () => {
  const queue = new SerialQueue();
  const first = deferred();
  const holding = queue.run(() => first.promise, never());
  const impatient = new AbortController();
  const waiting = queue.run(async () => "never run", impatient.signal);
  impatient.abort(new Error("enough"));
  await expect(waiting).rejects.toThrow("enough");
  const next = queue.run(async () => "served", never());
  first.resolve();
  await holding;
  expect(await next).toBe("served");
});

test("SerialQueue continues after work that fails", async () => {
  const queue = new SerialQueue();
  await expect(queue.run(() => Promise.reject(new Error("no")), never())).rejects.toThrow("no");
  expect(await queue.run(async () => 1, never())).toBe(1);
});
