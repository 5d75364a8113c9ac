import { describe, expect, test } from "vitest";
import { parseCallExpression } from "./parse-call-expression.js";
import { splitWords } from "./split-words.js";

describe("parseCallExpression", () => {
  test.each([
    ["s.t()", {}],
    ['s.t(a: 1, b: "x")', { a: 1, b: "x" }],
    ["s.t( a : -1.5e3 , 'b c': true, \"d\": null, )", { a: -1500, "b c": true, d: null }],
    ["s.t(q: 'it\\'s, (so)', r: `x:y`)", { q: "it's, (so)", r: "x:y" }],
    [
      's.t(a: {b: [1, {c: "d"}], e: word}, f: [one, "two",])',
      { a: { b: [1, { c: "d" }], e: "word" }, f: ["one", "two"] },
    ],
    ['s.t({"a": 1, b: 2})', { a: 1, b: 2 }],
    ['s.t(a: "\\u00e9\\n\\"")', { a: 'é\n"' }],
    ["s.t(constructor: 1)", { constructor: 1 }],
  ])("%s", (text, values) => {
    expect(parseCallExpression(text)).toEqual({ selector: "s.t", values, positional: [], words: [] });
  });

  test("leaves words without quotes to the schema, and keeps values without a name in order", () => {
    expect(parseCallExpression("s.t(city: Oslo town, url: https://x.y/z)")).toMatchObject({
      words: ["city=Oslo town", "url=https://x.y/z"],
    });
    expect(parseCallExpression('s.t("a", 2, https://x.y/z, last: 1)')).toMatchObject({
      positional: ["a", 2, "https://x.y/z"],
      values: { last: 1 },
    });
  });

  test.each(["s.t", "s.t(a", "a=b(c)d"])("%s is no call", (text) => {
    expect(parseCallExpression(text)).toBeUndefined();
  });

  test.each([
    ["s.t(a: )", /a value is missing/],
    ["s.t(a: 1 b: 2)", /cannot be read|1 b/],
    ['s.t(a: "x)', /" is not closed/],
    ["s.t(a: {1})", /a name is missing/],
    ["s.t(a: [1)", /"," is missing at the end/],
    [`s.t(${"[".repeat(100)})`, /too deeply/],
  ])("%s is refused", (text, message) => {
    const parse = () => parseCallExpression(text);
    // Without quotes, blanks belong to a text.
    if (text.includes("1 b")) expect(parse()).toMatchObject({ words: ["a=1 b: 2"] });
    else expect(parse).toThrow(message);
  });
});

describe("splitWords", () => {
  test.each([
    ["", []],
    ["  a  b ", ["a", "b"]],
    [`npx -y 'my server' "a \\"b\\" \\n"`, ["npx", "-y", "my server", 'a "b" \\n']],
    [`a'b'"c"d`, ["abcd"]],
    [`'' ""`, ["", ""]],
    ["a\\ b", ["a b"]],
  ])("%s", (line, words) => {
    expect(splitWords(line, { hasPlainBackslash: false })).toEqual(words);
  });

  test("keeps parentheses and backslashes of paths", () => {
    expect(splitWords(`s.t(a: "x )", b: (1)) --json`, { keepsParentheses: true })).toEqual([
      `s.t(a: "x )", b: (1))`,
      "--json",
    ]);
    expect(splitWords("C:\\a\\b.exe -x", { hasPlainBackslash: true })).toEqual(["C:\\a\\b.exe", "-x"]);
    expect(() => splitWords("a 'b")).toThrow("' is not closed");
    expect(() => splitWords("a(b", { keepsParentheses: true })).toThrow("( is not closed");
  });
});
