/** The rules between an original schema and its derived schema; Ajv validates the values. */
import { Ajv, type ValidateFunction } from "ajv";
import { Ajv2020 } from "ajv/dist/2020.js";
import addFormats from "ajv-formats";
import { deriveSchema } from "../../packages/schemas/src/derive/derive-schema.js";
import type { DerivedSchema } from "../../packages/schemas/src/derive/derived-schema.js";
import { type RuleTarget, refusals } from "../support/provider-refusals.js";
import { createSeededRandom } from "../support/random.js";
import { makeInstance } from "./schema-instances.js";
import { withoutChangedKeywords } from "./without-changed-keywords.js";

type Node = Record<string, unknown>;
type Args = Record<string, unknown>;

const options = {
  strict: false,
  validateSchema: false,
  ownProperties: true,
  logger: false,
  code: { optimize: false },
} as const;
const oracles = { new: new Ajv2020(options), old: new Ajv(options) };
for (const oracle of Object.values(oracles)) addFormats.default(oracle);

function compile(schema: unknown): ValidateFunction {
  const declared = String((schema as Node | null)?.["$schema"] ?? "2020-12");
  const { $id: _id, $schema: _dialect, ...rest } = (typeof schema === "object" ? schema : {}) as Node;
  return (declared.includes("2020-12") || declared.includes("2019") ? oracles.new : oracles.old).compile(
    rest,
  );
}

type Check = (value: unknown) => unknown;
const compiled = new WeakMap<Node, Check>();

/** Some servers publish invalid schemas, for example an empty `enum`. */
function compileOriginal(schema: Node): Check {
  let check = compiled.get(schema);
  if (check === undefined) {
    try {
      check = compile(schema);
    } catch {
      check = () => false;
    }
    compiled.set(schema, check);
  }
  return check;
}

export interface LawReport {
  readonly derived: DerivedSchema;
  readonly refused: readonly string[];
  /** Values that the original accepts and the derived schema does not. */
  readonly lost: readonly unknown[];
  /** Values that the derived schema accepts and the original, without the keywords that became prose, does not. */
  readonly gained: readonly unknown[];
  /** How many values of each kind were checked. */
  readonly tried: { readonly original: number; readonly derived: number };
}

export function checkLaws(schema: Node, target: RuleTarget, { seed = 1, rounds = 12 } = {}): LawReport {
  const derived = deriveSchema(schema, target);
  const rules = target === "openai-strict" && !derived.strict ? "openai" : target;
  const form = target === "gemini-openapi" ? toJsonSchema(derived.schema) : derived.schema;
  const [isOriginal, isDerived] = [compileOriginal(schema), compile(form)];
  const kept = withoutChangedKeywords(schema, derived.changes);
  const isKept = JSON.stringify(kept) === JSON.stringify(schema) ? isOriginal : compile(kept);
  const random = createSeededRandom(seed);
  // Arguments are objects; the report mentions that a closed object stays closed.
  const isOpen = !derived.changes.some(({ what }) => what === "closed");
  const originals = Array.from({ length: rounds }, () =>
    makeInstance(schema, random, { extras: isOpen }),
  ).filter((value) => isArgs(value) && isOriginal(value));
  const deriveds = Array.from({ length: rounds }, () => makeInstance(form, random, { extras: true })).filter(
    (value) => isArgs(value) && isDerived(value),
  );
  return {
    derived,
    refused: refusals(rules, sentSchema(derived.schema, target)),
    lost: originals.filter((value) => !isDerived(derived.wrap(value as Args))),
    gained: deriveds.filter((value) => !isKept(derived.unwrap(value as Args))),
    tried: { original: originals.length, derived: deriveds.length },
  };
}

/** The adapter sends no `parameters` for a function without arguments. */
const sentSchema = (schema: Node, target: RuleTarget): Node | undefined =>
  target === "gemini-openapi" && schema["properties"] === undefined ? undefined : schema;

const isArgs = (value: unknown): boolean =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/** Gemini's OpenAPI subset as JSON Schema, for the oracle. */
function toJsonSchema(schema: unknown): unknown {
  if (Array.isArray(schema)) return schema.map(toJsonSchema);
  if (typeof schema !== "object" || schema === null) return schema;
  const { nullable, format, properties, ...rest } = schema as Node;
  const out: Node = Object.fromEntries(
    Object.entries(rest).map(([key, value]) => [
      key,
      key === "enum" || key === "required" ? value : toJsonSchema(value),
    ]),
  );
  if (typeof rest["type"] === "string") out["type"] = rest["type"].toLowerCase();
  if (properties !== undefined)
    out["properties"] = Object.fromEntries(
      Object.entries(properties as Node).map(([name, item]) => [name, toJsonSchema(item)]),
    );
  if (format !== undefined && format !== "enum") out["format"] = format;
  return nullable === true ? { anyOf: [out, { type: "null" }] } : out;
}
