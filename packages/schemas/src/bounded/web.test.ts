/** Validation with the `#run-bounded` of Workers, browsers and Bun, where a script cannot be stopped. */
import { format } from "@cfworker/json-schema";
import { afterAll, beforeEach, describe, expect, it, vi } from "vitest";
import { cpuTimeMs } from "../../../../test/support/cpu-time.js";
import { createSchemaValidator } from "../create-validator.js";
import type { JsonSchema } from "../json-schema.js";

// Other test files of this worker may have loaded the modules with the engine of Node.
vi.hoisted(() => vi.resetModules());
// As a bundler for those runtimes resolves the import.
vi.mock("#run-bounded", () => import("./web.js"));
afterAll(() => {
  vi.doUnmock("#run-bounded");
  vi.resetModules();
});

const skipped: string[] = [];
const validator = createSchemaValidator({ onSkippedPattern: (_schema, pattern) => skipped.push(pattern) });
const lines = async (schema: JsonSchema, value: unknown): Promise<string[]> =>
  (await validator.validate(schema, value)).map(({ path, message }) => `${path} ${message}`);

beforeEach(() => {
  skipped.length = 0;
});

it("loads the linear-time engine only for a risky pattern, then validates synchronously", async () => {
  await validator.validate({}, 1);
  expect(validator.validate({ pattern: "^a" }, "b")).toHaveLength(1);
  const risky = validator.validate({ pattern: "^(a+)+$" }, "b");
  expect(risky).toBeInstanceOf(Promise);
  expect(await risky).toEqual([{ path: "$", message: "must match the pattern ^(a+)+$" }]);
  expect(validator.validate({ pattern: "^(a+)+$" }, "b")).toHaveLength(1);
});

it.each<[string, JsonSchema, unknown, string[]]>([
  [
    "a value that would take hours",
    { pattern: "^(a+)+$" },
    `${"a".repeat(60)}!`,
    ["$ must match the pattern ^(a+)+$"],
  ],
  ["one that matches", { pattern: "^(a+)+$" }, "a".repeat(60), []],
  ["no text", { pattern: "^(a+)+$" }, 1, []],
  [
    "beside allOf",
    { pattern: "^(a+)+$", allOf: [{ minLength: 3 }] },
    "ab",
    ["$ must have at least 3 characters", "$ must match the pattern ^(a+)+$"],
  ],
  ["Unicode escapes", { pattern: "^(\\u0061+)+\\p{Lu}$" }, "aaÄ", []],
  ["named groups", { pattern: "^(?<word>a+)+$" }, "aab", ["$ must match the pattern ^(?<word>a+)+$"]],
  [
    "names that match",
    { patternProperties: { "^(a+)+$": { type: "string" } }, additionalProperties: false },
    { aa: "x" },
    [],
  ],
  [
    "names that match, with an invalid value",
    { patternProperties: { "^(a+)+$": { type: "string" } } },
    { aa: 1, ["b.$"]: 1 },
    ["$.aa must be a string, but is a number"],
  ],
  [
    "names that do not match",
    { patternProperties: { "^(a+)+$": {} }, additionalProperties: false },
    { [`${"a".repeat(60)}!`]: 1 },
    [`$["${"a".repeat(60)}!"] is not allowed`],
  ],
  [
    "names with punctuation",
    { patternProperties: { "^(.+)+$": { type: "string" } } },
    { "a.*[$^|(": 1 },
    ['$["a.*[$^|("] must be a string, but is a number'],
  ],
  [
    "two patterns for one name",
    { patternProperties: { "^(a+)+$": { type: "string" }, "(a+)+": { minLength: 2 } } },
    { a: "x" },
    ["$.a must have at least 2 characters"],
  ],
  [
    "property names",
    { propertyNames: { pattern: "^(a|aa)+$" } },
    { [`${"a".repeat(80)}!`]: 1 },
    [expect.stringContaining("a name that is not allowed")],
  ],
])("checks %s", async (_name, schema, value, expected) => {
  const before = cpuTimeMs();
  expect(await lines(schema, value)).toEqual(expected);
  expect(cpuTimeMs() - before).toBeLessThan(2_500);
  expect(skipped).toEqual([]);
});

describe("a pattern that the engine does not support", () => {
  it("is left out and reported once", async () => {
    const schema = { properties: { a: { type: "string", pattern: "^(?=(a+)+$)a" } } };
    expect(await lines(schema, { a: `${"a".repeat(60)}!` })).toEqual([]);
    expect(await lines(schema, { a: 1 })).toEqual(["$.a must be a string, but is a number"]);
    expect(skipped).toEqual(["^(?=(a+)+$)a"]);
  });

  it("does not make names undeclared", async () => {
    const schema = { patternProperties: { "(?<=(a+)+)b": { type: "string" } }, additionalProperties: false };
    expect(await lines(schema, { zzz: 1 })).toEqual([]);
    expect(skipped).toEqual(["(?<=(a+)+)b"]);
  });
});

it("leaves no entries in the validator's table of formats", async () => {
  const before = Object.keys(format);
  await lines({ pattern: "^(a+)+$" }, "b");
  expect(Object.keys(format)).toEqual(before);
});
