/** Cases that Ajv handles differently or not at all, and invalid keywords. */
import { beforeAll, expect, it } from "vitest";
import { createSchemaValidator } from "./create-validator.js";
import type { JsonSchema } from "./json-schema.js";

const DRAFT_07 = "http://json-schema.org/draft-07/schema#";

// A busy machine must not look like a slow schema.
const validator = createSchemaValidator({ timeoutMs: 10_000 });
beforeAll(() => validator.prepare());

it.each<[string, JsonSchema, unknown[], boolean[]]>([
  [
    "draft-04 limits",
    { $schema: "http://json-schema.org/draft-04/schema#", minimum: 1, exclusiveMinimum: true },
    [1, 2],
    [false, true],
  ],
  [
    "a tuple of draft-07",
    { $schema: DRAFT_07, items: [{ type: "string" }], additionalItems: false },
    [["a"], [1], ["a", 1]],
    [true, false, false],
  ],
  [
    "a reference of draft-07 with ignored keywords beside it",
    {
      $schema: DRAFT_07,
      properties: { a: { $ref: "#/definitions/s", minLength: 5 } },
      definitions: { s: { type: "string" } },
    },
    [{ a: "x" }, { a: 1 }],
    [true, false],
  ],
  [
    "dependencies of draft-07, named like keywords",
    {
      $schema: DRAFT_07,
      dependencies: { type: { $ref: "#/definitions/r" }, pattern: ["b"] },
      definitions: { r: { required: ["c"] } },
    },
    [{ type: 1 }, { type: 1, c: 1 }, { pattern: 1 }, {}],
    [false, true, false, true],
  ],
  [
    "2019-09 recursion",
    {
      $schema: "https://json-schema.org/draft/2019-09/schema",
      $recursiveAnchor: true,
      type: "object",
      properties: { a: { $recursiveRef: "#" } },
    },
    [{ a: {} }, { a: 1 }],
    [true, false],
  ],
  [
    "an embedded document",
    {
      properties: {
        a: { $id: "http://example.com/a", $ref: "#/$defs/s", $defs: { s: { type: "string" } } },
      },
      $defs: { s: { type: "number" } },
    },
    [{ a: "s" }, { a: 1 }],
    [true, false],
  ],
  [
    "meaningless ids",
    {
      properties: { a: { $ref: "#/$defs/A" } },
      $defs: { A: { id: "A", properties: { b: { $ref: "#/$defs/B" } } }, B: { id: "B", type: "string" } },
    },
    [{ a: { b: "x" } }, { a: { b: 1 } }],
    [true, false],
  ],
  [
    "keywords with invalid values",
    {
      properties: { a: { type: "string", required: true, enum: "x", minLength: "y", allOf: {} } },
      required: 5,
      type: "any",
    },
    [{ a: "x" }, { a: 1 }],
    [true, false],
  ],
  [
    "formats named like methods",
    {
      properties: {
        a: { format: "__defineGetter__" },
        b: { format: "__proto__" },
        c: { format: "hasOwnProperty" },
      },
    },
    [{ a: "x", b: "x", c: "x" }],
    [true],
  ],
  [
    "a property named __proto__",
    JSON.parse('{"properties":{"__proto__":{"type":"string"}},"additionalProperties":false}'),
    [JSON.parse('{"__proto__":"x"}'), JSON.parse('{"__proto__":1}'), {}, { constructor: 1 }],
    [true, false, true, false],
  ],
  ["a required __proto__", { required: ["__proto__"] }, [{}, JSON.parse('{"__proto__":1}')], [false, true]],
])("%s", (_name, schema, candidates, expected) => {
  expect(
    candidates.map((candidate) => (validator.validate(schema, candidate) as unknown[]).length === 0),
  ).toEqual(expected);
});
