import { describe, expect, it } from "vitest";
import type { JsonSchema } from "../json-schema.js";
import { deriveSchema } from "./derive-schema.js";
import { takesPattern } from "./target-rules.js";

const object = (properties: Record<string, unknown>, required?: string[]): JsonSchema => ({
  type: "object",
  properties,
  ...(required && { required }),
});
const portable = (schema: JsonSchema) => deriveSchema(schema, "portable");
const property = (schema: unknown): unknown =>
  (portable(object({ it: schema })).schema["properties"] as Record<string, unknown>)["it"];
const kinds = (schema: JsonSchema): string[] =>
  portable(schema).changes.map(({ what, keyword, path }) => `${what} ${keyword} ${path}`);

describe("the root", () => {
  it.each<[string, JsonSchema]>([
    ["names no properties", { type: "object" }],
    ["names only its dialect", { $schema: "http://json-schema.org/draft-07/schema#" }],
    ["is empty", {}],
  ])("is an object with properties where the original %s", (_title, schema) => {
    expect(portable(schema).schema).toEqual({ type: "object", properties: {} });
  });

  it("has the properties of all alternatives, and describes which belong together", () => {
    const schema = {
      type: "object",
      description: "A shape",
      properties: { id: { type: "string" } },
      required: ["id"],
      anyOf: [
        object({ kind: { const: "circle" }, radius: { type: "number" } }, ["kind", "radius"]),
        object({ kind: { const: "square" }, side: { type: "number" }, label: { type: "string" } }, [
          "kind",
          "side",
        ]),
      ],
    };
    const derived = portable(schema);
    expect(derived.schema).toEqual({
      type: "object",
      description:
        'A shape. Give one of these combinations: kind "circle" with radius; kind "square" with side (optional: label).',
      properties: {
        id: { type: "string" },
        kind: { type: "string", enum: ["circle", "square"] },
        radius: { type: "number" },
        side: { type: "number" },
        label: { type: "string" },
      },
      required: ["id", "kind"],
    });
    expect(derived.wrapped).toBe(false);
    expect(kinds(schema)).toContain("described anyOf #");
  });

  it("accepts for a shared property what any alternative accepts", () => {
    const { schema } = portable({
      oneOf: [
        object({ value: { type: "string" }, same: { type: "boolean" } }),
        object({ value: { type: "number" }, same: { type: "boolean" } }),
        { anyOf: [object({ value: { type: "null" } }), object({ deep: { type: "string" } }, ["deep"])] },
      ],
    });
    expect(schema["properties"]).toEqual({
      value: { anyOf: [{ type: "string" }, { anyOf: [{ type: "number" }, { type: "null" }] }] },
      same: { type: "boolean" },
      deep: { type: "string" },
    });
    expect(schema).not.toHaveProperty("required");
  });

  it("keeps its own constraints for a property of an alternative", () => {
    const { schema } = portable({
      ...object({ kind: { type: "string", enum: ["a", "b", "c"], description: "Which" } }, ["kind"]),
      oneOf: [object({ kind: { const: "a" } }), object({ kind: { const: "b" }, more: { type: "string" } })],
    });
    expect(schema["properties"]).toEqual({
      kind: { type: "string", enum: ["a", "b"], description: "Which" },
      more: { type: "string" },
    });
  });

  it("leaves out alternatives that arguments cannot match", () => {
    const { schema, wrapped } = portable({
      anyOf: [object({ a: { type: "string" } }, ["a"]), { type: "null" }],
    });
    expect(wrapped).toBe(false);
    expect(schema).toEqual(object({ a: { type: "string" } }, ["a"]));
  });

  it.each<[string, JsonSchema]>([
    ["is not an object", { anyOf: [{ type: "string" }, { type: "null" }] }],
    ["lists its values", { type: "object", enum: [{ a: 1 }, { a: 2 }] }],
  ])("is wrapped if it %s", (_title, original) => {
    const { schema, wrapped, unwrap } = portable(original);
    expect(wrapped).toBe(true);
    expect(schema).toMatchObject({ type: "object", required: ["value"] });
    expect(unwrap({ value: '{"a":1}' })).toEqual(original["enum"] ? { a: 1 } : '{"a":1}');
  });

  it("renames properties whose names get lost in copies", () => {
    const original = JSON.parse('{"properties":{"__proto__":{"type":"string"},"strict":{"type":"boolean"}}}');
    const { schema, unwrap } = portable(original);
    expect(Object.keys(schema["properties"] as object)).toEqual(["proto", "strict_2"]);
    expect(JSON.stringify(unwrap({ proto: "x", strict_2: true }))).toBe('{"__proto__":"x","strict":true}');
  });
});

describe("a property", () => {
  it.each<[string, unknown, unknown]>([
    [
      "of several types",
      { type: ["string", "number"], description: "Which" },
      { anyOf: [{ type: "string", description: "Which" }, { type: "number" }] },
    ],
    ["that may be null", { type: ["string", "null"] }, { anyOf: [{ type: "string" }, { type: "null" }] }],
    [
      "of several types that may be null",
      { anyOf: [{ type: "integer" }, { type: ["boolean", "null"] }] },
      { anyOf: [{ type: "integer" }, { anyOf: [{ type: "boolean" }, { type: "null" }] }] },
    ],
    ["that is always null", { type: "null" }, { type: "null" }],
    [
      "that is one of some numbers",
      { type: "integer", enum: [1, 2] },
      { type: "integer", description: "Must be one of: 1, 2." },
    ],
    [
      "that may be null, or one of some texts",
      { enum: ["a", null] },
      { anyOf: [{ type: "string", enum: ["a"] }, { type: "null" }] },
    ],
    [
      "that is a list of anything",
      { type: "array" },
      {
        type: "array",
        items: {
          anyOf: [
            { type: "string", description: "An object or a list is given as JSON text." },
            { type: "number" },
            { anyOf: [{ type: "boolean" }, { type: "null" }] },
          ],
        },
      },
    ],
    [
      "that is a map",
      { type: "object", description: "Labels", additionalProperties: { type: "string" } },
      {
        type: "string",
        description:
          'Labels. A JSON object, given as JSON text. Other properties must match the JSON Schema {"type":"string"}.',
      },
    ],
    [
      "that is closed and empty",
      object({}),
      { type: "string", description: "A JSON object, given as JSON text." },
    ],
    [
      "with a pattern that only JavaScript supports",
      { type: "string", pattern: "^\\p{L}+$" },
      { type: "string", description: "Must match the pattern ^\\p{L}+$." },
    ],
    ["that accepts nothing", false, { type: "string", description: "Must not be given." }],
    [
      "with limits that JSON cannot represent",
      { type: "number", maximum: Number.POSITIVE_INFINITY },
      { type: "number" },
    ],
    ["with a limit beyond the range of the message", { type: "string", maxLength: 1e21 }, { type: "string" }],
    [
      "with a format of another type",
      { type: "integer", format: "date-time" },
      { type: "integer", description: "Format: date-time." },
    ],
  ])("%s", (_title, schema, expected) => {
    expect(property(schema)).toEqual(expected);
  });

  it("that is required but not declared is described in words", () => {
    expect(portable(object({ a: { type: "string" } }, ["a", "b"])).schema).toEqual({
      type: "object",
      description: "Must be given: b.",
      properties: { a: { type: "string" } },
      required: ["a"],
    });
  });

  it("that contains itself is inlined to a limit, then becomes text", () => {
    const schema = {
      ...object({ tree: { $ref: "#/$defs/node" } }),
      $defs: { node: object({ next: { $ref: "#/$defs/node" } }) },
    };
    const { schema: written, unwrap } = portable(schema);
    expect(JSON.stringify(written)).not.toContain("$ref");
    const deep = { tree: { next: { next: { next: '{"next":{"next":{}}}' } } } };
    expect(unwrap(deep)).toEqual({ tree: { next: { next: { next: { next: { next: {} } } } } } });
  });
});

describe("arguments", () => {
  const schema = object({
    "a b": { type: "object" },
    choice: { anyOf: [{ type: "object" }, { type: "integer" }] },
    text: { type: ["string", "object"] },
  });

  it("are converted in both directions", () => {
    const { wrap, unwrap } = portable(schema);
    const original = { "a b": { x: 1 }, choice: { y: 2 }, text: "plain" };
    const sent = { a_b: '{"x":1}', choice: '{"y":2}', text: "plain" };
    expect(wrap(original)).toEqual(sent);
    expect(unwrap(sent)).toEqual(original);
    expect(unwrap({ choice: 3, text: "{}" })).toEqual({ choice: 3, text: {} });
  });

  it.each(["not JSON", "{broken", '"text"', "[1]", "", "null"])(
    "that are not an object stay unchanged: %j",
    (text) => {
      expect(portable(schema).unwrap({ a_b: text })).toEqual({ "a b": text });
    },
  );

  it("with a key `__proto__` in the text change no prototype", () => {
    const { "a b": parsed } = portable(schema).unwrap({ a_b: '{"__proto__":{"bad":1}}' });
    expect(Object.getPrototypeOf(parsed)).toBe(Object.prototype);
    expect((parsed as { bad?: unknown }).bad).toBeUndefined();
  });

  it("are returned unchanged if the schema was not changed", () => {
    const args = { city: "Oslo" };
    expect(portable(object({ city: { type: "string" } })).unwrap(args)).toBe(args);
  });
});

it.each<[string, boolean]>([
  ["^[a-z]+$", true],
  ["^(?:a|b)\\d{2,}\\.\\w*$", true],
  ["^https?:\\/\\/", true],
  ["(?=a)", false],
  ["(?<!a)b", false],
  ["(?<name>a)", false],
  ["\\p{L}", false],
  ["(a)\\1", false],
  ["\\u{1F600}", false],
  ["[^]", false],
  ["(", false],
])("the pattern %s is simple: %s", (pattern, expected) => {
  expect(takesPattern(pattern, { simplePatterns: true })).toBe(expected);
});
