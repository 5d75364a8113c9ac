/** The interfaces of validators, the one that Toolport uses and the one that users may supply, and what they return. */
import type { JsonSchema } from "./json-schema.js";

/** One issue of a value. */
export interface ValidationIssue {
  /** Where: `$` is the value itself, `$.items[2].name` a part of it. */
  readonly path: string;
  /** The problem, to be read after the path: `must be a string, but is a number`. Never contains the value. */
  readonly message: string;
  /** The validity is unknown: the schema could not be applied (a slow pattern, an unresolved reference). */
  readonly unchecked?: true;
}

/** The schema could not be applied. */
export const uncheckedIssue = (path: string, reason: string): ValidationIssue => ({
  path,
  message: `cannot be checked: ${reason}`,
  unchecked: true,
});

/** Maximum number of issues reported. */
export const MAX_ISSUES = 20;

/** One change to the arguments of a call before they were sent. It never contains a value. */
export interface ArgumentRepair {
  /** Where: `$.filter.limit`. For a renamed property, its old name. */
  readonly path: string;
  readonly change:
    | "left out"
    | "parsed JSON text"
    | "text to number"
    | "text to boolean"
    | "other case"
    | "number to text"
    | "one value to a list"
    | "renamed";
  /** The new name of a renamed property. */
  readonly to?: string;
}

/** The result of repairing a value that does not match its schema. */
export type RepairOutcome =
  /** The schema contradicts itself; a lenient reading of it accepts the value as it is. */
  | { readonly kind: "contradicts" }
  | {
      readonly kind: "repaired";
      readonly value: unknown;
      readonly repairs: readonly ArgumentRepair[];
      /** The repaired value fits only the lenient reading of the schema. */
      readonly contradicts: boolean;
    }
  /** `issues`: the remaining issues after the repair. */
  | { readonly kind: "refused"; readonly issues: readonly ValidationIssue[] };

/**
 * A validator that replaces the built-in one.
 *
 * `compile` is called once for every schema, before its first use. The function that it returns gives the
 * issues of a value, or undefined. Limit its time yourself, because schemas come from servers.
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
  /** Called once for each pattern that cannot be checked safely on this runtime (Workers, Bun) and is skipped. */
  onSkippedPattern?: ((schema: JsonSchema, pattern: string) => void) | undefined;
}

/** Validates values against schemas, each compiled when it is first needed and forgotten with the schema object. */
export interface SchemaValidator {
  /**
   * Returns the issues of `value`, at most twenty; none if it is valid. Synchronous if all code is loaded, otherwise a
   * promise. Never throws and never fetches anything.
   *
   * `budget` is the time that the validations of one call share; a new one is used without it.
   */
  validate(
    schema: JsonSchema,
    value: unknown,
    budget?: ValidationBudget,
  ): ValidationIssue[] | Promise<ValidationIssue[]>;
  /** Repairs a value, or returns what is wrong with it. The first call loads the code. Never throws. */
  repair(schema: JsonSchema, value: unknown, request: Omit<RepairRequest, "fairMs">): Promise<RepairOutcome>;
  /** Loads the code, so that `validate` is synchronous from then on. */
  prepare(): Promise<void>;
  /** A budget for one call. */
  createBudget(): ValidationBudget;
}

/** The request of a repair. */
export interface RepairRequest {
  /** The issues that `validate` returned for the value. */
  readonly issues: readonly ValidationIssue[];
  readonly budget: ValidationBudget;
  /** A schema that was stopped after less time than this is tried again. */
  readonly fairMs: number;
  /** Fills in defaults where something was left out. */
  readonly refill?: ((value: unknown) => unknown) | undefined;
}

/** Time that the validations of one call share. Each validation subtracts what it used. */
export interface ValidationBudget {
  leftMs: number;
}

/** The check behind `validate`: the value is JSON, the schema an object. */
export type SchemaCheck = (
  schema: JsonSchema,
  value: unknown,
  budget: ValidationBudget,
) => ValidationIssue[] | Promise<ValidationIssue[]>;

export interface PreparableCheck {
  readonly check: SchemaCheck;
  /** Loads the code, so that checks are synchronous. */
  prepare(): Promise<void>;
}

/** Repairs a value that does not match its schema. */
export type Repairer = (schema: JsonSchema, value: unknown, request: RepairRequest) => Promise<RepairOutcome>;
