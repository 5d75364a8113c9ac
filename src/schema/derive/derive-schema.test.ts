import { describe, expect, it } from "vitest";
import type { JsonSchema } from "../json-schema.js";
import { deriveSchema } from "./derive-schema.js";
import type { SchemaTarget } from "./derived-schema.js";

const TARGETS: SchemaTarget[] = [
  "plain",
  "openai",
  "openai-strict",
  "anthropic",
  "gemini-json",
  "gemini-openapi",
];
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

  it("leaves plain as it is", () => {
    const derived = deriveSchema(ordinary, "plain");
    expect(derived.schema).toBe(ordinary);
    expect(derived.changes).toEqual([]);
  });

  it.each(["openai", "anthropic", "gemini-json"] as const)("changes nothing that %s takes", (target) => {
    const { schema, changes, strict, wrapped, unwrap } = deriveSchema(ordinary, target);
    expect(schema).toEqual(ordinary);
    expect({ changes, strict, wrapped }).toEqual({ changes: [], strict: false, wrapped: false });
    const args = { city: "Oslo" };
    expect(unwrap(args)).toBe(args);
  });

  it.each(TARGETS)("does not touch what %s is given", (target) => {
    const schema = {
      ...object({ a: { allOf: [{ type: "string" }, { minLength: 1 }], nullable: true } }),
      $defs: {},
    };
    const before = structuredClone(schema);
    deriveSchema(schema, target);
    expect(schema).toEqual(before);
  });
});

describe("the examples of the reference, where a target refuses the keywords", () => {
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
      "bounds that are taken",
      { type: "integer", minimum: 0, maximum: 150 },
      "gemini-json",
      { type: "integer", minimum: 0, maximum: 150 },
    ],
    [
      "bounds that are not",
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
      "oneOf that is taken",
      { oneOf: [{ type: "integer" }, { type: "string" }] },
      "openai",
      { oneOf: [{ type: "integer" }, { type: "string" }] },
    ],
    [
      "oneOf that is not",
      { oneOf: [{ type: "integer" }, { type: "string" }] },
      "gemini-json",
      { anyOf: [{ type: "integer" }, { type: "string" }] },
    ],
    [
      "what stands beside anyOf",
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

  it.each(TARGETS.slice(1))("are inlined and cut for %s", (target) => {
    const { schema, changes } = deriveSchema(tree, target);
    const text = JSON.stringify(schema);
    expect(text).not.toContain("$ref");
    expect(text).not.toContain("$defs");
    expect(text.match(/children/g)?.length).toBe(3);
    expect(changes).toContainEqual(
      expect.objectContaining({ what: "cut", path: "#/$defs/node/properties/children/items" }),
    );
  });

  it("keep the words beside them", () => {
    expect(deriveSchema(tree, "openai").schema).toMatchObject({
      properties: { root: { description: "The top", type: "object" } },
    });
  });

  it("to nothing are reported", () => {
    expect(kinds(object({ a: { $ref: "#/$defs/none" } }), "openai")).toEqual(["cut $ref #/properties/a"]);
  });

  it("do not make strict mode promise what it cannot hold", () => {
    expect(deriveSchema(tree, "openai-strict").strict).toBe(false);
  });
});

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

  it("requires everything, closes everything, and lets what is optional be null", () => {
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

  it("takes back the nulls that the original does not allow, and no others", () => {
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

  it("takes them back in lists and in alternatives", () => {
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
  ])("gives up on %s and says so", (_name, given, path) => {
    const { strict, changes, schema: derived } = deriveSchema(given, "openai-strict");
    expect(strict).toBe(false);
    expect(changes).toContainEqual(expect.objectContaining({ what: "not-strict", path }));
    expect(derived).toEqual(deriveSchema(given, "openai").schema);
  });

  it("puts patterns into words that its engine does not know", () => {
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

describe("a root", () => {
  it.each(TARGETS.slice(1))("that is no object is wrapped for %s, and unwrapped", (target) => {
    const { wrapped, schema, unwrap } = deriveSchema({ type: "string", description: "Name" }, target);
    expect(wrapped).toBe(true);
    expect(schema).toMatchObject({ properties: { value: { description: "Name" } }, required: ["value"] });
    expect(unwrap({ value: "Ada" })).toBe("Ada");
  });

  it.each(TARGETS.slice(1))("that is a choice of objects is wrapped for %s", (target) => {
    const choice = {
      type: "object",
      oneOf: [object({ a: { type: "string" } }, ["a"]), object({ b: { type: "string" } }, ["b"])],
    };
    const { wrapped, schema, unwrap, wrap } = deriveSchema(choice, target);
    expect(wrapped).toBe(true);
    expect(schema).not.toHaveProperty("oneOf");
    expect(unwrap(wrap({ b: "x" }))).toEqual({ b: "x" });
    expect(unwrap({ b: "x" })).toEqual({ b: "x" });
  });

  it.each(TARGETS.slice(1))("that asks for one of its properties says so in words for %s", (target) => {
    const either = {
      ...object({ url: { type: "string" }, path: { type: "string" } }),
      anyOf: [{ required: ["url"] }, { required: ["path"] }],
    };
    const { schema, wrapped, changes } = deriveSchema(either, target);
    expect(wrapped).toBe(false);
    expect(schema["description"]).toBe("At least one of these must be given: url, path.");
    expect(schema).not.toHaveProperty("anyOf");
    expect(changes).toContainEqual(
      expect.objectContaining({ what: "described", keyword: "anyOf", path: "#" }),
    );
  });

  it("gets what it lacks", () => {
    expect(deriveSchema({}, "openai").schema).toEqual({ type: "object", properties: {} });
    expect(deriveSchema({ properties: { a: {} } }, "anthropic").schema).toEqual(object({ a: {} }));
    expect(deriveSchema({ type: "object" }, "gemini-openapi").schema).toEqual({ type: "OBJECT" });
  });
});

describe("names that a target refuses", () => {
  const schema = object(
    {
      $select: { type: "string" },
      select: { type: "string" },
      "filter[name]": object({ "a b": { type: "integer" } }),
    },
    ["$select"],
  );

  it("are others for the model and the same for the server", () => {
    const { schema: derived, unwrap, wrap, changes } = deriveSchema(schema, "anthropic");
    expect(Object.keys(derived["properties"] as object)).toEqual(["select_2", "select", "filter_name"]);
    expect(derived["required"]).toEqual(["select_2"]);
    expect(changes).toContainEqual({ path: "#", keyword: "$select", what: "renamed", detail: "select_2" });
    const args = { $select: "x", select: "y", "filter[name]": { "a b": 1 } };
    expect(wrap(args)).toEqual({ select_2: "x", select: "y", filter_name: { a_b: 1 } });
    expect(unwrap(wrap(args))).toEqual(args);
  });

  it("stay where there is no rule", () => {
    expect(deriveSchema(schema, "openai").changes).toEqual([]);
  });
});

describe("schemas made to be trouble", () => {
  const wide = { ...object({ a: { $ref: "#/$defs/a" } }), $defs: {} as Record<string, unknown> };
  for (let level = 0; level < 20; level++)
    wide.$defs[String.fromCharCode(97 + level)] = object(
      Object.fromEntries(
        Array.from({ length: 10 }, (_, i) => [
          `p${i}`,
          { $ref: `#/$defs/${String.fromCharCode(98 + level)}` },
        ]),
      ),
    );
  let deep: unknown = { type: "string" };
  for (let level = 0; level < 5_000; level++) deep = { allOf: [deep] };
  const filter = {
    ...object({ where: { $ref: "#/$defs/f" } }),
    $defs: {
      f: {
        anyOf: [
          object({ and: { type: "array", items: { $ref: "#/$defs/f" } } }),
          object({ or: { type: "array", items: { $ref: "#/$defs/f" } } }),
          object({ not: { $ref: "#/$defs/f" } }),
        ],
      },
    },
  };
  const cases: [string, unknown][] = [
    ["itself", { $ref: "#" }],
    ["itself in allOf", { allOf: [{ $ref: "#" }, { $ref: "#" }] }],
    ["references that grow", wide],
    ["recursion that branches", filter],
    ["5,000 levels", deep],
    [
      "nonsense",
      {
        type: 3,
        properties: [],
        required: "a",
        enum: {},
        anyOf: {},
        items: 1,
        minLength: -1,
        description: {},
      },
    ],
    ["no schema", "string"],
    ["null", null],
    [
      "10,000 properties",
      object(Object.fromEntries(Array.from({ length: 10_000 }, (_, i) => [`p${i}`, {}]))),
    ],
    [
      "many alternatives beside many",
      object({
        a: {
          allOf: Array.from({ length: 40 }, () => ({
            anyOf: Array.from({ length: 40 }, (_, i) => object({ [`k${i}`]: { type: "string" } })),
          })),
        },
      }),
    ],
    [
      "prototypes",
      JSON.parse(
        '{"type":"object","properties":{"__proto__":{"type":"string"},"constructor":{}},"required":["__proto__"]}',
      ),
    ],
  ];

  it.each(
    cases.flatMap(([name, schema]) => TARGETS.slice(1).map((target) => [name, target, schema] as const)),
  )("%s for %s", (_name, target, schema) => {
    const before = performance.now();
    const { schema: derived, changes } = deriveSchema(schema as JsonSchema, target);
    expect(performance.now() - before).toBeLessThan(1_000);
    expect(JSON.stringify(derived).length).toBeLessThan(2_000_000);
    expect(String(derived["type"]).toLowerCase()).toBe("object");
    expect(changes.length).toBeLessThanOrEqual(1_000);
    expect(({} as { type?: unknown }).type).toBeUndefined();
  });

  it("says when nothing could be done", () => {
    expect(deriveSchema(deep as JsonSchema, "openai")).toMatchObject({
      schema: { type: "object", properties: {} },
      changes: [{ path: "#", what: "replaced" }],
    });
  });
});
