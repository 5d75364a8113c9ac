import { describe, expect, test } from "vitest";
import { parseCallExpression, readArguments } from "./call-arguments.js";
import { splitWords } from "./shell-words.js";

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

const schema = {
  type: "object",
  properties: {
    text: { type: "string" },
    count: { type: "integer" },
    share: { type: "number" },
    flag: { type: "boolean" },
    either: { type: ["string", "number"] },
    maybe: { type: ["number", "null"] },
    any: {},
    level: { enum: [1, 2, "high"] },
    fixed: { const: 7 },
    tags: { type: "array", items: { type: "string" } },
    sizes: { anyOf: [{ type: "array", items: { type: "number" } }, { type: "null" }] },
    point: { type: "object" },
    mixed: { anyOf: [{ type: "number" }, { type: "boolean" }] },
    open: { anyOf: [{ type: "number" }, {}] },
    referred: { $ref: "#/$defs/count" },
    looped: { $ref: "#/$defs/loop" },
  },
  $defs: { count: { type: "integer" }, loop: { $ref: "#/$defs/loop" } },
};

describe("converts a value only if the schema allows no string", () => {
  test.each([
    ["text=5", { text: "5" }],
    ["text=", { text: "" }],
    ["text=a=b", { text: "a=b" }],
    ["count=5", { count: 5 }],
    ["count=five", { count: "five" }],
    ["share=-1.5e3", { share: -1500 }],
    ["flag=true", { flag: true }],
    ["flag=yes", { flag: "yes" }],
    ["either=5", { either: "5" }],
    ["maybe=null", { maybe: null }],
    ["any=5", { any: "5" }],
    ["unknown=5", { unknown: "5" }],
    ["level=2", { level: 2 }],
    ["level=high", { level: "high" }],
    ["fixed=7", { fixed: 7 }],
    ["tags=a", { tags: ["a"] }],
    ['tags=["a","b"]', { tags: ["a", "b"] }],
    ["sizes=4", { sizes: [4] }],
    ['point={"x":1}', { point: { x: 1 } }],
    ["mixed=false", { mixed: false }],
    ["open=5", { open: "5" }],
    ["referred=5", { referred: 5 }],
    ["looped=5", { looped: "5" }],
    ["text:=5", { text: 5 }],
    ['count:={"a":[1]}', { count: { a: [1] } }],
    ["__proto__=x", JSON.parse('{"__proto__":"x"}')],
  ])("%s", (word, expected) => {
    expect(readArguments({ words: [word] }, schema)).toEqual(expected);
  });
});

test("makes an array of a repeated key; words override --args", () => {
  expect(readArguments({ words: ["tags=a", "tags=b", "sizes=1", "sizes=2"] }, schema)).toEqual({
    tags: ["a", "b"],
    sizes: [1, 2],
  });
  expect(readArguments({ words: ["count=2"], values: { count: 1, text: "x" } }, schema)).toEqual({
    count: 2,
    text: "x",
  });
});

test.each([
  ["word", "key=value or key:=json"],
  ["=x", "key=value or key:=json"],
  ["a:=no json", "requires JSON"],
])("rejects %s", (word, message) => {
  expect(() => readArguments({ words: [word] }, schema)).toThrow(message);
});

describe("named arguments", () => {
  const named = (name: string, text?: string, isDetached = text !== undefined) => ({
    name,
    text,
    isDetached,
  });
  const tool = {
    properties: { query: { type: "string" }, dry_run: { type: "boolean" }, maxSize: { type: "integer" } },
  };

  test("are typed by the schema and match in any spelling", () => {
    const given = { words: [], named: [named("query", "5"), named("dry-run"), named("max-size", "3")] };
    expect(readArguments(given, tool)).toEqual({ query: "5", dry_run: true, maxSize: 3 });
    expect(readArguments({ words: [], named: [named("no-dry-run")] }, tool)).toEqual({ dry_run: false });
  });

  test("a boolean does not take the next argument", () => {
    const given = { words: ["query=x"], named: [named("dry-run", "maxSize=3")] };
    expect(readArguments(given, tool)).toEqual({ dry_run: true, maxSize: 3, query: "x" });
    expect(readArguments({ words: [], named: [named("dry-run", "false")] }, tool)).toEqual({
      dry_run: false,
    });
  });

  test("an unknown name is refused with a suggestion, unless the schema is open", () => {
    expect(() => readArguments({ words: [], named: [named("qurey", "x")] }, tool)).toThrow(
      "There is no option or argument --qurey. Did you mean --query?",
    );
    expect(readArguments({ words: [], named: [named("any", "x")] }, {})).toEqual({ any: "x" });
  });
});

test("values without a name follow the order of the properties", () => {
  const tool = { properties: { a: { type: "number" }, b: { type: "string" } } };
  expect(readArguments({ words: [], positional: [1, "x"] }, tool)).toEqual({ a: 1, b: "x" });
  expect(() => readArguments({ words: [], positional: [1, 2, 3] }, tool)).toThrow("only a, b");
});
