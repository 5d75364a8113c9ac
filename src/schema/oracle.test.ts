/** Ajv is the oracle: over many schemas and values the two must agree on what is valid. */
import { Ajv, type ValidateFunction } from "ajv";
import { Ajv2020 } from "ajv/dist/2020.js";
import addFormats from "ajv-formats";
import { beforeAll, describe, expect, it } from "vitest";
import { createRandom, randomSchema, randomValue } from "../../test/support/random-schemas.js";
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
const oracles = { "2020-12": new Ajv2020(options), "draft-07": new Ajv(options) };
for (const oracle of Object.values(oracles))
  addFormats.default(oracle, ["date", "email", "uuid", "ipv4", "date-time"]);
const DRAFT_07 = "http://json-schema.org/draft-07/schema#";

const validator = createSchemaValidator();
beforeAll(() => validator.prepare());

function compare(schema: JsonSchema, check: ValidateFunction, candidate: unknown): void {
  const issues = validator.validate(schema, candidate);
  if (!Array.isArray(issues)) throw new Error("The validator is not prepared");
  const agrees = (issues.length === 0) === check(candidate);
  if (!agrees) expect({ schema, candidate, issues }).toEqual({ ajv: check.errors });
}

describe.each(["2020-12", "draft-07"] as const)("%s", (draft) => {
  it("agrees with Ajv on generated schemas", () => {
    let [valid, invalid] = [0, 0];
    for (let seed = 1; seed <= 300; seed++) {
      const random = createRandom(seed, draft === "draft-07");
      const schema = JSON.parse(
        JSON.stringify({
          ...(randomSchema(random, 3) as object),
          $defs: {
            a: { type: ["string", "object"] },
            b: { minimum: 1, properties: { a: { $ref: "#/$defs/a" } } },
          },
          ...(draft === "draft-07" && { $schema: DRAFT_07 }),
        }),
      );
      const check = oracles[draft].compile(schema);
      for (let round = 0; round < 20; round++) {
        const candidate = randomValue(random);
        compare(schema, check, candidate);
        if (check(candidate)) valid++;
        else invalid++;
      }
    }
    expect(Math.min(valid, invalid)).toBeGreaterThan(1_000);
  });
});

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

describe("schemas written by hand", () => {
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
        { b: "nobody" },
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
