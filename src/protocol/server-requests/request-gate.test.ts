import { expect, test } from "vitest";
import { MAX_WAITING, RequestGate } from "./request-gate.js";

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
