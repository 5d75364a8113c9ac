import { describe, expect, test } from "vitest";
import { formatTable, wrapWords } from "./format-table.js";

const columns = [{ title: "NAME" }, { title: "COUNT", align: "right" as const }, { title: "TEXT" }];
const rows = [
  ["one", "1", "A short text that goes on"],
  ["two", "22", "\u001b[2mAnother text\u001b[22m"],
];

describe("formatTable", () => {
  test("has any width without a terminal", () => {
    expect(formatTable(columns, rows)).toEqual([
      "NAME  COUNT  TEXT",
      "one       1  A short text that goes on",
      "two      22  \u001b[2mAnother text\u001b[22m",
    ]);
  });

  test("wraps the last column at words", () => {
    expect(formatTable(columns, rows, 34)).toEqual([
      "NAME  COUNT  TEXT",
      "one       1  A short text that",
      "             goes on",
      "two      22  \u001b[2mAnother text\u001b[22m",
    ]);
  });

  test("stacks the cells in a narrow terminal", () => {
    expect(formatTable(columns, rows, 18)).toEqual([
      "one",
      "  count: 1",
      "  text: A short",
      "    text that",
      "    goes on",
      "two",
      "  count: 22",
      "  text: \u001b[2mAnother\u001b[22m",
      "    \u001b[2mtext\u001b[22m",
    ]);
  });
});

test.each([
  ["one two three", 8, ["one two", "three"]],
  ["abcdefgh ij", 4, ["abcd", "efgh", "ij"]],
  ["日本語 text", 6, ["日本語", "text"]],
  ["\u001b[31mred words here\u001b[39m", 9, ["\u001b[31mred words\u001b[39m", "\u001b[31mhere\u001b[39m"]],
  ["", 5, [""]],
])("wrapWords(%j, %i)", (text, width, lines) => {
  expect(wrapWords(text, width)).toEqual(lines);
});

test("wrapWords keeps long words on request", () => {
  expect(wrapWords("see https://example.com/a/b now", 10, { keepsWords: true })).toEqual([
    "see",
    "https://example.com/a/b",
    "now",
  ]);
});
