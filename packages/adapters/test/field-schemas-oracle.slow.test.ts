/** Compares validation with Ajv for the schemas that servers really list, with the arguments of the corpus and with changed ones. */

import { createSchemaValidator } from "@toolport/schemas/internal";
import { Ajv, type ValidateFunction } from "ajv";
import { Ajv2019 } from "ajv/dist/2019.js";
import { Ajv2020 } from "ajv/dist/2020.js";
import { beforeAll, expect, test } from "vitest";
import { FIELD_SCHEMAS, type FieldSchema, isNullable } from "../../../test/support/field-schemas.js";

const options = {
  strict: false,
  validateSchema: false,
  ownProperties: true,
  logger: false,
  multipleOfPrecision: 9,
} as const;

// A busy machine must not look like a slow schema.
const validator = createSchemaValidator({ timeoutMs: 10_000 });
beforeAll(() => validator.prepare());

/** Both libraries know other formats. */
const withoutFormats = <Value>(value: Value): Value =>
  JSON.parse(
    JSON.stringify(value, (key, item: unknown) =>
      key === "format" && typeof item === "string" ? undefined : item,
    ),
  );

/** Undefined: Ajv cannot read the schema. */
function compile({ schema }: FieldSchema): ValidateFunction | undefined {
  const { $schema = "", ...rest } = withoutFormats(schema);
  const Draft = /2019-09/.test(String($schema))
    ? Ajv2019
    : /draft-0[67]/.test(String($schema))
      ? Ajv
      : Ajv2020;
  try {
    return new Draft(options).compile(rest);
  } catch {
    return undefined;
  }
}

const VALUES = [null, "", "x y", -1, 0.5, 1e6, true, [], [1], {}, { a: 1 }];

/** The arguments with one value replaced or removed, at most three levels deep. */
function* changes(value: unknown, depth = 3): Generator<unknown> {
  if (typeof value !== "object" || value === null || depth === 0) return;
  for (const key of Object.keys(value)) {
    const replaced = (item: unknown) =>
      Object.assign(Array.isArray(value) ? [...value] : { ...value }, { [key]: item });
    const { [key]: own, ...others } = value as Record<string, unknown>;
    if (!Array.isArray(value)) yield others;
    for (const item of VALUES) yield replaced(item);
    for (const item of changes(own, depth - 1)) yield replaced(item);
  }
  if (!Array.isArray(value)) yield { ...value, undeclared: "x" };
}

const isAccepted = (schema: FieldSchema["schema"], args: unknown): boolean => {
  const issues = validator.validate(schema, args);
  if (!Array.isArray(issues)) throw new Error("The validator is not prepared");
  return issues.length === 0;
};

/** Ajv validates keywords beside `$ref`, which draft-07 ignores. */
const OTHER_IN_AJV = new Set(["ref_siblings_draft_7"]);

test("Ajv agrees wherever it can read a schema; with unchecked keywords, validation is never stricter", () => {
  const wrong: unknown[] = [];
  let [compared, equal] = [0, 0];
  for (const field of FIELD_SCHEMAS) {
    const check = OTHER_IN_AJV.has(field.name) || isNullable(field) ? undefined : compile(field);
    if (check === undefined) continue;
    const schema = withoutFormats(field.schema);
    const isPartly = field.unchecked !== undefined;
    compared += 1;
    for (const args of [field.arguments, ...(field.refused ?? []), ...changes(field.arguments)]) {
      const [expected, accepted] = [check(args), isAccepted(schema, args)];
      if (expected === accepted) equal += 1;
      else if (!isPartly || expected) wrong.push({ tool: field.name, args, ajv: check.errors ?? "valid" });
    }
  }
  expect(wrong).toEqual([]);
  expect(compared).toBeGreaterThan(170);
  expect(equal).toBeGreaterThan(5_000);
});
