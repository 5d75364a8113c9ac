import { canonicalJson } from "@toolport/base";
import { describe, expect, test } from "vitest";
import { definitionHash } from "./canonical-json.js";

describe("canonical JSON", () => {
  test.each<[string, unknown, string]>([
    ["nothing", null, "null"],
    ["text", 'a"b\\\n\u0007€', '"a\\"b\\\\\\n\\u0007€"'],
    ["half a surrogate pair", "\ud800", '"\\ud800"'],
    ["negative zero", -0, "0"],
    ["a list", [1, "a", true, null, []], '[1,"a",true,null,[]]'],
    ["an empty object", {}, "{}"],
    ["sorted keys", { b: 1, a: { d: 2, c: 3 } }, '{"a":{"c":3,"d":2},"b":1}'],
    ["undefined members", { a: undefined, b: [undefined] }, '{"b":[null]}'],
    ["the same object twice", new Array(2).fill([1]), "[[1],[1]]"],
  ])("%s", (_what, value, expected) => {
    expect(canonicalJson(value)).toBe(expected);
  });

  // The examples of RFC 8785, sections 3.2.2 and 3.2.3.
  test("numbers and text as in the RFC", () => {
    const value = JSON.parse(
      '{"numbers":[333333333.33333329,1E30,4.50,2e-3,0.000000000000000000000000001],' +
        '"string":"\\u20ac$\\u000F\\u000aA\'\\u0042\\u0022\\u005c\\\\\\"\\/","literals":[null,true,false]}',
    );
    expect(canonicalJson(value)).toBe(
      '{"literals":[null,true,false],"numbers":[333333333.3333333,1e+30,4.5,0.002,1e-27],' +
        '"string":"€$\\u000f\\nA\'B\\"\\\\\\\\\\"/"}',
    );
  });

  test("keys sorted by UTF-16 code units as in the RFC", () => {
    const keys = ["\u20ac", "\r", "\ufb33", "1", "\u{1f600}", "\u0080", "\u00f6"];
    const text = canonicalJson(Object.fromEntries(keys.map((key) => [key, 0])));
    expect(Object.keys(JSON.parse(text))).toEqual([
      "1",
      "\r",
      "\u0080",
      "\u00f6",
      "\u20ac",
      "\u{1f600}",
      "\ufb33",
    ]);
  });

  test("supports any depth and any length", () => {
    let deep: unknown = 1;
    for (let level = 0; level < 100_000; level += 1) deep = { a: [deep] };
    expect(canonicalJson(deep)).toHaveLength(100_000 * 8 + 1);
    expect(canonicalJson(new Array(500_000).fill(1))).toHaveLength(1_000_001);
  });

  const round: Record<string, unknown> = {};
  round["self"] = { round };
  test.each([
    [Number.NaN],
    [Number.POSITIVE_INFINITY],
    [1n],
    [() => {}],
    [Symbol("x")],
    [undefined],
    [round],
  ])("throws for a value that JSON cannot represent: %s", (value) => {
    expect(() => canonicalJson(value)).toThrow(TypeError);
  });
});

describe("the hash of a definition", () => {
  const tool = {
    name: "read",
    title: "Read",
    description: "Reads a file.",
    inputSchema: { type: "object", properties: { path: { type: "string" }, limit: { type: "integer" } } },
    outputSchema: { type: "object" },
    annotations: { readOnlyHint: true, title: "Reader" },
  };

  test("is SHA-256 over the canonical JSON, with a fixed value", async () => {
    // printf '%s' '{"description":"d","inputSchema":{},"name":"n"}' | sha256sum
    expect(await definitionHash({ name: "n", description: "d", inputSchema: {} })).toBe(
      "b69520745d81e201b107d859a81ec2ba8966ef0859e9ec9b7f3e3389541fdf7b",
    );
  });

  test("does not depend on the order of keys", async () => {
    const reordered = {
      annotations: { title: "Reader", readOnlyHint: true },
      outputSchema: { type: "object" },
      inputSchema: { properties: { limit: { type: "integer" }, path: { type: "string" } }, type: "object" },
      description: "Reads a file.",
      title: "Read",
      name: "read",
    };
    expect(await definitionHash(reordered)).toBe(await definitionHash(tool));
  });

  test.each<[string, Record<string, unknown>]>([
    ["name", { name: "reaD" }],
    ["title", { title: "Read " }],
    ["no title", { title: undefined }],
    ["description", { description: "Reads a file!" }],
    ["an invisible character", { description: "Reads a file.\u200b" }],
    ["half a surrogate pair", { description: "Reads a file.\ud800" }],
    ["schema", { inputSchema: { ...tool.inputSchema, properties: { path: { type: "String" } } } }],
    ["order of a list", { inputSchema: { enum: [2, 1] } }],
    ["output schema", { outputSchema: {} }],
    ["annotations", { annotations: { readOnlyHint: false, title: "Reader" } }],
  ])("changes with one byte of: %s", async (_what, change) => {
    expect(await definitionHash({ ...tool, ...change })).not.toBe(await definitionHash(tool));
  });

  test("does not change with fields that models do not see", async () => {
    const dressed = {
      ...tool,
      icons: [{ src: "x" }],
      _meta: { a: 1 },
      execution: { taskSupport: "optional" },
    };
    expect(await definitionHash(dressed)).toBe(await definitionHash(tool));
  });
});
