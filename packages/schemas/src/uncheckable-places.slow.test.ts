/** A keyword that cannot be evaluated refuses nothing at any place: what is accepted with `true` or with `false` there is accepted. */
import { beforeAll, expect, test } from "vitest";
import { createSeededRandom } from "../../../test/support/random.js";
import { createSchemaValidator } from "./create-validator.js";
import type { JsonSchema } from "./json-schema.js";

const ROUNDS = 3_000;

type Wrap = (part: unknown) => Record<string, unknown>;

const UNCHECKED: Record<string, unknown>[] = [
  { pattern: "(?>a)" },
  { patternProperties: { "(?>a)": false } },
  { $ref: "other.json#/x" },
  { $ref: "#/$defs/none" },
  { $dynamicRef: "#none" },
  { type: "any" },
  { enum: [] },
  { required: true },
  { minLength: "2" },
  { multipleOf: 0 },
  { format: "colour" },
  { properties: { a: "x" } },
  { additionalProperties: "no" },
  { items: "x" },
  { allOf: [7] },
  { anyOf: [] },
  { not: 7 },
  { dependencies: { a: 3 } },
  // biome-ignore lint/suspicious/noThenProperty: a keyword of JSON Schema
  { if: 7, then: false },
];

const WRAPS: Wrap[] = [
  (part) => ({ allOf: [part] }),
  (part) => ({ anyOf: [part, { type: "number" }] }),
  (part) => ({ oneOf: [part, { type: "string", maxLength: 1 }] }),
  (part) => ({ oneOf: [part, part] }),
  (part) => ({ not: part }),
  // biome-ignore lint/suspicious/noThenProperty: a keyword of JSON Schema
  (part) => ({ if: part, then: { type: "string" } }),
  (part) => ({ if: part, else: { maxLength: 1 } }),
  // biome-ignore lint/suspicious/noThenProperty: a keyword of JSON Schema
  (part) => ({ if: { type: "string" }, then: part }),
  // biome-ignore lint/suspicious/noThenProperty: a keyword of JSON Schema
  (part) => ({ if: part, then: { properties: { a: {} } }, unevaluatedProperties: false }),
  (part) => ({ items: part }),
  (part) => ({ items: [part], additionalItems: false }),
  (part) => ({ prefixItems: [part], items: false }),
  (part) => ({ prefixItems: [{}], unevaluatedItems: part }),
  (part) => ({ contains: part, minContains: 0, maxContains: 1 }),
  (part) => ({ contains: part, unevaluatedItems: false }),
  (part) => ({ properties: { a: part }, additionalProperties: false }),
  (part) => ({ properties: { b: {} }, additionalProperties: part }),
  (part) => ({ patternProperties: { "^a": part } }),
  (part) => ({ propertyNames: part }),
  (part) => ({ dependentSchemas: { a: part } }),
  (part) => ({ allOf: [part], unevaluatedProperties: false }),
  (part) => ({ anyOf: [part, { properties: { b: {} } }], unevaluatedProperties: false }),
  (part) => ({ $id: "https://example.com/part", allOf: [{ $ref: "#/$defs/part" }], $defs: { part } }),
];

const VALUES: unknown[] = [
  ...["", "a", "ab", "b", 1, null, true],
  ...[[], ["a"], ["a", "b"], [1], [1, "a", 2], [{}], [{ a: "a" }, {}]],
  ...[{}, { a: 1 }, { a: "a" }, { b: 1 }, { a: {}, b: [] }, { a: ["a"] }, { ab: 1 }, { a: { b: 1 } }],
];

const DIALECTS = [undefined, "http://json-schema.org/draft-07/schema#", "https://example.com/mine"];

const validator = createSchemaValidator({ timeoutMs: 10_000 });
beforeAll(() => validator.prepare());

const accepts = (schema: JsonSchema, value: unknown): boolean =>
  (validator.validate(schema, value) as unknown[]).length === 0;

test("at random places", () => {
  const random = createSeededRandom(1);
  for (let round = 0; round < ROUNDS; round += 1) {
    const wraps = Array.from({ length: 1 + random.below(3) }, () => random.pick(WRAPS));
    const $schema = random.pick(DIALECTS);
    const nest = (part: unknown): JsonSchema => {
      const nested = wraps.reduce((inner, wrap) => wrap(inner), part);
      return { ...($schema !== undefined && { $schema }), ...(nested as JsonSchema) };
    };
    const schema = nest(random.pick(UNCHECKED));
    const [open, closed] = [nest(true), nest(false)];
    const refused = VALUES.filter(
      (value) => (accepts(open, value) || accepts(closed, value)) && !accepts(schema, value),
    );
    expect(refused, JSON.stringify(schema)).toEqual([]);
  }
});
