/** Checks arguments and results against the schemas of servers, none of which are trusted. */

import type { RepairOutcome } from "./argument-repair.js";
import { isObject, type JsonSchema } from "./json-schema.js";
import { toJsonValue } from "./json-value.js";
import { type Acceptance, compilePlainSchema } from "./plain-schema.js";
import type { Repairer } from "./repair/repair-value.js";
import type { ValidationBudget } from "./validate-compiled.js";
import { MAX_ISSUES, uncheckedIssue, type ValidationIssue } from "./validation-issue.js";

/**
 * A validator of your own, used instead of the one that Toolport brings.
 *
 * `compile` is called once for every schema, when something is first validated against it. What it returns gives the
 * problems of a value, or nothing. Bounding its time is then up to you: schemas come from servers.
 *
 * @example
 * ```ts
 * const ajv = new Ajv2020({ allErrors: true, strict: false });
 * const validator: SchemaValidatorFactory = {
 *   compile(schema) {
 *     const check = ajv.compile(schema);
 *     return (value) =>
 *       check(value) ? undefined : check.errors?.map((e) => ({ path: `$${e.instancePath}`, message: e.message ?? "" }));
 *   },
 * };
 * ```
 */
export interface SchemaValidatorFactory {
  compile(schema: JsonSchema): (value: unknown) => readonly ValidationIssue[] | undefined;
}

export interface SchemaValidatorOptions {
  /** Used instead of `@cfworker/json-schema`. @default undefined */
  validator?: SchemaValidatorFactory | undefined;
  /**
   * Longest time in ms that slow schemas may take for one call, where the runtime can stop them (Node, Deno).
   * @default 200
   */
  timeoutMs?: number | undefined;
  /** Told once for each pattern that cannot be checked safely here and is therefore not checked (Workers, Bun). */
  onSkippedPattern?: ((schema: JsonSchema, pattern: string) => void) | undefined;
}

/** Validates values against schemas, each compiled when it is first needed and forgotten with the schema object. */
export interface SchemaValidator {
  /**
   * All problems of `value`, at most twenty; none: it is valid. A list at once when everything needed is loaded, a
   * promise of one otherwise. Never throws and never fetches anything.
   *
   * `budget` is the time that the validations of one call share; a new one is used without it.
   */
  validate(
    schema: JsonSchema,
    value: unknown,
    budget?: ValidationBudget,
  ): ValidationIssue[] | Promise<ValidationIssue[]>;
  /** Repairs what does not fit, or says why it cannot be. The first call loads what that takes. Never throws. */
  repair(schema: JsonSchema, value: unknown, request: Omit<RepairRequest, "fairMs">): Promise<RepairOutcome>;
  /** Loads everything, so that `validate` answers at once from then on. */
  prepare(): Promise<void>;
  /** A budget for one call. */
  createBudget(): ValidationBudget;
}

/** A repair that is asked for. */
export interface RepairRequest {
  /** What `validate` said about the value. */
  readonly issues: readonly ValidationIssue[];
  readonly budget: ValidationBudget;
  /** A schema that is stopped after less had no fair chance, and is tried again. */
  readonly fairMs: number;
  /** Fills in defaults where something was left out. */
  readonly refill?: ((value: unknown) => unknown) | undefined;
}

const DEFAULT_TIMEOUT_MS = 200;

/**
 * Makes a validator.
 *
 * The draft is the one that `$schema` names, 2020-12 without it. Formats are checked as `@cfworker/json-schema` knows them
 * (date, time, date-time, duration, email, hostname, ipv4, ipv6, uri, uri-reference, uri-template, url, uuid, regex and
 * the JSON pointers); others say nothing. A value is seen as it will be on the wire: `undefined` properties are not there.
 */
export function createSchemaValidator(options: SchemaValidatorOptions = {}): SchemaValidator {
  const { validator, timeoutMs = DEFAULT_TIMEOUT_MS, onSkippedPattern } = options;
  const createBudget = (): ValidationBudget => ({ leftMs: timeoutMs });
  const fairMs = timeoutMs / 2;
  const { check, prepare } = validator ? ownCheck(validator) : lazyCheck(fairMs, onSkippedPattern);
  let repairer: Promise<Repairer> | undefined;
  const loadRepairer = async (): Promise<Repairer> => {
    const { createRepairer } = await import("./repair/repair-value.js");
    return createRepairer(validator && { validator, check });
  };
  return {
    createBudget,
    prepare,
    validate(schema, value, budget = createBudget()) {
      if (validator === undefined && shortcutOf(schema)?.(value)) return [];
      const seen = toJsonValue(value);
      if ("problem" in seen) return [{ path: "$", message: seen.problem }];
      // A boolean is a schema too, but none that a tool may have.
      if (!isObject(schema)) return [uncheckedIssue("$", "the schema is not an object")];
      return check(schema, seen.value, budget);
    },
    async repair(schema, value, request) {
      const { issues } = request;
      // Nothing is known against the value: the server decides.
      if (issues.every(({ unchecked }) => unchecked)) return { kind: "contradicts" };
      const seen = toJsonValue(value);
      if ("problem" in seen) return { kind: "refused", issues };
      repairer ??= loadRepairer();
      return (await repairer)(schema, seen.value, { ...request, fairMs });
    },
  };
}

const shortcuts = new WeakMap<JsonSchema, Acceptance | null>();

/** Made once a schema, like everything compiled. */
function shortcutOf(schema: JsonSchema): Acceptance | null | undefined {
  if (!isObject(schema)) return undefined;
  let shortcut = shortcuts.get(schema);
  if (shortcut === undefined) {
    shortcut = compilePlainSchema(schema) ?? null;
    shortcuts.set(schema, shortcut);
  }
  return shortcut;
}

/** What stands behind `validate`: the value is JSON, the schema an object. */
export type SchemaCheck = (
  schema: JsonSchema,
  value: unknown,
  budget: ValidationBudget,
) => ValidationIssue[] | Promise<ValidationIssue[]>;

export interface PreparableCheck {
  readonly check: SchemaCheck;
  /** Loads what a check would otherwise have to wait for. */
  prepare(): Promise<void>;
}

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
  const known = new WeakMap<JsonSchema, ReturnType<SchemaValidatorFactory["compile"]>>();
  return {
    prepare: async () => {},
    check(schema, value) {
      try {
        const check = known.get(schema) ?? validator.compile(schema);
        known.set(schema, check);
        return (check(value) ?? []).slice(0, MAX_ISSUES);
      } catch (error) {
        const reason = error instanceof Error ? error.message : "the validator failed";
        return [uncheckedIssue("$", reason)];
      }
    },
  };
}
