/** Schemas that are slow on purpose: the event loop is never blocked longer than 250 ms. */
import { beforeAll, describe, expect, it } from "vitest";
import { createSchemaValidator } from "./create-validator.js";
import type { JsonSchema } from "./json-schema.js";

const MAX_HELD_MS = 250;
const TOO_SLOW = [{ path: "$", message: "cannot be checked: pattern too slow", unchecked: true }];
const hostile = { type: "object", properties: { text: { type: "string", pattern: "^(a+)+$" } } };
const bait = { text: `${"a".repeat(28)}!` };

const validator = createSchemaValidator();
// For values that are checked to the end: a busy machine must not look like a slow schema.
const patient = createSchemaValidator({ timeoutMs: 10_000 });
beforeAll(async () => {
  await validator.prepare();
  await patient.prepare();
});

it("arguments and result of one call share the time", async () => {
  const [input, output] = [structuredClone(hostile), structuredClone(hostile)];
  const budget = validator.createBudget();
  expect(budget.leftMs).toBeLessThan(MAX_HELD_MS);
  expect(await validator.validate(input, bait, budget)).toEqual(TOO_SLOW);
  expect(await validator.validate(output, bait, budget)).toEqual(TOO_SLOW);
  expect(budget.leftMs).toBeLessThan(1);
});

it("is remembered for the schema: the next validation fails at once", () => {
  const schema = structuredClone(hostile);
  expect(validator.validate(schema, bait)).toEqual(TOO_SLOW);
  // A valid value, which would be accepted if it were checked.
  expect(validator.validate(schema, { text: "a" })).toEqual(TOO_SLOW);
});

it("is not remembered when there was hardly any time left", () => {
  const schema = structuredClone(hostile);
  expect(patient.validate(schema, bait, { leftMs: 5 })).toEqual(TOO_SLOW);
  expect(patient.validate(schema, { text: "aaa" })).toEqual([]);
});

it("does not affect ordinary values", () => {
  const schema = structuredClone(hostile);
  expect(patient.validate(schema, { text: "aaaa" })).toEqual([]);
  expect(patient.validate(schema, { text: "aaab" })).toEqual([
    { path: "$.text", message: "must match the pattern ^(a+)+$" },
  ]);
});

it("can be given less time", async () => {
  const impatient = createSchemaValidator({ timeoutMs: 30 });
  await impatient.prepare();
  expect(impatient.createBudget().leftMs).toBe(30);
  expect(impatient.validate(structuredClone(hostile), bait)).toEqual(TOO_SLOW);
});

const branch = { properties: { a: { $ref: "#/$defs/n" } } };
const nested = (levels: number): unknown => (levels === 0 ? 1 : { a: nested(levels - 1) });
const chain = Object.fromEntries(
  Array.from({ length: 500 }, (_, i) => [`c${i}`, i === 499 ? {} : { $ref: `#/$defs/c${i + 1}` }]),
);
const doubled = Object.fromEntries(
  Array.from({ length: 20 }, (_, i) => {
    const next = { $ref: `#/$defs/d${i + 1}` };
    return [`d${i}`, i === 19 ? { type: "string" } : { allOf: [next, next] }];
  }),
);

// Retry on a busy machine.
describe("other ways to be slow", { retry: 2 }, () => {
  it.each<[string, JsonSchema, unknown]>([
    ["look-around", { pattern: "^(?=(a+)+$)a" }, `${"a".repeat(40)}!`],
    ["names", { patternProperties: { "^(a|a)*$": {} } }, { [`${"a".repeat(40)}!`]: 1 }],
    ["names by propertyNames", { propertyNames: { pattern: "^(a|aa)+$" } }, { [`${"a".repeat(80)}!`]: 1 }],
    ["endless spaces", { pattern: "\\s+$" }, `${" ".repeat(500_000)}x`],
    ["two runs in a run", { pattern: "(x+x+)+y" }, "x".repeat(60)],
    [
      "a pattern behind a reference",
      { items: { $ref: "#/$defs/p" }, $defs: { p: { pattern: "^(a+)+$" } } },
      [bait.text],
    ],
    ["unique items", { uniqueItems: true }, Array.from({ length: 200_000 }, (_, i) => i)],
    [
      "a long enum and a long list",
      { items: { enum: Array.from({ length: 10_000 }, (_, i) => `e${i}`) } },
      new Array(100_000).fill("x"),
    ],
    [
      "a long chain of references and a long list",
      { items: { $ref: "#/$defs/c0" }, $defs: chain },
      new Array(50_000).fill(1),
    ],
    ["references that double", { $ref: "#/$defs/d0", $defs: doubled }, 1],
    [
      "alternatives that double with the value's depth",
      { $ref: "#/$defs/n", $defs: { n: { anyOf: [branch, branch] } } },
      nested(60),
    ],
  ])("%s", async (_name, schema, value) => {
    // The message says that the check was stopped: without that it would take hours.
    expect(await validator.validate(schema, value)).toEqual([
      { path: "$", message: expect.stringMatching(/^cannot be checked: /), unchecked: true },
    ]);
  });
});
