import { expect, test } from "vitest";
import { Resends } from "./server-transport.js";

test("three sends allow two resends, one of them for a recovery", () => {
  const resends = new Resends(3);
  expect([resends.takeHealing(), resends.takeHealing(), resends.take(), resends.take()]).toEqual([
    true,
    false,
    true,
    false,
  ]);
});

test("a recovery uses up a resend", () => {
  const resends = new Resends(2);
  expect([resends.take(), resends.takeHealing()]).toEqual([true, false]);
  expect(new Resends(1).takeHealing()).toBe(false);
});
