import { expect, test } from "vitest";
import { callSafely } from "./callbacks.js";

const turn = () => new Promise<void>((resolve) => setImmediate(resolve));

test("a function that succeeds, synchronously or not, is not reported", async () => {
  const reported: unknown[] = [];
  for (const call of [() => 1, async () => 2, () => null, () => undefined]) {
    callSafely(call, (error) => reported.push(error));
  }
  await turn();
  expect(reported).toEqual([]);
});

test.each<[string, (error: unknown) => unknown]>([
  [
    "throws",
    (error) => {
      throw error;
    },
  ],
  ["rejects", (error) => Promise.reject(error)],
  [
    "rejects later",
    async (error) => {
      await turn();
      throw error;
    },
  ],
])("a value that it %s is reported once, whatever the value is", async (_how, fail) => {
  for (const error of [new Error("mine"), "a text", undefined, null]) {
    const reported: unknown[] = [];
    callSafely(
      () => fail(error),
      (reason) => reported.push(reason),
    );
    await turn();
    await turn();
    expect(reported).toEqual([error]);
  }
});
