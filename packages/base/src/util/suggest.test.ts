import { expect, test } from "vitest";
import { suggest } from "./suggest.js";

test.each([
  ["comand", ["command", "cwd"], ["command"]],
  ["ulr", ["url", "args"], ["url"]],
  ["TIMEOUTMS", ["timeoutMs"], ["timeoutMs"]],
  ["heades", ["headers", "roots"], ["headers"]],
  ["x", ["y", "url"], []],
  ["", ["url"], []],
  ["completely-different", ["url", "args"], []],
])("suggests for %j", (word, candidates, expected) => {
  expect(suggest(word, candidates)).toEqual(expected);
});

test("returns the best first, up to the limit", () => {
  expect(suggest("forecats", ["forecaster", "forecast", "forecasts"], 2)).toEqual(["forecast", "forecasts"]);
});

test("handles long words quickly", () => {
  const long = "a".repeat(100_000);
  expect(suggest(long, [`${long}b`])).toHaveLength(1);
});
