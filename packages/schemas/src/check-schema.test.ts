import { describe, expect, it } from "vitest";
import { cpuTimeMs } from "../../../test/support/cpu-time.js";
import { schemaProblem, toolProblem, uncheckedParts } from "./check-schema.js";

interface SchemaFindings {
  readonly problem?: string | undefined;
  readonly unchecked: readonly string[];
}

function checkToolSchema(schema: unknown, role: "input" | "output"): SchemaFindings {
  const problem = schemaProblem(schema, role);
  return problem === undefined
    ? { unchecked: uncheckedParts({ inputSchema: schema }) }
    : { problem, unchecked: [] };
}

function checkToolSchemas(tool: { inputSchema: unknown; outputSchema: unknown }): SchemaFindings {
  const problem = toolProblem(tool);
  return problem === undefined ? { unchecked: uncheckedParts(tool) } : { problem, unchecked: [] };
}

const deep = (levels: number, wrap: (inner: unknown) => unknown): unknown => {
  let schema: unknown = { type: "string" };
  for (let level = 0; level < levels; level++) schema = wrap(schema);
  return schema;
};
const asProperty = (inner: unknown) => ({ type: "object", properties: { a: inner } });

describe("usable schemas", () => {
  it.each<[string, unknown]>([
    ["an empty one", {}],
    ["an ordinary one", { type: "object", properties: { city: { type: "string" } }, required: ["city"] }],
    ["one that is itself", { $ref: "#" }],
    [
      "mutual recursion",
      {
        type: "object",
        properties: { a: { $ref: "#/$defs/a" } },
        $defs: {
          a: { properties: { b: { $ref: "#/$defs/b" } } },
          b: { properties: { a: { $ref: "#/$defs/a" } } },
        },
      },
    ],
    ["an anchor", { properties: { a: { $ref: "#here" } }, $defs: { b: { $anchor: "here" } } }],
    ["dynamic references", { $dynamicAnchor: "node", properties: { a: { $dynamicRef: "#node" } } }],
    ["recursive references", { $recursiveAnchor: true, properties: { a: { $recursiveRef: "#" } } }],
    [
      "properties named like keywords",
      { properties: { pattern: { type: "string" }, $ref: { type: "string" }, enum: { type: "array" } } },
    ],
    ["a remote reference that is only an example", { examples: [{ $ref: "https://example.com/a.json" }] }],
    ["look-behind and property escapes", { properties: { a: { pattern: "(?<=a)\\p{L}" } } }],
    ["64 levels", deep(63, asProperty)],
    ["an enum of 10,000", { properties: { a: { enum: Array.from({ length: 10_000 }, (_, i) => i) } } }],
  ])("%s", (_name, schema) => {
    expect(checkToolSchema(schema, "input")).toEqual({ unchecked: [] });
  });

  it.each([
    "https://json-schema.org/draft/2020-12/schema",
    "https://json-schema.org/draft/2020-12/schema#",
    "http://json-schema.org/draft/2019-09/schema",
    "http://json-schema.org/draft-07/schema#",
    "https://json-schema.org/draft-07/schema",
    "http://json-schema.org/draft-06/schema#",
    "http://json-schema.org/draft-04/schema#",
    "http://json-schema.org/schema#",
    "https://spec.openapis.org/oas/3.1/dialect/base",
  ])("the dialect %s", ($schema) => {
    expect(checkToolSchema({ $schema, type: "object" }, "input")).toEqual({ unchecked: [] });
  });

  it("an output schema that is not an object", () => {
    expect(checkToolSchema({ type: "array" }, "output")).toEqual({ unchecked: [] });
  });
});

describe("schemas that are withheld", () => {
  it.each<[string, unknown, string]>([
    ["null", null, "inputSchema is not an object"],
    ["a list", [], "inputSchema is not an object"],
    ["a string", "object", "inputSchema is not an object"],
    ["nothing", undefined, "inputSchema is not an object"],
    ["another type at the root", { type: "string" }, "does not describe an object"],
    ["65 levels", deep(64, asProperty), "nested deeper than 64 levels"],
    ["10,000 levels", deep(10_000, asProperty), "nested deeper than 64 levels"],
    ["10,000 levels of allOf", deep(10_000, (inner) => ({ allOf: [inner] })), "nested deeper than"],
    ["10,000 levels of data", { default: deep(10_000, (inner) => [inner]) }, "nested deeper than"],
    [
      "too many subschemas",
      { properties: Object.fromEntries(Array.from({ length: 5_001 }, (_, i) => [`p${i}`, {}])) },
      "has more than 5000 subschemas",
    ],
    ["4 MiB", { description: "x".repeat(4 * 1024 * 1024) }, "is larger than 1 MiB"],
    ["an enum of 100,000", { enum: new Array(100_000).fill(1) }, "has an enum of 100000 entries"],
  ])("%s", (_name, schema, reason) => {
    const before = cpuTimeMs();
    expect(checkToolSchema(schema, "input").problem).toContain(reason);
    expect(cpuTimeMs() - before).toBeLessThan(5_000);
  });

  it("names the schema in the reason", () => {
    expect(checkToolSchema([], "output").problem).toMatch(/^outputSchema is/);
  });

  it("a circular object", () => {
    const schema: Record<string, unknown> = {};
    schema["not"] = schema;
    schema["$ref"] = "#anchor";
    expect(checkToolSchema(schema, "input").problem).toContain("nested deeper than 64 levels");
  });
});

describe("parts that cannot be checked are listed", () => {
  it.each<[string, unknown, string[]]>([
    [
      "a dialect",
      { $schema: "https://example.com/s" },
      ['the dialect "https://example.com/s", read as 2020-12, at /$schema'],
    ],
    ["a dialect that is a number", { $schema: 7 }, ['the dialect "7", read as 2020-12, at /$schema']],
    [
      "a pattern",
      { properties: { "a/b": { items: [{ pattern: "(?>a)" }] } } },
      ['the pattern "(?>a)" at /properties/a~1b/items/0/pattern'],
    ],
    [
      "a pattern of names",
      { patternProperties: { "*": {} } },
      ['the pattern "*" of names at /patternProperties'],
    ],
    [
      "a reference to another document",
      { allOf: [{ $ref: "https://example.com/a.json?token=1" }] },
      ['the reference "https://example.com/a.json" at /allOf/0/$ref'],
    ],
    [
      "a reference to a file",
      { items: { $ref: "file:///etc/passwd" } },
      ['the reference "file:///etc/passwd" at /items/$ref'],
    ],
    ["a missing definition", { items: { $ref: "#/$defs/a" } }, ['the reference "#/$defs/a" at /items/$ref']],
    ["a missing anchor", { $dynamicRef: "#a" }, ['the reference "#a" at /$dynamicRef']],
    [
      "a definition of an embedded document, and one that it lacks",
      {
        properties: {
          a: { $id: "x", $defs: { b: {} }, allOf: [{ $ref: "#/$defs/b" }, { $ref: "#/$defs/c" }] },
        },
      },
      ['the reference "#/$defs/c" at /properties/a/allOf/1/$ref'],
    ],
    [
      "required as a flag",
      { properties: { a: { required: true } } },
      ['required "true" at /properties/a/required'],
    ],
    ["an unknown type", { type: "any" }, ['type "any" at /type']],
    [
      "a type that is no type",
      { properties: { a: { type: ["string", null] } } },
      ["type (a list) at /properties/a/type"],
    ],
    ["an empty enum", { properties: { a: { enum: [] } } }, ["enum (a list) at /properties/a/enum"]],
    [
      "a number as text",
      { properties: { a: { minLength: "3" } } },
      ['minLength "3" at /properties/a/minLength'],
    ],
    ["a property without a schema", { properties: { a: null } }, ["properties (an object) at /properties"]],
    ["no items", { items: null }, ['items "null" at /items']],
  ])("%s", (_name, schema, unchecked) => {
    expect(checkToolSchema(schema, "input")).toEqual({ unchecked });
  });

  it("at most twenty", () => {
    const properties = Object.fromEntries(Array.from({ length: 100 }, (_, i) => [`p${i}`, { pattern: "(" }]));
    expect(checkToolSchema({ properties }, "input").unchecked).toHaveLength(20);
  });
});

describe("both schemas of a tool", () => {
  it.each<[string, unknown, SchemaFindings]>([
    ["none in the output", { type: "object" }, { unchecked: ['the pattern "(" at /pattern'] }],
    [
      "no schema",
      "x",
      { unchecked: ['the pattern "(" at /pattern', "outputSchema, which is not an object"] },
    ],
    [
      "a pattern in both",
      { pattern: ")" },
      { unchecked: ['the pattern "(" at /pattern', 'the pattern ")" at /pattern of the outputSchema'] },
    ],
    [
      "an output that is too deep",
      deep(64, asProperty),
      { problem: expect.stringMatching(/^outputSchema is nested/), unchecked: [] },
    ],
  ])("%s", (_name, outputSchema, expected) => {
    expect(checkToolSchemas({ inputSchema: { pattern: "(" }, outputSchema })).toEqual(expected);
  });
});

it("reads thousands of patterns with properties of characters quickly", () => {
  const before = cpuTimeMs();
  for (const pattern of ["\\p{L}".repeat(20), "\\-\\pL\\p{Greek}".repeat(10), "\\p{L}".repeat(5_000)]) {
    const patterns = Array.from({ length: Math.min(4_000, 900_000 / pattern.length) }, (_, i) => pattern + i);
    const properties = Object.fromEntries(patterns.map((each, i) => [i, { pattern: each }]));
    expect(checkToolSchema({ type: "object", properties }, "input").problem).toBeUndefined();
  }
  expect(cpuTimeMs() - before).toBeLessThan(2_500);
});
