import { expect, test } from "vitest";
import { countContainers, isNestedDeeper, isSameJson } from "./json.js";

const nested = (levels: number): unknown => (levels === 0 ? "text" : { inner: [nested(levels - 1)] });

test("objects and arrays count as levels, strings do not", () => {
  expect(isNestedDeeper("text", 0)).toBe(false);
  expect(isNestedDeeper(null, 0)).toBe(false);
  expect(isNestedDeeper({}, 0)).toBe(true);
  expect(isNestedDeeper(nested(2), 4)).toBe(false);
  expect(isNestedDeeper(nested(2), 3)).toBe(true);
});

test("exceptions apply only to the top level", () => {
  const except = new Set(["left"]);
  expect(isNestedDeeper({ left: nested(3) }, 2, except)).toBe(false);
  expect(isNestedDeeper({ right: nested(3) }, 2, except)).toBe(true);
  expect(isNestedDeeper({ right: { left: nested(3) } }, 2, except)).toBe(true);
});

test("values of the same text are the same; those that cannot be written are not", () => {
  expect(isSameJson([{ a: 1 }], [{ a: 1 }])).toBe(true);
  expect(isSameJson([{ a: 1 }], [{ a: 2 }])).toBe(false);
  const deep = () => JSON.parse(`${"[".repeat(20_000)}${"]".repeat(20_000)}`) as unknown;
  expect(isSameJson(deep(), deep())).toBe(false);
});

test.each<[string, string, ReturnType<typeof countContainers>]>([
  ["text within the limits", '[[{}],{"a":"[[[[[["}]', 4],
  ["too many levels", "[[[[", "levels"],
  ["too many levels that are never closed, in text that is not JSON", "{nonsense[[[", "levels"],
  ["too many containers", "[[],[],[],[],[]]", "containers"],
  ["brackets in a string with escapes", String.raw`["\"[[[[[[[", "\\"]`, 1],
  ["brackets after a string with escapes", String.raw`["\\",[[["x"]]]]`, "levels"],
])("%s", (_, text, counted) => {
  expect(countContainers(text, { levels: 3, containers: 5 })).toBe(counted);
});
