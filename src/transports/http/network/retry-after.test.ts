import { expect, it } from "vitest";
import { parseRetryAfter } from "./retry-after.js";

const now = Date.parse("2026-11-15T10:00:00Z");

it.each([
  ["1", 1_000],
  [" 2 ", 2_000],
  ["0", 0],
  ["999999", 30_000],
  ["99999999999999999999999", 30_000],
  ["Sun, 15 Nov 2026 10:00:05 GMT", 5_000],
  ["Sun, 15 Nov 2026 12:00:00 GMT", 30_000],
  ["Sun, 15 Nov 2026 09:00:00 GMT", 0],
  ["-1", undefined],
  ["1.5", undefined],
  ["soon", undefined],
  ["", undefined],
  [null, undefined],
])("reads %j as %j", (value, expected) => {
  expect(parseRetryAfter(value, now)).toBe(expected);
});
