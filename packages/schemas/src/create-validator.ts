/** Validates arguments and results against the schemas of servers, which are not trusted. */

import type {
  JsonSchemaType,
  JsonSchemaValidatorResult,
  jsonSchemaValidator,
} from "@modelcontextprotocol/client";
import { isPlainObject, oncePerObject } from "@toolport/base";
import { isRecord, type JsonSchema } from "./json-schema.js";
import { toJsonValue } from "./json-value.js";
import {
  type ArgumentRepair,
  MAX_ISSUES,
  type PreparableCheck,
  type Repairer,
  type SchemaValidator,
  type SchemaValidatorFactory,
  type SchemaValidatorOptions,
  uncheckedIssue,
  type ValidationBudget,
  type ValidationIssue,
} from "./schema-validator.js";

export type { SchemaValidator, SchemaValidatorFactory, SchemaValidatorOptions } from "./schema-validator.js";

const DEFAULT_TIMEOUT_MS = 200;

/**
 * Creates a validator.
 *
 * `$schema` selects the draft; the default is 2020-12. The formats of `@cfworker/json-schema` are checked
 * (date, time, date-time, duration, email, hostname, ipv4, ipv6, uri, uri-reference, uri-template, url, uuid and
 * the JSON pointers); others are ignored. A value is checked as it will be sent: `undefined` properties are left out.
 */
export function createSchemaValidator(options: SchemaValidatorOptions = {}): SchemaValidator {
  const { validator, timeoutMs = DEFAULT_TIMEOUT_MS, onSkippedPattern } = options;
  const createBudget = (): ValidationBudget => ({ leftMs: timeoutMs });
  const fairMs = timeoutMs / 2;
  const { check, prepare } = validator ? ownCheck(validator) : lazyCheck(fairMs, onSkippedPattern);
  let repairer: Promise<Repairer> | undefined;
  const loadRepairer = async (): Promise<Repairer> => {
    const { createRepairer } = await import("./repair/create-repairer.js");
    return createRepairer(validator && { validator, check });
  };
  return {
    createBudget,
    prepare,
    validate(schema, value, budget = createBudget()) {
      if (validator === undefined && isRecord(schema) && shortcutOf(schema)?.(value)) return [];
      const seen = toJsonValue(value);
      if ("problem" in seen) return [{ path: "$", message: seen.problem }];
      // A boolean is a valid JSON Schema, but not a valid schema of a tool.
      if (!isRecord(schema)) return [uncheckedIssue("$", "the schema is not an object")];
      return check(schema, seen.value, budget);
    },
    async repair(schema, value, request) {
      const { issues } = request;
      // The schema could not be applied, so the server decides.
      if (issues.every(({ unchecked }) => unchecked)) return { kind: "contradicts" };
      const seen = toJsonValue(value);
      if ("problem" in seen) return { kind: "refused", issues };
      repairer ??= loadRepairer();
      return (await repairer)(schema, seen.value, { ...request, fairMs });
    },
  };
}

const shortcutOf = oncePerObject((schema: JsonSchema) => compilePlainSchema(schema));

function lazyCheck(
  fairMs: number,
  onSkippedPattern: SchemaValidatorOptions["onSkippedPattern"],
): PreparableCheck {
  let loaded: PreparableCheck | undefined;
  const load = async (): Promise<PreparableCheck> => {
    const { createBuiltInCheck } = await import("./built-in-check.js");
    loaded ??= createBuiltInCheck(fairMs, onSkippedPattern);
    return loaded;
  };
  return {
    check(schema, value, budget) {
      if (loaded !== undefined) return loaded.check(schema, value, budget);
      return load().then(({ check }) => check(schema, value, budget));
    },
    prepare: async () => (await load()).prepare(),
  };
}

function ownCheck(validator: SchemaValidatorFactory): PreparableCheck {
  const checkOf = oncePerObject((schema: JsonSchema) => validator.compile(schema));
  return {
    prepare: async () => {},
    check(schema, value) {
      try {
        return (checkOf(schema)(value) ?? []).slice(0, MAX_ISSUES);
      } catch (error) {
        const reason = error instanceof Error ? error.message : "the validator failed";
        return [uncheckedIssue("$", reason)];
      }
    },
  };
}

/** True: valid. False: unknown. */
type Acceptance = (value: unknown) => boolean;

/** Keywords that do not constrain values. */
const ANNOTATIONS: ReadonlySet<string> = new Set(
  "$schema $comment title description default examples deprecated readOnly writeOnly".split(" "),
);

const MAX_DEPTH = 4;

const isText: Acceptance = (value) => typeof value === "string";
const isFlag: Acceptance = (value) => typeof value === "boolean";
/** NaN and Infinity are not numbers in JSON. */
const isNumber: Acceptance = (value) => typeof value === "number" && Number.isFinite(value);
const isNothing: Acceptance = (value) => value === null;
const isLeaf: Acceptance = (value) => isText(value) || isNumber(value) || isFlag(value) || isNothing(value);

const LEAVES: Readonly<Record<string, Acceptance>> = {
  string: isText,
  number: isNumber,
  integer: Number.isInteger,
  boolean: isFlag,
  null: isNothing,
};

const hasOnly = (schema: JsonSchema, keywords: readonly string[]): boolean =>
  Object.keys(schema).every((key) => keywords.includes(key) || ANNOTATIONS.has(key));

/** The shortcut for a schema; undefined if it is not simple. */
export function compilePlainSchema(schema: unknown, depth = 0): Acceptance | undefined {
  if (!isRecord(schema) || depth > MAX_DEPTH) return undefined;
  const { type } = schema;
  if (type === "object") return compileObject(schema, depth);
  if (type === "array") return compileList(schema, depth);
  if (typeof type !== "string" || !Object.hasOwn(LEAVES, type)) return undefined;
  return compileLeaf(schema, LEAVES[type]!);
}

function compileLeaf(schema: JsonSchema, isType: Acceptance): Acceptance | undefined {
  const { enum: choices } = schema;
  if (!hasOnly(schema, ["type", "enum"])) return undefined;
  if (choices === undefined) return isType;
  if (!Array.isArray(choices) || !choices.every(isLeaf)) return undefined;
  const allowed = new Set<unknown>(choices);
  return (value) => isType(value) && allowed.has(value);
}

function compileList(schema: JsonSchema, depth: number): Acceptance | undefined {
  if (!hasOnly(schema, ["type", "items"])) return undefined;
  const accepts = schema["items"] === undefined ? isLeaf : compilePlainSchema(schema["items"], depth + 1);
  if (accepts === undefined) return undefined;
  return (value) => Array.isArray(value) && !("toJSON" in value) && everyItem(value, accepts);
}

/** Not by `every`, which skips holes: they are `null` on the wire. */
function everyItem(values: readonly unknown[], accepts: Acceptance): boolean {
  for (let index = 0; index < values.length; index += 1) if (!accepts(values[index])) return false;
  return true;
}

function compileObject(schema: JsonSchema, depth: number): Acceptance | undefined {
  const { properties = {}, required = [], additionalProperties = true } = schema;
  if (!hasOnly(schema, ["type", "properties", "required", "additionalProperties"])) return undefined;
  if (!isRecord(properties) || typeof additionalProperties !== "boolean") return undefined;
  if (!Array.isArray(required) || !required.every(isText)) return undefined;
  const members = new Map<string, Acceptance>();
  for (const [name, member] of Object.entries(properties)) {
    const accepts = compilePlainSchema(member, depth + 1);
    if (accepts === undefined) return undefined;
    members.set(name, accepts);
  }
  const others: Acceptance = additionalProperties ? isLeaf : () => false;
  return (value) => {
    if (!isPlainObject(value)) return false;
    for (const key in value) if (!(members.get(key) ?? others)(value[key])) return false;
    for (const name of required) if (!Object.hasOwn(value, name as string)) return false;
    return true;
  };
}

/** Adapts a validator for the SDK. The SDK validates synchronously, so all code is loaded before this resolves. */
export async function createSdkValidator(validator: SchemaValidator): Promise<jsonSchemaValidator> {
  await validator.prepare();
  return {
    getValidator<T>(schema: JsonSchemaType) {
      return (input: unknown): JsonSchemaValidatorResult<T> => {
        const issues = validator.validate(schema as JsonSchema, input);
        if (!Array.isArray(issues)) throw new TypeError("The validator is not prepared");
        // What cannot be checked is accepted.
        if (issues.every(({ unchecked }) => unchecked))
          return { valid: true, data: input as T, errorMessage: undefined };
        const errorMessage = issues.map(({ path, message }) => `${path} ${message}`).join("; ");
        return { valid: false, data: undefined, errorMessage };
      };
    },
  };
}

/** Adapts a validator of the SDK to {@link SchemaValidatorFactory}. */
export const fromSdkValidator = (provider: jsonSchemaValidator): SchemaValidatorFactory => ({
  compile(schema) {
    const check = provider.getValidator(schema as JsonSchemaType);
    return (value) => {
      const verdict = check(value);
      return verdict.valid ? undefined : [{ path: "$", message: verdict.errorMessage }];
    };
  },
});

let standalone: SchemaValidator | undefined;

/** The result of {@link repairArguments}. */
export interface RepairedArguments {
  /** The arguments to send: the same object if nothing was changed. */
  readonly args: Readonly<Record<string, unknown>>;
  /** The changes; empty if there are none. */
  readonly repaired: readonly ArgumentRepair[];
  /** The remaining issues after the repair; if empty, `args` can be sent. */
  readonly issues: readonly ValidationIssue[];
}

/**
 * Repairs arguments as `checkArguments: "repair"` does before a call, and sends nothing. It does not change its arguments.
 * The code for it is loaded with the first call.
 *
 * @example
 * ```ts
 * const schema = { type: "object", properties: { limit: { type: "integer" }, after: { type: "string" } } };
 * const { args, repaired, issues } = await repairArguments(schema, { limit: "5", after: null });
 * // args: { limit: 5 }; repaired: [{ path: "$.limit", change: "text to number" }, { path: "$.after", change: "left out" }]
 * ```
 */
export async function repairArguments(
  schema: JsonSchema,
  args: Readonly<Record<string, unknown>>,
): Promise<RepairedArguments> {
  standalone ??= createSchemaValidator();
  const budget = standalone.createBudget();
  const issues = await standalone.validate(schema, args, budget);
  if (issues.length === 0) return { args, repaired: [], issues };
  const outcome = await standalone.repair(schema, args, { issues, budget });
  if (outcome.kind === "refused") return { args, repaired: [], issues: outcome.issues };
  if (outcome.kind === "contradicts") return { args, repaired: [], issues: [] };
  return { args: outcome.value as Record<string, unknown>, repaired: outcome.repairs, issues: [] };
}
