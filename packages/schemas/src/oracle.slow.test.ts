/** Compares validation with Ajv for many generated schemas and values. */
import { Ajv, type ValidateFunction } from "ajv";
import { Ajv2020 } from "ajv/dist/2020.js";
import addFormats from "ajv-formats";
import { beforeAll, describe, expect, it } from "vitest";
import { createRandom, randomSchema, randomValue } from "../../../test/support/random-schemas.js";
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

// A busy machine must not look like a slow schema.
const validator = createSchemaValidator({ timeoutMs: 10_000 });
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
