import { describe, expect, it } from "vitest";
import { readPattern } from "./read-pattern.js";

describe("patterns that JavaScript reads", () => {
  it.each(["^[a-z]+$", "(?<=a)\\p{L}", "\\u{1F600}", "[[\\]a]", ""])("stay as they are: %s", (pattern) => {
    expect(readPattern(pattern)).toBe(pattern);
  });
});

/** The pattern, texts that match, and texts that do not. */
describe("patterns of other languages are translated exactly", () => {
  it.each<[string, string[], string[]]>([
    ["^\\w+\\-\\w+$", ["a-b"], ["ab", "a_b"]],
    ["^[\\w.]+\\@example$", ["a.b@example"], ["a.b example"]],
    ["^[\\w-.]+$", ["a-b.c"], ["a b", "/"]],
    ["^[\\w-\\.]+@([\\w-]+\\.)+[\\w-]{2,4}$", ["a.b-c@d-e.com"], ["a b@c.de", "a@b"]],
    ["^[+-\\d]+$", ["+-1"], [","]],
    ["^\\d{4}\\_\\ \\#\\ü$", ["2026_ #ü"], ["2026- #ü"]],
    ["^(?P<year>\\d{4})-(?P=year)$", ["2026-2026"], ["2026-2025"]],
    ["^(?P<a>x)(?#a comment)\\1$", ["xx"], ["x", "x1"]],
    ["\\A[a-z]+\\Z", ["abc"], ["abc\n", "1abc", "A"]],
    ["\\A[a-z]+\\z", ["abc"], ["abc\n", "abcz1"]],
    ["(?i)^straSK$", ["STRAsk", "\u017ftra\u017f\u212a"], ["strassk"]],
    ["^(?i)[a-f0-9]{2}$", ["aF", "09"], ["ag"]],
    ["(?i)^[-.a-z-]+$", ["-A.z"], ["_", "1"]],
    ["(?i)[^a-c]", ["d", "X"], ["A", "b"]],
    ["(?s)^a.b$", ["a\nb"], ["ab"]],
    ["(?is)^a.b$", ["A\nB"], ["AB"]],
    ["^\\pL+\\PN$", ["Éa", "aé-"], ["1a", "a1"]],
    ["^\\p{Greek}+$", ["αβ"], ["ab"]],
    ["^[[:alpha:]_][^[:space:]]*$", ["_a-1"], ["1a", "a b"]],
    ["^[]a]+$", ["]a"], ["b"]],
    ["^[^]a]+$", ["b"], ["]"]],
    ["^{[a-z]+}$", ["{abc}"], ["abc"]],
    ["^a{1}b{2,}\\{\\}]$", ["abb{}]"], ["ab{}]"]],
    ["^\\x{1F600}\\U0001F600\\x41\\a\\-$", ["😀😀A\u0007-"], ["A"]],
  ])("%s", (pattern, fitting, others) => {
    const translated = readPattern(pattern);
    expect(translated).toBeTypeOf("string");
    const expression = new RegExp(translated!, "u");
    for (const text of fitting) expect(expression.test(text), text).toBe(true);
    for (const text of others) expect(expression.test(text), text).toBe(false);
  });
});

describe("patterns without an exact equivalent", () => {
  it.each([
    "([",
    "[z-a]",
    "a{2,1}",
    "(?<name",
    "\\p{",
    "\\p{IsLatin}",
    "*",
    "a++",
    "a*+b",
    "a{2}+",
    "(?>a+)b",
    "(?(1)a|b)",
    "(?R)",
    "(?x) a b",
    "(?m)^a$",
    "a(?i)b",
    "(?i:a)\\-",
    "(?i)é",
    "(?i)\\p{Lu}",
    "(?i)(a)\\1",
    "(?i)[!-~]",
    "(?i)[\\[-z]",
    "(?i)[Z-\\}]",
    "(?i)[[:lower:]]",
    "a{,3}\\-",
    "\\h+",
    "\\R",
    "\\G",
    "\\Qa.b\\E",
    "\\N{DIGIT ONE}",
    "\\012\\-",
    "[a-z&&[^aeiou]]",
    "[a[b]]\\-",
    "[[:unknown:]]",
    "[[:constructor:]]",
    "[[:a]\\-",
    "(?i)\\é",
    "[\\Z]\\-",
    "abc\\",
    "[abc",
    "(?P<a>x)(?P<a>y)",
  ])("%s", (pattern) => {
    expect(readPattern(pattern)).toBeUndefined();
  });
});

it("leaves long patterns alone", () => {
  expect(readPattern("\\-".repeat(2_000))).toBe("-".repeat(2_000));
  expect(readPattern("\\-".repeat(3_000))).toBeUndefined();
});

it("reads a property that occurs often, but not in one pattern", () => {
  expect(readPattern("\\p{L}".repeat(20))).toBe("\\p{L}".repeat(20));
  expect(readPattern("\\p{L}".repeat(21))).toBeUndefined();
  expect(readPattern("[\\p{L}-z]")).toBe("[\\p{L}\\-z]");
  expect(readPattern("\\p{Nothing}")).toBeUndefined();
  expect(readPattern("\\\\p{2}\\pL")).toBe("\\\\p{2}\\p{L}");
});
