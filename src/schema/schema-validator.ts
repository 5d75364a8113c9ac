/** The interfaces of validators: the one that Toolport uses, and the one that users may supply. */
import type { RepairOutcome } from "./argument-repair.js";
import type { JsonSchema } from "./json-schema.js";
import type { ValidationIssue } from "./validation-issue.js";

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
