import { describe, expect, test } from "vitest";
import { compactSchema } from "./compact-schema.js";

const all = { dropsTypes: true, typeLists: true };
const object = (properties: Record<string, unknown>, extra: Record<string, unknown> = {}) => ({
  type: "object",
  properties,
  ...extra,
});

test.each<[string, Record<string, unknown>, Record<string, unknown>]>([
  ["bookkeeping", { $schema: "x", $id: "y", $comment: "z", type: "object" }, { type: "object" }],
  [
    "the type beside texts",
    object({ a: { type: "string", enum: ["x", "y"] } }),
    object({ a: { enum: ["x", "y"] } }),
  ],
  [
    "titles that repeat a name",
    object({ user_id: { title: "User Id", type: "string" } }, { title: "search_webArguments" }),
    object({ user_id: { type: "string" } }),
  ],
  ["an empty list of required names", object({}, { required: [] }), object({})],
  [
    "the range of safe integers",
    object({ a: { type: "integer", minimum: -9007199254740991, maximum: 9007199254740991 } }),
    object({ a: { type: "integer" } }),
  ],
  [
    "a union with null",
    object({ a: { anyOf: [{ type: "string", minLength: 1 }, { type: "null" }], default: null } }),
    object({ a: { default: null, type: ["string", "null"], minLength: 1 } }),
  ],
  [
    "white space in descriptions",
    object({ a: { type: "string", description: " The  city \n" } }),
    object({ a: { type: "string", description: "The city" } }),
  ],
  [
    "all of it, deeply",
    object({ a: { type: "array", items: { oneOf: [{ type: "string", enum: ["x"], $comment: "c" }] } } }),
    object({ a: { type: "array", items: { oneOf: [{ enum: ["x"] }] } } }),
  ],
])("leaves out %s", (_, schema, expected) => {
  const before = structuredClone(schema);
  expect(compactSchema(schema, all)).toEqual(expected);
  expect(schema).toEqual(before);
  expect(compactSchema(expected, all)).toBe(expected);
});

test.each<[string, Record<string, unknown>]>([
  ["properties with the names of keywords", object({ $schema: { type: "string" }, title: {}, required: {} })],
  ["a title that says more", object({ a: { title: "The first letter" } }, { title: "Search the web" })],
  ["the type beside other values", object({ a: { type: "string", enum: ["x", 1] } })],
  ["the type beside an empty list", object({ a: { type: "string", enum: [] } })],
  ["bounds that mean something", object({ a: { type: "integer", minimum: 0, maximum: 100 } })],
  [
    "safe integers where less would accept more",
    object({ a: { not: { type: "integer", maximum: 9007199254740991 } } }),
  ],
  [
    "a union with null and listed values",
    object({ a: { anyOf: [{ type: "string", enum: ["x", 1] }, { type: "null" }] } }),
  ],
  [
    "a union with a described null",
    object({ a: { anyOf: [{ type: "string" }, { type: "null", description: "none" }] } }),
  ],
  [
    "a union beside the same keyword",
    object({ a: { format: "date", anyOf: [{ type: "string", format: "date" }, { type: "null" }] } }),
  ],
  [
    "defaults and examples",
    object({ a: { default: { title: "a", $schema: "x" }, examples: [{ $id: "x" }], const: { $id: "" } } }),
  ],
  ["an id inside, the base of references", object({ a: { $id: "other", type: "string" } })],
  [
    "malformed keywords",
    { $schema: 1, title: 2, required: "x", properties: [], anyOf: [1, null], description: 3 },
  ],
])("keeps %s", (_, schema) => {
  expect(compactSchema(schema, all)).toBe(schema);
});

test("keeps what a target needs", () => {
  const schema = object({
    a: { type: "string", enum: ["x"] },
    b: { anyOf: [{ type: "string" }, { type: "null" }] },
  });
  expect(compactSchema(schema, { dropsTypes: false, typeLists: false })).toBe(schema);
});

test("keeps a property named __proto__", () => {
  const schema = JSON.parse('{"properties":{"__proto__":{"type":"string","title":"proto"}}}');
  expect(JSON.stringify(compactSchema(schema, all))).toBe('{"properties":{"__proto__":{"type":"string"}}}');
});

describe("descriptions of parameters", () => {
  const schema = object({
    a: { description: "one two three four five six" },
    description: { type: "string" },
  });

  test("are cut between words, if asked", () => {
    expect(compactSchema(schema, { ...all, parameters: 12 })["properties"]).toEqual({
      a: { description: "one two…" },
      description: { type: "string" },
    });
  });
});

test("says where it changed what", () => {
  const changes: unknown[] = [];
  const schema = object(
    { "a/b": { type: "string", enum: ["x"], description: "one  two three" } },
    { $schema: "x" },
  );
  compactSchema(schema, { ...all, parameters: 9, onChange: (...change) => changes.push(change) });
  expect(changes).toEqual([
    ["#/properties/a~1b", "type", "all listed values are texts"],
    ["#/properties/a~1b", "description", "white space"],
    ["#/properties/a~1b", "description", "cut to 9 characters"],
    ["#", "$schema", "says nothing to a model"],
  ]);
});
