import { expect, it } from "vitest";
import type { JsonSchema } from "./json-schema.js";
import { fromParameters, type Parameter, toParameters } from "./parameters.js";

const object = (properties: Record<string, unknown>, required?: string[]): JsonSchema => ({
  type: "object",
  properties,
  ...(required && { required }),
});
const one = (property: unknown): Parameter => toParameters(object({ it: property }))[0]!;

/** The example schemas of the reference, with the documented parameters. */
it.each<[string, JsonSchema, Parameter[]]>([
  [
    "a string",
    object({ name: { type: "string", description: "User's full name", minLength: 1, maxLength: 100 } }, [
      "name",
    ]),
    [
      {
        name: "name",
        type: "string",
        description: "User's full name. Must be >= 1 and <= 100 characters.",
        required: true,
      },
    ],
  ],
  [
    "an enum",
    object({
      status: { type: "string", enum: ["pending", "approved", "rejected"], description: "Request status" },
    }),
    [
      {
        name: "status",
        type: "string",
        enum: ["pending", "approved", "rejected"],
        description: "Request status",
        required: false,
      },
    ],
  ],
  [
    "numbers",
    object({
      age: { type: "integer", minimum: 0, maximum: 150 },
      score: { type: "number", minimum: 0.0, maximum: 100.0 },
    }),
    [
      { name: "age", type: "integer", description: "Must be >= 0 and <= 150.", required: false },
      { name: "score", type: "number", description: "Must be >= 0 and <= 100.", required: false },
    ],
  ],
  [
    "a list",
    object({ tags: { type: "array", items: { type: "string" }, minItems: 1, maxItems: 10 } }),
    [
      {
        name: "tags",
        type: "array",
        description: "Must have >= 1 and <= 10 items.",
        items: { type: "string" },
        required: false,
      },
    ],
  ],
  [
    "an object in an object",
    object({
      user: object({ name: { type: "string" }, email: { type: "string" }, age: { type: "integer" } }, [
        "name",
        "email",
      ]),
    }),
    [
      {
        name: "user",
        type: "object",
        required: false,
        properties: [
          { name: "name", type: "string", required: true },
          { name: "email", type: "string", required: true },
          { name: "age", type: "integer", required: false },
        ],
      },
    ],
  ],
  [
    "everything",
    object(
      {
        query: { type: "string", description: "Search query", minLength: 1 },
        filters: object({
          category: { type: "string", enum: ["electronics", "books", "clothing"] },
          min_price: { type: "number", minimum: 0 },
          max_price: { type: "number" },
        }),
        sort: { type: "string", enum: ["relevance", "price_asc", "price_desc"], default: "relevance" },
        limit: { type: "integer", minimum: 1, maximum: 100, default: 10 },
      },
      ["query"],
    ),
    [
      { name: "query", type: "string", description: "Search query. Must be >= 1 character.", required: true },
      {
        name: "filters",
        type: "object",
        required: false,
        properties: [
          { name: "category", type: "string", enum: ["electronics", "books", "clothing"], required: false },
          { name: "min_price", type: "number", description: "Must be >= 0.", required: false },
          { name: "max_price", type: "number", required: false },
        ],
      },
      {
        name: "sort",
        type: "string",
        enum: ["relevance", "price_asc", "price_desc"],
        default: "relevance",
        required: false,
      },
      {
        name: "limit",
        type: "integer",
        description: "Must be >= 1 and <= 100.",
        default: 10,
        required: false,
      },
    ],
  ],
])("reads %s of the reference", (_name, schema, parameters) => {
  expect(toParameters(schema)).toEqual(parameters);
  // And back: constraints stay in the description.
  expect(toParameters(fromParameters(parameters))).toEqual(parameters);
});

it.each<[string, unknown, Partial<Parameter>]>([
  ["a pattern", { type: "string", pattern: "^[a-z]+$" }, { description: "Must match the pattern ^[a-z]+$." }],
  ["null beside a type", { type: ["integer", "null"] }, { type: "integer", required: false }],
  [
    "null as an alternative",
    { anyOf: [{ type: "number", minimum: 1 }, { type: "null" }] },
    { type: "number" },
  ],
  ["a default of null", { type: "string", default: null }, { default: null }],
  ["no type", { description: "Anything" }, { type: "string", description: "Anything" }],
  ["an enum without a type", { enum: [1, 2] }, { type: "integer", enum: [1, 2] }],
  [
    "alternatives",
    { oneOf: [{ type: "integer" }, { type: "string" }] },
    {
      type: "string",
      description: 'Must match the JSON Schema {"oneOf":[{"type":"integer"},{"type":"string"}]}.',
    },
  ],
  ["many types", { type: ["string", "number"] }, { description: "Must be of type string or number." }],
])("reads %s", (_name, property, expected) => {
  expect(one(property)).toMatchObject(expected);
});

/** A required property, and the parameter it becomes. */
it.each<[string, unknown, Partial<Parameter>]>([
  ["null alone", { type: "null" }, { type: "string", description: "Must be null.", required: false }],
  [
    "a list of types that is null alone",
    { type: ["null"] },
    { description: "Must be null.", required: false },
  ],
  ["the constant null", { const: null }, { description: "Must be null.", required: false }],
  ["an enum of null alone", { enum: [null] }, { description: "Must be null.", required: false }],
  ["alternatives that are all null", { anyOf: [{ type: "null" }, { const: null }] }, { required: false }],
  ["a nullable type", { type: ["integer", "null"], minimum: 1 }, { type: "integer", required: false }],
  ["OpenAPI's nullable", { type: "string", nullable: true }, { type: "string", required: false }],
  [
    "a nullable enum",
    { type: ["string", "null"], enum: ["a", "b", null] },
    { type: "string", enum: ["a", "b"], required: false },
  ],
  ["a nullable enum without a type", { enum: ["a", null] }, { type: "string", enum: ["a"], required: false }],
  [
    "a nullable enum of OpenAPI",
    { type: "string", enum: ["a", null], nullable: true },
    { enum: ["a"], required: false },
  ],
  // The type of the schema excludes null.
  [
    "an enum whose type excludes its null",
    { type: "string", enum: ["a", null] },
    { enum: ["a"], required: true },
  ],
  [
    "an enum or null",
    { anyOf: [{ type: "string", enum: ["a"] }, { type: "null" }] },
    { enum: ["a"], required: false },
  ],
  [
    "a number or the constant null",
    { oneOf: [{ const: null }, { type: "integer" }] },
    { type: "integer", required: false },
  ],
  [
    "null inside of an alternative",
    { anyOf: [{ enum: ["a", null] }, { type: "integer" }] },
    {
      description: 'Must match the JSON Schema {"anyOf":[{"enum":["a"]},{"type":"integer"}]}.',
      required: false,
    },
  ],
  [
    "items that may be null",
    { type: "array", items: { type: ["string", "null"], enum: ["a", null] } },
    { items: { type: "string", enum: ["a"], description: "May be null." }, required: true },
  ],
  ["null as a value like others", { type: "string", default: null }, { default: null, required: true }],
])("reads a required property: %s", (_name, property, expected) => {
  const [parameter] = toParameters(object({ it: property }, ["it"]));
  expect(parameter).toMatchObject(expected);
  expect(parameter!.enum ?? []).not.toContain(null);
});

it.each<[string, unknown, Partial<Parameter>]>([
  ["no others", false, { additionalProperties: false, description: "No other properties are allowed." }],
  ["any others", true, { additionalProperties: true }],
  [
    "others of one type",
    { type: "integer", minimum: 0 },
    {
      additionalProperties: { type: "integer", description: "Must be >= 0." },
    },
  ],
  [
    "others that may be null",
    { type: ["integer", "null"] },
    { additionalProperties: { type: "integer", description: "May be null." } },
  ],
])("keeps additionalProperties as a hint: %s", (_name, additionalProperties, expected) => {
  const schema = object({
    it: { type: "object", properties: { a: { type: "string" } }, additionalProperties },
  });
  const parameters = toParameters(schema);
  expect(parameters[0]).toMatchObject({ type: "object", properties: [{ name: "a" }], ...expected });
  if (additionalProperties !== false) expect(parameters[0]).not.toHaveProperty("description");
  expect(toParameters(fromParameters(parameters))).toEqual(parameters);
  const { it } = fromParameters(parameters)["properties"] as Record<string, JsonSchema>;
  expect(it).toHaveProperty("additionalProperties");
});

it("limits a recursive map of maps", () => {
  const schema = {
    $defs: { tree: { type: "object", additionalProperties: { $ref: "#/$defs/tree" } } },
    ...object({ it: { $ref: "#/$defs/tree" } }),
  };
  expect(JSON.stringify(toParameters(schema)).length).toBeLessThan(20_000);
});

it("follows references, and limits recursion", () => {
  const schema = {
    $defs: { node: object({ next: { $ref: "#/$defs/node" }, size: { type: "integer" } }, ["size"]) },
    ...object({ root: { $ref: "#/$defs/node" } }, ["root"]),
  };
  const [root] = toParameters(schema);
  expect(root).toMatchObject({ name: "root", type: "object", required: true });
  expect(root?.properties?.map(({ name }) => name)).toEqual(["next", "size"]);
  expect(JSON.stringify(root).length).toBeLessThan(2_000);
});

it.each([{}, { type: "string" }, { properties: 3 }, { $ref: "#" }, { allOf: [{ $ref: "#" }] }])(
  "never throws: %j",
  (schema) => {
    expect(toParameters(schema)).toEqual([]);
  },
);

it("writes a schema", () => {
  expect(
    fromParameters([
      { name: "city", type: "string", description: "Where", required: true },
      { name: "days", type: "array", items: { type: "integer" }, required: false, default: [] },
    ]),
  ).toEqual({
    type: "object",
    properties: {
      city: { type: "string", description: "Where" },
      days: { type: "array", items: { type: "integer" }, default: [] },
    },
    required: ["city"],
  });
});
