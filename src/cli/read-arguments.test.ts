import { describe, expect, test } from "vitest";
import { readArguments } from "./read-arguments.js";

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
