import { describe, expect, test } from "vitest";
import { cutText, tidyText } from "./text.js";

test.each([
  ["as it is", "as it is"],
  ["  around \n", "around"],
  ["line end  \nnext", "line end\nnext"],
  ["a\r\nb", "a\nb"],
  ["a\n\n\n\nb", "a\n\nb"],
  ["a\n  \n \n  \n b", "a\n\nb"],
  ["two  spaces.  And more", "two spaces. And more"],
  ["\n    Title.\n\n    - one\n      - inner\n    ", "Title.\n\n- one\n  - inner"],
  ["- one\n  - inner\n- two", "- one\n  - inner\n- two"],
  ["Code:\n```\na  =  1\n  b\n```", "Code:\n```\na  =  1\n  b\n```"],
  ["\ttabs\n\tlevel", "tabs\nlevel"],
  ["", ""],
  ["   ", ""],
])("tidies %j", (text, expected) => {
  expect(tidyText(text)).toBe(expected);
  expect(tidyText(expected)).toBe(expected);
});

test("tidies a long run of white space in linear time", () => {
  const text = `a${" ".repeat(200_000)}b${"\n \t".repeat(100_000)}c`;
  expect(tidyText(text)).toBe("a b\n\nc");
});

describe("cutting", () => {
  test.each([
    ["short", 10, "short"],
    ["one two three", 9, "one two…"],
    ["one two three", 8, "one two…"],
    ["one two, three", 10, "one two,…"],
    ["onelongword", 6, "onelo…"],
    ["a verylongwordthatgoeson", 12, "a verylongw…"],
    ["天气查询城市的天气", 5, "天气查询…"],
    ["ab😀cd", 4, "ab…"],
  ])("%j at %i", (text, characters, expected) => {
    expect(cutText(text, characters)).toBe(expected);
    expect(cutText(text, characters).length).toBeLessThanOrEqual(characters);
  });
});
