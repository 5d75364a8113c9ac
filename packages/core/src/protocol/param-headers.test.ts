/** Arguments as headers: valid declarations, and the encoding of values. */
import { describe, expect, test } from "vitest";
import { paramHeaders, readParamHeaders } from "./param-headers.js";

const text = (header: unknown) => ({ type: "string", "x-mcp-header": header });
const object = (properties: Record<string, unknown>, more: Record<string, unknown> = {}) => ({
  type: "object",
  properties,
  ...more,
});

describe("declarations", () => {
  test("a schema without declarations has none", () => {
    expect(readParamHeaders(object({ city: { type: "string" } }))).toEqual([]);
    expect(readParamHeaders({})).toEqual([]);
  });

  test("are found at any depth of properties", () => {
    const schema = object({
      region: text("Region"),
      count: { type: "integer", "x-mcp-header": "Count" },
      deep: object({ flag: { type: "boolean", "x-mcp-header": "Flag" } }),
      properties: text("A-Property-Named-Properties"),
    });
    expect(readParamHeaders(schema)).toEqual([
      { path: ["region"], header: "Mcp-Param-Region" },
      { path: ["count"], header: "Mcp-Param-Count" },
      { path: ["deep", "flag"], header: "Mcp-Param-Flag" },
      { path: ["properties"], header: "Mcp-Param-A-Property-Named-Properties" },
    ]);
  });

  test.each<[string, Record<string, unknown>]>([
    ["an empty name", object({ a: text("") })],
    ["a blank in the name", object({ a: text("A B") })],
    ["a colon", object({ a: text("A:B") })],
    ["a line break", object({ a: text("A\r\nX-Evil: 1") })],
    ["letters outside ASCII", object({ a: text("Größe") })],
    ["a number for a name", object({ a: text(5) })],
    ["null for a name", object({ a: text(null) })],
    ["type number, whose text is not exact", object({ a: { type: "number", "x-mcp-header": "A" } })],
    ["an object", object({ a: { type: "object", "x-mcp-header": "A" } })],
    ["an array", object({ a: { type: "array", "x-mcp-header": "A" } })],
    ["several types", object({ a: { type: ["string", "null"], "x-mcp-header": "A" } })],
    ["no type", object({ a: { "x-mcp-header": "A" } })],
    ["the same name twice", object({ a: text("A"), b: text("A") })],
    ["the same name in another case", object({ a: text("Region"), b: text("REGION") })],
    ["the root", object({}, { "x-mcp-header": "A" })],
    ["the items of an array", object({ list: { type: "array", items: text("A") } })],
    ["a branch of anyOf", object({ a: { anyOf: [text("A"), { type: "null" }] } })],
    ["a branch of allOf at the root", object({}, { allOf: [object({ a: text("A") })] })],
    ["a definition", object({}, { $defs: { place: text("A") } })],
    ["pattern properties", object({}, { patternProperties: { "^x": text("A") } })],
    ["additional properties", object({}, { additionalProperties: text("A") })],
    ["a condition", object({}, { if: object({ a: text("A") }) })],
    ["a list in place of properties", { type: "object", properties: [text("A")] }],
    ["properties below an array", object({ list: { type: "array", items: object({ a: text("A") }) } })],
  ])("%s makes the tool invalid, with a reason", (_name, schema) => {
    expect(readParamHeaders(schema)).toEqual(expect.stringContaining("x-mcp-header"));
  });

  test.each(["enum", "const", "default", "examples"])("the keyword inside %s is data", (keyword) => {
    expect(readParamHeaders(object({ a: { type: "object", [keyword]: { "x-mcp-header": 5 } } }))).toEqual([]);
  });

  test("a very deep schema ends the search", () => {
    let schema: Record<string, unknown> = { type: "string" };
    for (let depth = 0; depth < 2_000; depth += 1) schema = object({ next: schema });
    expect(readParamHeaders(schema)).toEqual([]);
  });
});

describe("values", () => {
  const declared = [
    { path: ["a"], header: "Mcp-Param-A" },
    { path: ["deep", "b"], header: "Mcp-Param-B" },
  ];
  const base64 = (value: string) => `=?base64?${Buffer.from(value).toString("base64")}?=`;

  test("no declarations, no headers", () => expect(paramHeaders([], { a: "x" })).toBeUndefined());

  test.each<[unknown, string]>([
    ["Oslo", "Oslo"],
    ["two words, (tab)\tinside", "two words, (tab)\tinside"],
    [true, "true"],
    [false, "false"],
    [0, "0"],
    [-42, "-42"],
    [Number.MAX_SAFE_INTEGER, "9007199254740991"],
    ["", base64("")],
    [" leading", base64(" leading")],
    ["trailing\t", base64("trailing\t")],
    ["a\r\nX-Evil: 1", base64("a\r\nX-Evil: 1")],
    ["a\nb", base64("a\nb")],
    ["nul\u0000", base64("nul\u0000")],
    ["del\u007f", base64("del\u007f")],
    ["Tromsø", base64("Tromsø")],
    ["東京 🗼", base64("東京 🗼")],
    ["=?base64?T3Nsbw==?=", base64("=?base64?T3Nsbw==?=")],
    ["=?base64?not to the end", "=?base64?not to the end"],
  ])("%j", (value, expected) => {
    expect(paramHeaders(declared, { a: value })).toEqual({ "Mcp-Param-A": expected });
  });

  test.each([undefined, null, Number.NaN, Number.POSITIVE_INFINITY, 2 ** 53, { text: "x" }, ["x"], 10n])(
    "%s has no header",
    (value) => expect(paramHeaders(declared, { a: value })).toEqual({}),
  );

  test("are read along their path, whatever the path contains", () => {
    expect(paramHeaders(declared, { deep: { b: "x" } })).toEqual({ "Mcp-Param-B": "x" });
    for (const deep of [null, 5, "text", [], {}]) expect(paramHeaders(declared, { deep })).toEqual({});
    const length = [{ path: ["list", "length"], header: "Mcp-Param-Length" }];
    expect(paramHeaders(length, { list: ["a", "b"] })).toEqual({});
  });

  test("an argument of several megabytes is encoded", () => {
    const value = "ø".repeat(1_000_000);
    expect(paramHeaders(declared, { a: value })).toEqual({ "Mcp-Param-A": base64(value) });
  });
});
