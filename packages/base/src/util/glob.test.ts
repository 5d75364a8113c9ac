import { describe, expect, test } from "vitest";
import { cpuTimeMs } from "../../../../test/support/cpu-time.js";
import { compileNames } from "./glob.js";

test.each([
  ["read_file", "read_file", true],
  ["read_file", "read_files", false],
  ["read_file", "Read_file", false],
  ["*", "anything", true],
  ["*", "", true],
  ["read_*", "read_", true],
  ["read_*", "read_file", true],
  ["read_*", "bread_file", false],
  ["*_file", "read_file", true],
  ["*_file", "_file", true],
  ["*_file", "read_file_2", false],
  ["*file*", "profiles", true],
  ["a*b*c", "aXbYc", true],
  ["a*b*c", "abc", true],
  ["a*b*c", "acb", false],
  ["a*a", "a", false],
  ["a*a", "aa", true],
  ["*ab*ab*", "xabyab", true],
  ["*ab*ab*", "xab", false],
  ["a**b", "ab", true],
  ["get_?", "get_x", true],
  ["get_?", "get_", false],
  ["get_?", "get_xy", false],
  ["get_?", "get_🔥", true],
  ["*??b", "🔥b", false],
  ["?*?", "ab", true],
  ["?*?", "a", false],
  ["a.c", "abc", false],
  ["[ab]", "a", false],
  ["[ab]", "[ab]", true],
  ["a*b", "a*b", true],
  ["天*", "天气", true],
  ["", "", true],
  ["", "a", false],
])("%j matches %j: %s", (pattern, name, expected) => {
  expect(compileNames([pattern])(name)).toBe(expected);
});

describe("a list of patterns", () => {
  test("matches if one of its members does", () => {
    const matches = compileNames(["read_file", "list_*"]);
    expect(["read_file", "list_it", "write_file"].map(matches)).toEqual([true, true, false]);
  });

  test("matches nothing if it is empty", () => {
    expect(compileNames([])("a")).toBe(false);
  });
});

test("matches a hostile pattern and name in linear time", () => {
  const matches = compileNames([`${"*a".repeat(50)}*b`]);
  const started = cpuTimeMs();
  expect(matches("a".repeat(100_000))).toBe(false);
  expect(cpuTimeMs() - started).toBeLessThan(5_000);
});
