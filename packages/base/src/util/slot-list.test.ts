import { expect, test } from "vitest";
import { SlotList } from "./collections.js";

const named = (name: string) => ({ name, slot: -1 });
const names = (list: SlotList<ReturnType<typeof named>>) =>
  list
    .toArray()
    .map(({ name }) => name)
    .sort();

test("members can be added and removed in any order", () => {
  const list = new SlotList<ReturnType<typeof named>>();
  const [a, b, c] = ["a", "b", "c"].map(named) as [ReturnType<typeof named>, ...ReturnType<typeof named>[]];
  for (const one of [a, b!, c!]) list.add(one);
  expect(names(list)).toEqual(["a", "b", "c"]);
  expect(list.delete(a)).toBe(true);
  expect(list.delete(a)).toBe(false);
  expect(names(list)).toEqual(["b", "c"]);
  expect(list.delete(c!)).toBe(true);
  expect(list.delete(b!)).toBe(true);
  expect(list.size).toBe(0);
  list.add(a);
  list.clear();
  expect(list.delete(a)).toBe(false);
  list.add(a);
  expect(names(list)).toEqual(["a"]);
});
