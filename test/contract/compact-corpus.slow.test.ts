/** The option `compact` over the schemas of real servers, for every target: accepted by its rules, the same meaning, fewer bytes. */
import { Ajv2020 } from "ajv/dist/2020.js";
import addFormats from "ajv-formats";
import { describe, expect, it } from "vitest";
import {
  type CompactOptions,
  compactDerived,
  compactDescription,
} from "../../packages/schemas/src/derive/compact-schema.js";
import { deriveSchema } from "../../packages/schemas/src/derive/derive-schema.js";
import { collectedTools as tools } from "../support/definitions.js";
import { RULE_TARGETS, refusals } from "../support/provider-refusals.js";
import { createSeededRandom } from "../support/random.js";
import { makeInstance } from "./schema-instances.js";

const TIMEOUT_MS = 120_000;
const ROUNDS = 6;

const oracle = new Ajv2020({
  strict: false,
  validateSchema: false,
  ownProperties: true,
  logger: false,
  code: { optimize: false },
});
addFormats.default(oracle);

/** Gemini's OpenAPI form is no JSON Schema; the oracle reads types in small letters. */
const readable = (schema: unknown): object =>
  JSON.parse(JSON.stringify(schema), (key, value) =>
    key === "type" && typeof value === "string" ? value.toLowerCase() : value,
  );

const bytes = (value: unknown): number => Buffer.byteLength(JSON.stringify(value));
const safe: CompactOptions = {};

describe.each(RULE_TARGETS)("%s", (target) => {
  it.each([
    ["the safe steps", safe],
    ["repeated parts in $defs", { defs: true }],
    ["cut descriptions", { parameters: 100 }],
  ] as const)(
    "%s: accepted, and the same values are valid",
    (_, options) => {
      const random = createSeededRandom(1);
      let [before, after, tried] = [0, 0, 0];
      for (const { name, inputSchema } of tools) {
        const derived = deriveSchema(inputSchema, target);
        const compact = compactDerived(derived, target, options);
        before += bytes(derived.schema);
        after += bytes(compact.schema);
        const rules = target === "openai-strict" && !derived.strict ? "openai" : target;
        const sent =
          target === "gemini-openapi" && !("properties" in compact.schema) ? undefined : compact.schema;
        expect(
          refusals(rules, sent).filter((refusal) => !refusal.includes("a reference")),
          name,
        ).toEqual([]);
        if (compact === derived) continue;
        const forms = [readable(derived.schema), readable(compact.schema)];
        const [isBefore, isAfter] = forms.map((form) => oracle.compile(form));
        for (const form of forms)
          for (let round = 0; round < ROUNDS; round += 1) {
            const value = makeInstance(form, random, { extras: true });
            tried += 1;
            expect(isAfter!(value), `${name}: ${JSON.stringify(value)}`).toBe(isBefore!(value));
          }
      }
      if (process.env["SCHEMA_FIGURES"]) console.log(target, options, { before, after, tried });
      expect(after).toBeLessThan(before);
      expect(tried).toBeGreaterThan(30);
    },
    TIMEOUT_MS,
  );
});

it("shortens descriptions only where asked, and never adds a byte", () => {
  for (const { description } of tools) {
    const tidy = compactDescription(description, safe)!;
    expect(tidy.replace(/\s+/g, " ")).toBe(description!.trim().replace(/\s+/g, " "));
    expect(tidy.length).toBeLessThanOrEqual(description!.length);
    expect(compactDescription(description, { descriptions: 500 })!.length).toBeLessThanOrEqual(500);
  }
});
