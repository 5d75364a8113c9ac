/** Properties of every repair, for schemas of real servers and generated schemas. Seeded and bounded. */
import { readdirSync, readFileSync } from "node:fs";
import { beforeAll, describe, expect, test } from "vitest";
import {
  createRandom,
  type Random,
  randomSchema,
  randomValue,
} from "../../../../test/support/random-schemas.js";
import { createSchemaValidator } from "../create-validator.js";
import { isRecord, type JsonSchema, resolveLocalRef } from "../json-schema.js";
import { isSameJson } from "../json-value.js";
import { MAX_LEVELS, ValueRepairer } from "./create-repairer.js";
import { builtInParts, type SchemaParts } from "./schema-parts.js";

const VALUES_PER_SCHEMA = 20;
const folder = new URL("../../../../test/fixtures/schemas/", import.meta.url);
const corpus: JsonSchema[] = readdirSync(folder)
  .filter((name) => name.endsWith(".json"))
  .flatMap((name) => JSON.parse(readFileSync(new URL(name, folder), "utf8")).tools)
  .map(({ inputSchema }: { inputSchema: JsonSchema }) => inputSchema);

// A busy machine must not look like a slow schema.
const validator = createSchemaValidator({ timeoutMs: 10_000 });
beforeAll(() => validator.prepare());

const isValid = (schema: JsonSchema, value: unknown): boolean => {
  const issues = validator.validate(schema, value);
  if (!Array.isArray(issues)) throw new Error("The validator is not prepared");
  return issues.length === 0;
};

const repair = (parts: SchemaParts, value: unknown) =>
  new ValueRepairer(parts, { maxLevels: MAX_LEVELS, deadline: Number.POSITIVE_INFINITY }).repair(value);

/** A value that is probably valid; the validator decides. */
function sample(schema: unknown, random: Random, root: JsonSchema, depth = 0): unknown {
  if (!isRecord(schema) || depth > 6) return random.pick(["a", 1, true]);
  if (typeof schema["$ref"] === "string")
    return sample(resolveLocalRef(root, schema["$ref"]), random, root, depth + 1);
  const { const: only, enum: choices, anyOf, oneOf, allOf } = schema;
  if (only !== undefined) return only;
  if (Array.isArray(choices)) return random.pick(choices);
  const alternatives = (anyOf ?? oneOf) as unknown[] | undefined;
  if (alternatives !== undefined && schema["properties"] === undefined)
    return sample(random.pick(alternatives), random, root, depth + 1);
  if (Array.isArray(allOf) && schema["type"] === undefined) return sample(allOf[0], random, root, depth + 1);
  const type = Array.isArray(schema["type"]) ? random.pick(schema["type"]) : schema["type"];
  switch (type) {
    case "string":
      return random.pick([
        "a",
        "some text",
        "2024-02-29",
        "https://example.com/a",
        "x".repeat(40),
        "7",
        "true",
      ]);
    case "integer":
      return (schema["minimum"] as number | undefined) ?? random.pick([1, 5, 20]);
    case "number":
      return (schema["minimum"] as number | undefined) ?? random.pick([1, 2.5]);
    case "boolean":
      return random.below(2) === 0;
    case "null":
      return null;
    case "array":
      return Array.from({ length: Math.max(Number(schema["minItems"] ?? 0), random.below(3)) }, () =>
        sample(schema["items"], random, root, depth + 1),
      );
    default:
      return sampleObject(schema, random, root, depth);
  }
}

function sampleObject(schema: JsonSchema, random: Random, root: JsonSchema, depth: number): unknown {
  const properties = Object.entries(isRecord(schema["properties"]) ? schema["properties"] : {});
  const required = (schema["required"] ?? []) as string[];
  const chosen = properties.filter(([name]) => required.includes(name) || random.below(2) === 0);
  return Object.fromEntries(chosen.map(([name, inner]) => [name, sample(inner, random, root, depth + 1)]));
}

/** Mistakes of models, each at one property of the arguments. Undefined: it cannot be made with this value. */
const MISTAKES: Readonly<Record<string, (value: unknown) => unknown>> = {
  "a number as text": (value) => (typeof value === "number" ? String(value) : undefined),
  "a number with blanks": (value) => (typeof value === "number" ? ` ${value} ` : undefined),
  "a boolean as Python writes it": (value) =>
    typeof value === "boolean" ? (value ? "True" : "False") : undefined,
  "JSON text": (value) => (typeof value === "object" && value !== null ? JSON.stringify(value) : undefined),
  "one value for a list": (value) => (Array.isArray(value) && value.length === 1 ? value[0] : undefined),
  "another case": (value) =>
    typeof value === "string" && value.toUpperCase() !== value ? value.toUpperCase() : undefined,
  "a number for a text": (value) => (value === "7" ? 7 : undefined),
};

describe("for schemas of real servers", () => {
  const prepared = corpus.flatMap((schema) => {
    const parts = builtInParts(schema);
    return typeof parts === "string" ? [] : [{ schema, parts }];
  });

  test("returns a valid value as the same object", () => {
    const random = createRandom(17);
    let values = 0;
    for (const { schema, parts } of prepared)
      for (let round = 0; round < VALUES_PER_SCHEMA; round += 1) {
        const value = sample(schema, random, schema);
        if (!isValid(schema, value)) continue;
        values += 1;
        const repaired = repair(parts, value);
        if (repaired.value !== value || !repaired.isWhole) expect({ schema, value }).toBe(repaired);
      }
    expect(values).toBeGreaterThan(5_000);
  });

  test("repairs one mistake in a valid value, nearly always to the original value", () => {
    const random = createRandom(18);
    const counts = { restored: 0, otherwise: 0, refused: 0 };
    const mistakes = Object.values(MISTAKES);
    for (const { schema, parts } of prepared)
      for (let round = 0; round < VALUES_PER_SCHEMA; round += 1) {
        const value = sample(schema, random, schema) as Record<string, unknown>;
        const names = Object.keys(value);
        if (names.length === 0 || !isValid(schema, value)) continue;
        const name = random.pick(names);
        const wrong = random.pick(mistakes)(value[name]);
        if (wrong === undefined) continue;
        const given = { ...value, [name]: wrong };
        if (isValid(schema, given)) continue;
        const before = structuredClone(given);
        const repaired = repair(parts, given);
        expect(given).toEqual(before);
        if (!repaired.isWhole) counts.refused += 1;
        else {
          if (!isValid(schema, repaired.value)) expect({ schema, given }).toBe(repaired);
          expect(repaired.repairs.length).toBeGreaterThan(0);
          counts[isSameJson(repaired.value, value) ? "restored" : "otherwise"] += 1;
        }
      }
    const all = counts.restored + counts.otherwise + counts.refused;
    expect(all).toBeGreaterThan(1_000);
    expect(counts.restored / all).toBeGreaterThan(0.98);
  });

  test("removes only null for an optional value that is not nullable", () => {
    const random = createRandom(19);
    let left = 0;
    for (const { schema, parts } of prepared) {
      const value = sample(schema, random, schema) as Record<string, unknown>;
      const properties = Object.keys((schema["properties"] as object) ?? {});
      const optional = properties.filter((name) => !((schema["required"] ?? []) as string[]).includes(name));
      if (!isValid(schema, value)) continue;
      for (const name of optional) {
        const { [name]: _, ...rest } = value;
        const given = { ...value, [name]: null };
        if (isValid(schema, given) || !isValid(schema, rest)) continue;
        left += 1;
        expect(repair(parts, given)).toMatchObject({ value: rest, isWhole: true });
      }
    }
    expect(left).toBeGreaterThan(1_000);
  });
});

describe("for generated schemas", () => {
  const defs = {
    a: { type: ["string", "object"] },
    b: { minimum: 1, properties: { a: { $ref: "#/$defs/a" } } },
  };

  test("keeps valid values, which the lenient reading accepts, and produces valid values", () => {
    const counts = { valid: 0, repaired: 0, refused: 0 };
    for (let seed = 1; seed <= 300; seed += 1) {
      const random = createRandom(seed);
      const made = { ...(randomSchema(random, 3) as object), $defs: defs };
      const schema: JsonSchema = JSON.parse(JSON.stringify(made));
      const parts = builtInParts(schema);
      if (typeof parts === "string") continue;
      for (let round = 0; round < VALUES_PER_SCHEMA; round += 1) {
        const value = randomValue(random);
        const before = structuredClone(value);
        const repaired = repair(parts, value);
        expect(value).toEqual(before);
        if (isValid(schema, value)) {
          counts.valid += 1;
          if (repaired.value !== value || !repaired.isWhole) expect({ schema, value }).toBe(repaired);
        } else if (repaired.isWhole) {
          counts.repaired += 1;
          if (parts.issues(repaired.value).length > 0) expect({ schema, value }).toBe(repaired);
          if (!parts.lenient.isWider && !isValid(schema, repaired.value))
            expect({ schema, value }).toBe(repaired);
        } else counts.refused += 1;
      }
    }
    expect(counts.valid).toBeGreaterThan(1_000);
    expect(counts.repaired).toBeGreaterThan(20);
    expect(counts.refused).toBeGreaterThan(1_000);
  });
});
