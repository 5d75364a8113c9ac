import { expect, test } from "vitest";
import { mapConcurrently } from "./concurrency.js";

const turn = () => new Promise<void>((resolve) => setImmediate(resolve));

test("keeps the order of the results, whatever order they finish in", async () => {
  const results = await mapConcurrently([3, 1, 2], 3, async (turns) => {
    for (let count = 0; count < turns; count += 1) await turn();
    return turns * 10;
  });
  expect(results).toEqual([30, 10, 20]);
});

test.each([1, 4, 16, 100])("runs exactly %d at once", async (limit) => {
  let running = 0;
  let most = 0;
  const items = Array.from({ length: 40 }, (_, index) => index);
  await mapConcurrently(items, limit, async () => {
    running += 1;
    most = Math.max(most, running);
    await turn();
    running -= 1;
  });
  expect(most).toBe(Math.min(limit, 40));
});

test("runs every item once, and none for an empty list", async () => {
  const seen: number[] = [];
  await mapConcurrently([1, 2, 3, 4, 5], 2, async (item) => void seen.push(item));
  expect(seen.sort()).toEqual([1, 2, 3, 4, 5]);
  expect(await mapConcurrently([], 4, async () => 1)).toEqual([]);
});

test("rejects if a task rejects", async () => {
  const work = mapConcurrently([1, 2, 3], 2, async (item) => {
    if (item === 2) throw new Error("two");
    return item;
  });
  await expect(work).rejects.toThrow("two");
});
