import { describe, expect, it } from "vitest";
import type { JsonSchema } from "../json-schema.js";
import { deriveSchema } from "./derive-schema.js";
import type { SchemaTarget } from "./derived-schema.js";

const object = (properties: Record<string, unknown>, required?: string[]): JsonSchema => ({
  type: "object",
  properties,
  ...(required && { required }),
});
/** What one property becomes. */
const property = (schema: unknown, target: SchemaTarget): unknown =>
  (deriveSchema(object({ it: schema }, ["it"]), target).schema["properties"] as Record<string, unknown>)[
    "it"
  ];
const kinds = (schema: JsonSchema, target: SchemaTarget): string[] =>
  deriveSchema(schema, target).changes.map(({ what, keyword, path }) => `${what} ${keyword} ${path}`);

describe("strict mode", () => {
  const schema = object(
    {
      city: { type: "string" },
      unit: { type: "string", enum: ["C", "F"] },
      at: object({ lat: { type: "number" } }),
      tag: { type: ["string", "null"] },
    },
    ["city"],
  );

  it("requires all properties, closes all objects, and makes optional properties nullable", () => {
    const { schema: derived, strict } = deriveSchema(schema, "openai-strict");
    expect(strict).toBe(true);
    expect(derived).toEqual({
      type: "object",
      properties: {
        city: { type: "string" },
        unit: { anyOf: [{ type: "string", enum: ["C", "F"] }, { type: "null" }] },
        at: {
          anyOf: [
            {
              type: "object",
              properties: { lat: { type: ["number", "null"] } },
              required: ["lat"],
              additionalProperties: false,
            },
            { type: "null" },
          ],
        },
        tag: { type: ["string", "null"] },
      },
      required: ["city", "unit", "at", "tag"],
      additionalProperties: false,
    });
    expect(kinds(schema, "openai-strict")).toContain("required unit #");
    expect(kinds(schema, "openai-strict")).toContain("closed additionalProperties #/properties/at");
  });

  it("removes only the nulls that the original does not allow", () => {
    const { unwrap, wrap } = deriveSchema(schema, "openai-strict");
    expect(unwrap({ city: "Oslo", unit: null, at: { lat: null }, tag: null })).toEqual({
      city: "Oslo",
      at: {},
      tag: null,
    });
    expect(wrap({ city: "Oslo", at: {} })).toEqual({
      city: "Oslo",
      unit: null,
      at: { lat: null },
      tag: null,
    });
  });

  it("removes them in lists and in alternatives", () => {
    const line = object({ kind: { const: "line" }, width: { type: "number" } }, ["kind"]);
    const dot = object({ kind: { const: "dot" }, size: { type: "number" } }, ["kind"]);
    const { unwrap, strict } = deriveSchema(
      object({ shapes: { type: "array", items: { anyOf: [line, dot] } } }),
      "openai-strict",
    );
    expect(strict).toBe(true);
    expect(
      unwrap({
        shapes: [
          { kind: "dot", size: null },
          { kind: "line", width: 2 },
        ],
      }),
    ).toEqual({
      shapes: [{ kind: "dot" }, { kind: "line", width: 2 }],
    });
  });

  it.each<[string, JsonSchema, string]>([
    ["any object", object({ a: { type: "object" } }), "#/properties/a"],
    ["more properties", { ...object({}), additionalProperties: { type: "string" } }, "#"],
    ["anything", object({ a: {} }), "#/properties/a"],
    ["a list of anything", object({ a: { type: "array" } }), "#/properties/a"],
    ["patterns of names", { ...object({}), patternProperties: { "^x": {} } }, "#"],
    ["a name that is not declared", { ...object({}), required: ["a"] }, "#"],
    ["no properties at all", { type: "object" }, "#"],
    ["a list of objects", object({ a: { enum: [{}, { b: 1 }] } }), "#/properties/a"],
    ["too many values", object({ a: { enum: Array.from({ length: 1_001 }, (_, i) => `v${i}`) } }), "#"],
  ])("is disabled for %s, with a reason", (_name, given, path) => {
    const { strict, changes, schema: derived } = deriveSchema(given, "openai-strict");
    expect(strict).toBe(false);
    expect(changes).toContainEqual(expect.objectContaining({ what: "not-strict", path }));
    expect(derived).toEqual(deriveSchema(given, "openai").schema);
  });

  it("describes patterns in words that its engine does not support", () => {
    expect(property({ type: "string", pattern: "^(?!x)" }, "openai-strict")).toEqual({
      type: "string",
      description: "Must match the pattern ^(?!x).",
    });
    expect(property({ type: "string", pattern: "^@\\w+$" }, "openai-strict")).toEqual({
      type: "string",
      pattern: "^@\\w+$",
    });
  });
});
