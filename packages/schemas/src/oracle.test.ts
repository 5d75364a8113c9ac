/** Compares validation with Ajv for hand-written schemas. */
import type { ValidateFunction } from "ajv";
import { Ajv2020 } from "ajv/dist/2020.js";
import addFormats from "ajv-formats";
import { beforeAll, describe, expect, it } from "vitest";
import { createSchemaValidator } from "./create-validator.js";
import type { JsonSchema } from "./json-schema.js";

// Without `ownProperties` Ajv finds `constructor` and `__proto__` in every object.
const options = {
  strict: false,
  allErrors: true,
  validateSchema: false,
  ownProperties: true,
  logger: false,
} as const;

// A busy machine must not look like a slow schema.
const validator = createSchemaValidator({ timeoutMs: 10_000 });
beforeAll(() => validator.prepare());

function compare(schema: JsonSchema, check: ValidateFunction, candidate: unknown): void {
  const issues = validator.validate(schema, candidate);
  if (!Array.isArray(issues)) throw new Error("The validator is not prepared");
  const agrees = (issues.length === 0) === check(candidate);
  if (!agrees) expect({ schema, candidate, issues }).toEqual({ ajv: check.errors });
}

const TREE = {
  $defs: {
    node: {
      type: "object",
      properties: { next: { $ref: "#/$defs/node" }, value: { type: "integer" } },
      required: ["value"],
    },
  },
  $ref: "#/$defs/node",
};

describe("hand-written schemas", () => {
  it.each<[string, JsonSchema, unknown[]]>([
    [
      "recursion",
      TREE,
      [{ value: 1 }, { value: 1, next: { value: 2 } }, { value: 1, next: {} }, { next: 3 }],
    ],
    [
      "an anchor",
      { properties: { a: { $ref: "#it" } }, $defs: { x: { $anchor: "it", type: "string" } } },
      [{ a: "s" }, { a: 1 }],
    ],
    [
      "escaped pointers",
      { properties: { a: { $ref: "#/$defs/x~1y%20z~0" } }, $defs: { "x/y z~": { type: "string" } } },
      [{ a: "s" }, { a: 1 }],
    ],
    [
      "prefixItems",
      { prefixItems: [{ type: "string" }, { type: "number" }], items: false },
      [[], ["a"], ["a", 1], ["a", 1, 1], [1]],
    ],
    [
      "unevaluatedProperties",
      { allOf: [{ properties: { a: true } }], properties: { b: true }, unevaluatedProperties: false },
      [{ a: 1 }, { b: 1 }, { a: 1, c: 1 }],
    ],
    [
      "unevaluatedItems",
      { prefixItems: [true], unevaluatedItems: { type: "string" } },
      [[1], [1, "a"], [1, 2]],
    ],
    ["dependentRequired", { dependentRequired: { a: ["b"] } }, [{}, { a: 1 }, { a: 1, b: 1 }]],
    ["dependentSchemas", { dependentSchemas: { a: { required: ["c"] } } }, [{}, { a: 1 }, { a: 1, c: 1 }]],
    [
      "contains with bounds",
      { contains: { type: "string" }, minContains: 2, maxContains: 3 },
      [["a"], ["a", "b"], ["a", 1, "b"], ["a", "b", "c", "d"]],
    ],
    ["minContains of 0", { contains: { type: "string" }, minContains: 0 }, [[], [1], ["a"]]],
    [
      "a dynamic reference",
      { $dynamicAnchor: "n", type: "object", properties: { a: { $dynamicRef: "#n" } } },
      [{}, { a: {} }, { a: 1 }, { a: { a: "x" } }],
    ],
    [
      "formats",
      {
        properties: {
          a: { format: "date" },
          b: { format: "email" },
          c: { format: "uuid" },
          d: { format: "ipv4" },
        },
      },
      [
        { a: "2024-02-29" },
        { a: "2023-02-29" },
        { b: "a@b.co" },
        { b: "no-address" },
        { c: "f81d4fae-7dec-11d0-a765-00a0c91e6bf6" },
        { c: "1" },
        { d: "127.0.0.1" },
        { d: "256.0.0.1" },
      ],
    ],
    ["surrogate pairs", { minLength: 2 }, ["😀", "😀😀", "ab"]],
    [
      "a const of every kind",
      { enum: [null, [], {}, { a: [1] }, "x"] },
      [null, [], {}, { a: [1] }, { a: [2] }, "x", 0],
    ],
  ])("%s", (_name, schema, candidates) => {
    const check = new Ajv2020(options);
    addFormats.default(check);
    const compiled = check.compile(schema);
    for (const candidate of candidates) compare(schema, compiled, candidate);
  });
});
