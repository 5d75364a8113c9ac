/** Keywords that cannot be evaluated are ignored. The rest of the schema still counts. */
import { beforeAll, describe, expect, it } from "vitest";
import { createSchemaValidator } from "./create-validator.js";
import type { JsonSchema } from "./json-schema.js";

const validator = createSchemaValidator({ timeoutMs: 10_000 });
beforeAll(() => validator.prepare());

const accepts = (schema: JsonSchema, value: unknown): boolean =>
  (validator.validate(schema, value) as unknown[]).length === 0;

const a = (keywords: Record<string, unknown>, more: Record<string, unknown> = {}): JsonSchema => ({
  type: "object",
  properties: { a: keywords },
  ...more,
});

/** The schema, values that are accepted, and values that are not. */
describe.each<[string, JsonSchema, unknown[], unknown[]]>([
  ["an escaped hyphen", a({ pattern: "^\\w+\\-\\w+$" }), [{ a: "b-c" }], [{ a: "bc" }]],
  ["a named group of Python", a({ pattern: "^(?P<y>\\d+)$" }), [{ a: "1" }], [{ a: "x" }]],
  ["an atomic group", a({ type: "string", pattern: "(?>a+)b" }), [{ a: "x" }], [{ a: 1 }]],
  ["a broken pattern", a({ type: "string", pattern: "([" }), [{ a: "x" }], [{ a: 1 }]],
  [
    "a translated pattern of names",
    { patternProperties: { "^x\\-": { type: "string" } }, additionalProperties: false },
    [{ "x-a": "" }],
    [{ "x-a": 1 }, { y: 1 }],
  ],
  [
    "two patterns of names that are the same",
    { patternProperties: { "^x-": { type: "string" }, "^x\\-": { minLength: 2 } } },
    [{ "x-a": "ab" }],
    [{ "x-a": "a" }, { "x-a": 1 }],
  ],
  [
    "an unreadable pattern of names in a closed object",
    {
      properties: { a: { type: "string" } },
      patternProperties: { "(?>x)": {} },
      additionalProperties: false,
    },
    [{ a: "", x: 1, y: 1 }],
    [{ a: 1 }],
  ],
  [
    "an unreadable pattern of names and unevaluatedProperties",
    { allOf: [{ patternProperties: { "(?>x)": {} } }], unevaluatedProperties: false },
    [{ x: 1 }],
    [],
  ],
  [
    "an own dialect",
    { $schema: "https://example.com/mine", ...a({ type: "string" }) },
    [{ a: "" }],
    [{ a: 1 }],
  ],
  ["a dialect that is no text", { $schema: 7, ...a({ type: "string" }) }, [{ a: "" }], [{ a: 1 }]],
  [
    "a reference to another document",
    a({ $ref: "https://example.com/s.json" }, { required: ["a"] }),
    [{ a: 1 }, { a: {} }],
    [{}],
  ],
  ["a missing definition", a({ $ref: "#/$defs/x" }, { required: ["a"] }), [{ a: 1 }], [{}]],
  ["a missing anchor", a({ $ref: "#x" }, { required: ["a"] }), [{ a: 1 }], [{}]],
  ["a missing dynamic anchor", a({ $dynamicRef: "#x", type: "string" }), [{ a: "" }], [{ a: 1 }]],
  [
    "another document beside unevaluatedProperties",
    { allOf: [{ $ref: "base.json" }], properties: { a: { type: "string" } }, unevaluatedProperties: false },
    [{ a: "", b: 1 }],
    [{ a: 1 }],
  ],
  [
    "another document beside unevaluatedItems",
    a({ allOf: [{ $ref: "base.json" }], prefixItems: [{ type: "string" }], unevaluatedItems: false }),
    [{ a: ["", 1] }],
    [{ a: [1] }],
  ],
  ["required as a flag", a({ type: "string", required: true }), [{ a: "" }, {}], [{ a: 1 }]],
  ["an unknown type", a({ type: "any", minLength: 2 }), [{ a: 1 }, { a: "ab" }], [{ a: "a" }]],
  ["a list with a type that is none", a({ type: ["string", null] }), [{ a: null }, { a: "" }], []],
  ["no types", a({ type: [] }), [{ a: 1 }], []],
  ["an empty enum", a({ type: "string", enum: [] }), [{ a: "" }], [{ a: 1 }]],
  ["an enum that is no list", a({ type: "string", enum: null }), [{ a: "" }], [{ a: 1 }]],
  ["properties as an empty list", { properties: [], additionalProperties: false }, [{}], [{ a: 1 }]],
  ["properties as text", { properties: "a", additionalProperties: false, required: ["a"] }, [{ a: 1 }], [{}]],
  [
    "a property without a schema",
    { properties: { a: null, b: { type: "string" } }, additionalProperties: false },
    [{ a: 1, b: "" }],
    [{ b: 1 }, { c: 1 }],
  ],
  ["a length as text", a({ type: "string", minLength: "3" }), [{ a: "" }], [{ a: 1 }]],
  ["no items", a({ type: "array", items: null }), [{ a: [1] }], [{ a: 1 }]],
  ["an alternative that is no schema", a({ anyOf: [null, { type: "string" }] }), [{ a: 1 }], []],
  ["an exclusive bound as a flag", a({ minimum: 1, exclusiveMinimum: true }), [{ a: 2 }], [{ a: 1 }]],
  [
    "an exclusive bound as a flag that is off",
    a({ maximum: 1, exclusiveMaximum: false }),
    [{ a: 1 }],
    [{ a: 2 }],
  ],
  ["an exclusive bound as a flag alone", a({ exclusiveMinimum: true }), [{ a: 1 }], []],
  [
    "an exclusive bound as a number in draft-04",
    { $schema: "http://json-schema.org/draft-04/schema#", ...a({ minimum: 0, exclusiveMinimum: 1 }) },
    [{ a: 2 }],
    [{ a: 1 }, { a: 0 }],
  ],
  ["a text that is a pattern for the server", a({ format: "regex" }), [{ a: "(?i)x\\Z" }, { a: "([" }], []],
])("%s", (_name, schema, accepted, refused) => {
  it("is accepted where it cannot be checked, and refused elsewhere", () => {
    for (const value of accepted) expect(accepts(schema, value), JSON.stringify(value)).toBe(true);
    for (const value of refused) expect(accepts(schema, value), JSON.stringify(value)).toBe(false);
  });
});

/** Where accepting more would mean refusing more, the whole keyword is ignored. */
describe.each<[string, JsonSchema, unknown[], unknown[]]>([
  ["not", { not: { pattern: "(?>a)" } }, ["a", 1], []],
  ["not, and beside it", { not: { pattern: "(?>a)" }, type: "string" }, ["a"], [1]],
  ["not of not", { not: { not: { pattern: "(?>a)" } } }, ["a", 1], []],
  ["not behind a reference", { not: { $ref: "#/$defs/a" }, $defs: { a: { $ref: "other.json" } } }, ["a"], []],
  // biome-ignore lint/suspicious/noThenProperty: a keyword of JSON Schema
  ["if", { if: { pattern: "(?>a)" }, then: { minLength: 9 }, else: { maxLength: 0 } }, ["a", ""], []],
  [
    "if, beside unevaluatedProperties",
    // biome-ignore lint/suspicious/noThenProperty: a keyword of JSON Schema
    { if: { type: "any" }, then: { properties: { a: {} } }, unevaluatedProperties: false },
    [{ a: 1 }],
    [],
  ],
  // biome-ignore lint/suspicious/noThenProperty: a keyword of JSON Schema
  ["then", { if: { type: "string" }, then: { pattern: "(?>a)", minLength: 2 } }, ["ab", 1], ["a"]],
  ["oneOf", { oneOf: [{ pattern: "(?>a)" }, { maxLength: 2 }] }, ["a", "abc"], []],
  ["not, without alternatives", { not: { anyOf: [] } }, ["a"], []],
  ["oneOf beside anyOf", { oneOf: [{ pattern: "(?>a)" }, {}], anyOf: [{ type: "string" }] }, ["a"], [1]],
  ["contains", { contains: { pattern: "(?>a)", type: "string" }, maxContains: 1 }, [["a", "b"]], [[1]]],
  ["a format that does not exist", { not: { format: "colour" } }, ["red"], []],
  [
    "not elsewhere in a schema with such a pattern",
    { properties: { a: { pattern: "(?>a)" }, b: { not: { type: "string" } } } },
    [{ a: "b", b: 1 }],
    [{ b: "" }],
  ],
])("below %s", (_name, schema, accepted, refused) => {
  it("a keyword that cannot be evaluated refuses nothing", () => {
    for (const value of accepted) expect(accepts(schema, value), JSON.stringify(value)).toBe(true);
    for (const value of refused) expect(accepts(schema, value), JSON.stringify(value)).toBe(false);
  });
});
