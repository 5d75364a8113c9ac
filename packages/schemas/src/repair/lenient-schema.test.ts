/** The lenient reading of schemas that contradict themselves. */
import { expect, test, vi } from "vitest";
import { repairArguments } from "../create-validator.js";
import type { JsonSchema } from "../json-schema.js";

const object = (properties: Record<string, unknown>, more: Record<string, unknown> = {}): JsonSchema => ({
  type: "object",
  properties,
  ...more,
});
const closed = (properties: Record<string, unknown>, more: Record<string, unknown> = {}) =>
  object(properties, { additionalProperties: false, ...more });
const text = { type: "string" };
const THEN = "then";

test.each<[string, JsonSchema, Record<string, unknown>, Record<string, unknown>]>([
  [
    "two closed objects in allOf",
    { type: "object", allOf: [closed({ a: text }), closed({ b: text })] },
    { a: "x", b: "y" },
    { a: "x", b: "y", c: "z" },
  ],
  [
    "the same by reference",
    {
      type: "object",
      allOf: [{ $ref: "#/$defs/a" }, { $ref: "#/$defs/b" }],
      $defs: { a: closed({ a: text }), b: closed({ b: text }) },
    },
    { a: "x", b: "y" },
    { a: "x", c: "z" },
  ],
  [
    "closed alternatives beside common properties",
    object({ id: text }, { required: ["id"], oneOf: [closed({ a: text }), closed({ b: text })] }),
    { id: "1", a: "x" },
    { id: "1", a: "x", b: "y" },
  ],
  [
    "a closed object with alternatives inside",
    closed({ id: text }, { anyOf: [object({ a: text }, { required: ["a"] }), object({ b: text })] }),
    { id: "1", a: "x" },
    { id: "1", z: "x" },
  ],
  [
    "names by pattern in a branch",
    closed({ id: text }, { allOf: [{ patternProperties: { "^x-": text } }] }),
    { id: "1", "x-a": "y" },
    { id: "1", y: "y" },
  ],
  [
    "dependentSchemas",
    closed({ card: text }, { dependentSchemas: { card: object({ cvc: text }, { required: ["cvc"] }) } }),
    { card: "1", cvc: "2" },
    { card: "1" },
  ],
  [
    "unevaluatedProperties and a required name that is declared nowhere",
    object({ a: text }, { required: ["a", "b"], unevaluatedProperties: false }),
    { a: "x", b: "y" },
    { a: "x", b: "y", c: "z" },
  ],
  [
    "alternatives that overlap, beside anyOf",
    object({
      q: { anyOf: [{ type: "string" }, { type: "number" }], oneOf: [{ minLength: 1 }, { maxLength: 5 }] },
    }),
    { q: "abc" },
    { q: true },
  ],
  ["a constant against the type", object({ v: { type: "integer", const: "1" } }), { v: "1" }, { v: 2 }],
  [
    "nullable behind a reference",
    object({ v: { $ref: "#/$defs/v" } }, { $defs: { v: { type: "string", enum: ["a"], nullable: true } } }),
    { v: null },
    { v: "b" },
  ],
  [
    "an unresolved reference beside an invalid value",
    object({ a: { $ref: "#/$defs/none" }, n: { type: "integer" } }),
    { a: 1 },
    { a: 1, n: "many" },
  ],
])("%s", async (_name, schema, sent, refused) => {
  expect(await repairArguments(schema, sent)).toEqual({ args: sent, repaired: [], issues: [] });
  const { issues } = await repairArguments(schema, refused);
  expect(issues.length).toBeGreaterThan(0);
});

/** Under these keywords a looser subschema would accept less. */
test.each<[string, JsonSchema, Record<string, unknown>]>([
  ["not", object({ v: { not: { type: "string", nullable: true } } }), { v: null }],
  [
    "if",
    object(
      { v: {} },
      { if: { properties: { v: { type: "string", nullable: true } } }, [THEN]: { required: ["w"] } },
    ),
    { v: null },
  ],
  [
    "contains",
    object({ v: { type: "array", contains: { type: "integer", nullable: true }, maxContains: 1 } }),
    { v: [1, null] },
  ],
])("%s is read strictly", async (_name, schema, args) => {
  expect((await repairArguments(schema, args)).issues).toEqual([]);
  // An invalid value beside it triggers the lenient reading.
  const mistaken = { ...args, n: "5" };
  const more = { ...schema, properties: { ...(schema["properties"] as object), n: { type: "integer" } } };
  expect(await repairArguments(more, mistaken)).toMatchObject({ args: { ...args, n: 5 }, issues: [] });
});

test("the repair uses the linear-time engine if a script cannot be stopped", async () => {
  vi.resetModules();
  vi.doMock("#run-bounded", () => import("../bounded/web.js"));
  try {
    const { repairArguments: repair } = await import("../create-validator.js");
    const schema = closed(
      { list: { type: "array", items: { type: "string", pattern: "^(a+)+$" } } },
      { patternProperties: { "^(x-?)+1$": { type: "integer" } } },
    );
    expect(await repair(schema, { list: "aa", "x-1": "5" })).toMatchObject({
      args: { list: ["aa"], "x-1": 5 },
      issues: [],
    });
    const bait = `${"a".repeat(60)}!`;
    expect((await repair(schema, { list: bait })).issues).toMatchObject([{ path: "$.list[0]" }]);
    expect((await repair(schema, { y: 1 })).issues).toMatchObject([{ path: "$.y" }]);
  } finally {
    vi.doUnmock("#run-bounded");
    vi.resetModules();
  }
});
