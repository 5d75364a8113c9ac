import { ConfigError } from "@toolport/base";
import { describe, expect, it } from "vitest";
import type { JsonSchema } from "../json-schema.js";
import { deriveSchema } from "./derive-schema.js";
import { SCHEMA_TARGETS, type SchemaTarget } from "./derived-schema.js";

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

describe("every target", () => {
  const ordinary = object({ city: { type: "string", description: "Where" }, days: { type: "integer" } }, [
    "city",
  ]);

  it("does not change the schema for plain", () => {
    const derived = deriveSchema(ordinary, "plain");
    expect(derived.schema).toBe(ordinary);
    expect(derived.changes).toEqual([]);
  });

  it.each(["portable", "openai", "anthropic", "gemini-json"] as const)(
    "changes nothing that %s accepts",
    (target) => {
      const { schema, changes, strict, wrapped, unwrap } = deriveSchema(ordinary, target);
      expect(schema).toEqual(ordinary);
      expect({ changes, strict, wrapped }).toEqual({ changes: [], strict: false, wrapped: false });
      const args = { city: "Oslo" };
      expect(unwrap(args)).toBe(args);
    },
  );

  it.each(SCHEMA_TARGETS)("does not modify the original for %s", (target) => {
    const schema = {
      ...object({ a: { allOf: [{ type: "string" }, { minLength: 1 }], nullable: true } }),
      $defs: {},
    };
    const before = structuredClone(schema);
    deriveSchema(schema, target);
    expect(schema).toEqual(before);
  });
});

describe("an unknown target", () => {
  it.each(["gemini", "constructor", "", undefined, null, 7])(
    "is an error that lists the targets: %j",
    (target) => {
      const derive = () => deriveSchema(object({}), target as SchemaTarget);
      expect(derive).toThrow(ConfigError);
      expect(derive).toThrow(
        'Use one of: "plain", "portable", "openai", "openai-strict", "anthropic", "gemini-json", "gemini-openapi"',
      );
    },
  );
});

describe("the examples of the reference, for targets that reject the keywords", () => {
  it.each<[string, unknown, SchemaTarget, unknown]>([
    [
      "lengths",
      { type: "string", description: "User's full name", minLength: 1, maxLength: 100 },
      "gemini-json",
      { type: "string", description: "User's full name. Must be >= 1 and <= 100 characters." },
    ],
    [
      "lengths in strict mode",
      { type: "string", description: "User's full name", minLength: 1, maxLength: 100 },
      "openai-strict",
      { type: "string", description: "User's full name. Must be >= 1 and <= 100 characters." },
    ],
    [
      "an enum",
      { type: "string", enum: ["pending", "approved"] },
      "gemini-json",
      { type: "string", enum: ["pending", "approved"] },
    ],
    [
      "an enum for OpenAPI",
      { type: "string", enum: ["pending", "approved"], description: "Request status" },
      "gemini-openapi",
      { type: "STRING", format: "enum", enum: ["pending", "approved"], description: "Request status" },
    ],
    [
      "supported bounds",
      { type: "integer", minimum: 0, maximum: 150 },
      "gemini-json",
      { type: "integer", minimum: 0, maximum: 150 },
    ],
    [
      "unsupported bounds",
      { type: "number", exclusiveMinimum: 0, exclusiveMaximum: 1 },
      "gemini-json",
      { type: "number", description: "Must be > 0 and < 1." },
    ],
    [
      "a default",
      { type: "string", enum: ["relevance", "price_asc"], default: "relevance" },
      "openai-strict",
      { type: "string", enum: ["relevance", "price_asc"], description: 'Default: "relevance".' },
    ],
    [
      "a pattern",
      { type: "string", pattern: "^[a-z]+$" },
      "gemini-json",
      { type: "string", description: "Must match the pattern ^[a-z]+$." },
    ],
    [
      "a list",
      { type: "array", items: { type: "string" }, minItems: 1, maxItems: 10, uniqueItems: true },
      "openai-strict",
      {
        type: "array",
        items: { type: "string" },
        minItems: 1,
        maxItems: 10,
        description: "Items must be unique.",
      },
    ],
    [
      "an object in an object",
      object({ name: { type: "string" }, age: { type: "integer" } }, ["name"]),
      "gemini-openapi",
      {
        type: "OBJECT",
        properties: { name: { type: "STRING" }, age: { type: "INTEGER" } },
        required: ["name"],
      },
    ],
  ])("says %s", (_name, schema, target, expected) => {
    expect(property(schema, target)).toEqual(expected);
  });
});

describe("alternatives keep their meaning", () => {
  it.each<[string, unknown, SchemaTarget, unknown]>([
    ["a type list", { type: ["string", "null"] }, "openai", { type: ["string", "null"] }],
    [
      "a type list for OpenAPI",
      { type: ["string", "null"] },
      "gemini-openapi",
      { type: "STRING", nullable: true },
    ],
    [
      "two types for OpenAPI",
      { type: ["string", "number"], minLength: 1 },
      "gemini-openapi",
      { anyOf: [{ type: "STRING", minLength: 1 }, { type: "NUMBER" }] },
    ],
    [
      "two types in strict mode",
      { type: ["string", "integer", "null"], minimum: 1 },
      "openai-strict",
      { anyOf: [{ type: "string" }, { type: "integer", minimum: 1 }, { type: "null" }] },
    ],
    [
      "null as an alternative",
      { anyOf: [{ type: "string" }, { type: "null" }] },
      "anthropic",
      { anyOf: [{ type: "string" }, { type: "null" }] },
    ],
    [
      "null as an alternative for OpenAPI",
      { description: "Who", anyOf: [{ type: "string" }, { type: "null" }] },
      "gemini-openapi",
      { description: "Who", type: "STRING", nullable: true },
    ],
    ["nullable", { type: "string", nullable: true }, "openai", { type: ["string", "null"] }],
    [
      "supported oneOf",
      { oneOf: [{ type: "integer" }, { type: "string" }] },
      "openai",
      { oneOf: [{ type: "integer" }, { type: "string" }] },
    ],
    [
      "unsupported oneOf",
      { oneOf: [{ type: "integer" }, { type: "string" }] },
      "gemini-json",
      { anyOf: [{ type: "integer" }, { type: "string" }] },
    ],
    [
      "keywords beside anyOf",
      {
        type: "object",
        properties: { a: { type: "string" } },
        anyOf: [object({ b: { type: "string" } }), object({ c: { type: "string" } })],
      },
      "gemini-json",
      {
        anyOf: [
          object({ a: { type: "string" }, b: { type: "string" } }),
          object({ a: { type: "string" }, c: { type: "string" } }),
        ],
      },
    ],
    [
      "allOf",
      { allOf: [object({ a: { type: "string" } }, ["a"]), object({ b: { type: "string" } }, ["b"])] },
      "gemini-json",
      { type: "object", properties: { a: { type: "string" }, b: { type: "string" } }, required: ["a", "b"] },
    ],
    ["const", { const: "fixed" }, "gemini-json", { type: "string", enum: ["fixed"] }],
    ["true", true, "openai", {}],
    ["false", false, "openai", { not: {} }],
    ["false in words", false, "gemini-json", { description: "Must not be given." }],
    [
      "a tuple of draft-07",
      { type: "array", items: [{ type: "string" }, { type: "integer" }], additionalItems: false },
      "anthropic",
      { type: "array", prefixItems: [{ type: "string" }, { type: "integer" }], items: false },
    ],
    [
      "a bound of draft-04",
      { type: "number", minimum: 0, exclusiveMinimum: true },
      "anthropic",
      { type: "number", exclusiveMinimum: 0 },
    ],
  ])("%s", (_name, schema, target, expected) => {
    expect(property(schema, target)).toEqual(expected);
  });
});

describe("references", () => {
  const tree = {
    ...object({ root: { $ref: "#/$defs/node", description: "The top" } }),
    $defs: {
      node: object(
        { name: { type: "string" }, children: { type: "array", items: { $ref: "#/$defs/node" } } },
        ["name"],
      ),
    },
  };

  it.each(SCHEMA_TARGETS.slice(1))("are inlined and limited for %s", (target) => {
    const { schema, changes } = deriveSchema(tree, target);
    const text = JSON.stringify(schema);
    expect(text).not.toContain("$ref");
    expect(text).not.toContain("$defs");
    expect(text.match(/children/g)?.length).toBe(3);
    expect(changes).toContainEqual(
      expect.objectContaining({ what: "cut", path: "#/$defs/node/properties/children/items" }),
    );
  });

  it("keep the description beside them", () => {
    expect(deriveSchema(tree, "openai").schema).toMatchObject({
      properties: { root: { description: "The top", type: "object" } },
    });
  });

  it("without a target are reported", () => {
    expect(kinds(object({ a: { $ref: "#/$defs/none" } }), "openai")).toEqual(["cut $ref #/properties/a"]);
  });

  it("that were cut disable strict mode", () => {
    expect(deriveSchema(tree, "openai-strict").strict).toBe(false);
  });
});
