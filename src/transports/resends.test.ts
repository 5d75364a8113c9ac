import { expect, test } from "vitest";
import { Resends } from "./resends.js";

test("three sends: two resends, one of them for a healing", () => {
  const resends = new Resends(3);
  expect([resends.takeHealing(), resends.takeHealing(), resends.take(), resends.take()]).toEqual([
    true,
    false,
    true,
    false,
  ]);
});

test("a healing needs a resend", () => {
  const resends = new Resends(2);
  expect([resends.take(), resends.takeHealing()]).toEqual([true, false]);
  expect(new Resends(1).takeHealing()).toBe(false);
});
