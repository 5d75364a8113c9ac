import { expect, test } from "vitest";
import { LinkedQueue } from "./collections.js";

function drain<T>(queue: LinkedQueue<T>): T[] {
  const values: T[] = [];
  while (queue.size > 0) values.push(queue.shift() as T);
  return values;
}

test("first in, first out", () => {
  const queue = new LinkedQueue<number>();
  for (const value of [1, 2, 3]) queue.push(value);
  expect(drain(queue)).toEqual([1, 2, 3]);
  expect(queue.shift()).toBeUndefined();
});

test.each([
  [0, [2, 3]],
  [1, [1, 3]],
  [2, [1, 2]],
])("entry %i can be removed once", (index, rest) => {
  const queue = new LinkedQueue<number>();
  const entry = [1, 2, 3].map((value) => queue.push(value))[index]!;
  expect(queue.remove(entry)).toBe(true);
  expect(queue.remove(entry)).toBe(false);
  expect(queue.size).toBe(2);
  expect(drain(queue)).toEqual(rest);
});

test("a shifted entry and an entry of another queue cannot be removed", () => {
  const queue = new LinkedQueue<number>();
  const entry = queue.push(1);
  expect(new LinkedQueue<number>().remove(entry)).toBe(false);
  queue.shift();
  expect(queue.remove(entry)).toBe(false);
  queue.push(2);
  expect(drain(queue)).toEqual([2]);
});
