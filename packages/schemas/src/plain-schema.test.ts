import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { compilePlainSchema, createSchemaValidator } from "./create-validator.js";
import type { JsonSchema } from "./json-schema.js";

const tool = {
  $schema: "https://json-schema.org/draft/2020-12/schema",
  type: "object",
  description: "As tools have it",
  properties: {
    text: { type: "string", description: "Said" },
    n: { type: "integer" },
    mode: { type: "string", enum: ["a", "b"] },
    tags: { type: "array", items: { type: "string" } },
    at: { type: "object", properties: { x: { type: "number" } }, required: ["x"] },
  },
  required: ["text"],
};

describe("the shortcut", () => {
  const accepts = compilePlainSchema(tool)!;
  test.each([
    [{ text: "hello" }],
    [{ text: "hello", n: 1, mode: "b", tags: ["x", "y"], at: { x: 0.5, y: null }, more: true }],
    [Object.assign(Object.create(null), { text: "hello" })],
  ])("accepts %j", (value) => expect(accepts(value)).toBe(true));

  test.each([
    ["what is missing", {}],
    ["a wrong type", { text: 1 }],
    ["no integer", { text: "a", n: 1.5 }],
    ["none of the choices", { text: "a", mode: "c" }],
    ["a wrong item", { text: "a", tags: [1] }],
    ["a hole", { text: "a", tags: new Array(1) }],
    ["something inside that is wrong", { text: "a", at: {} }],
    ["a nested value in an undeclared property", { text: "a", more: {} }],
    ["a value that JSON leaves out", { text: "a", n: undefined }],
    ["what JSON rewrites", { text: "a", more: Number.NaN }],
    ["a date", new Date()],
    ["a list", ["text"]],
    [
      "a class",
      new (class Text {
        text = "a";
      })(),
    ],
    ["nothing", null],
  ])("leaves %s to the validator", (_what, value) => expect(accepts(value)).toBe(false));

  test.each([
    ["a keyword it does not know", { type: "object", minProperties: 1 }],
    ["a pattern", { type: "object", properties: { a: { type: "string", pattern: "^a" } } }],
    ["a reference", { type: "object", properties: { a: { $ref: "#/$defs/a" } } }],
    ["several types", { type: "object", properties: { a: { type: ["string", "null"] } } }],
    ["no type", { type: "object", properties: { a: {} } }],
    ["a schema for the rest", { type: "object", additionalProperties: { type: "string" } }],
    ["an enum of objects", { type: "object", properties: { a: { type: "string", enum: [{}] } } }],
    ["an enum that is not a list", { type: "object", properties: { a: { type: "string", enum: "a" } } }],
    ["a boolean", true],
  ])("is undefined for %s", (_what, schema) => expect(compilePlainSchema(schema)).toBeUndefined());

  test("closed objects accept no other properties", () => {
    const closed = compilePlainSchema({ type: "object", additionalProperties: false })!;
    expect(closed({})).toBe(true);
    expect(closed({ a: 1 })).toBe(false);
  });
});

/** Few names, so that schemas and values overlap. */
const name = fc.constantFrom("a", "b", "c", "__proto__", "toString");
const leaf = fc.oneof(
  fc.string({ maxLength: 3 }),
  fc.integer(),
  fc.double(),
  fc.boolean(),
  fc.constant(null),
);
const { value } = fc.letrec((tie) => ({
  value: fc.oneof(
    { depthSize: "small" },
    leaf,
    fc.constant(undefined),
    fc.array(tie("value"), { maxLength: 3 }),
    fc.dictionary(name, tie("value"), { maxKeys: 3 }),
  ),
}));
const { schema } = fc.letrec<{ schema: JsonSchema }>((tie) => ({
  schema: fc.oneof(
    { depthSize: "small" },
    fc.record({ type: fc.constantFrom("string", "number", "integer", "boolean", "null") }),
    fc.record({ type: fc.constant("string"), enum: fc.array(leaf, { maxLength: 3 }) }),
    fc.record({ type: fc.constant("array"), items: tie("schema") }, { requiredKeys: ["type"] }),
    fc.record(
      {
        type: fc.constant("object"),
        properties: fc.dictionary(name, tie("schema"), { maxKeys: 3 }),
        required: fc.array(name, { maxLength: 2 }),
        additionalProperties: fc.boolean(),
      },
      { requiredKeys: ["type"] },
    ),
  ),
}));

test("accepts only values that the validator accepts", async () => {
  // A user's validator is always called, so wrapping the built-in one bypasses the shortcut.
  const { createBuiltInCheck } = await import("./built-in-check.js");
  const { check } = createBuiltInCheck(100, undefined);
  let accepted = 0;
  fc.assert(
    fc.property(schema, value, (made, given) => {
      if (compilePlainSchema(made)?.(given) !== true) return;
      accepted += 1;
      expect(check(made, given, { leftMs: 1_000 })).toEqual([]);
    }),
    { numRuns: 5_000 },
  );
  expect(accepted).toBeGreaterThan(100);
});

test("the validator uses the shortcut, unless the user supplied a validator", () => {
  const own = createSchemaValidator({ validator: { compile: () => () => [{ path: "$", message: "no" }] } });
  expect(own.validate(tool, { text: "a" })).toHaveLength(1);
  // Synchronous, although no code was loaded.
  expect(createSchemaValidator().validate(tool, { text: "a" })).toEqual([]);
});
