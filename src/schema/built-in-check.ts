/** Holds a value against a compiled schema, under a bound where the schema might be slow. */

import { format, validate } from "@cfworker/json-schema";
import { boundedRun } from "#run-bounded";
import { type BoundedRun, type LinearEngine, TIMED_OUT } from "./bounded/bounded-run.js";
import { type FormatTable, type LinearPatterns, useLinearPatterns } from "./bounded/linear-patterns.js";
import { type CompiledSchema, compileSchema } from "./compile-schema.js";
import { explainErrors } from "./explain-errors.js";
import type { JsonSchema } from "./json-schema.js";
import type {
  PreparableCheck,
  SchemaCheck,
  SchemaValidatorOptions,
  ValidationBudget,
} from "./schema-validator.js";
import { uncheckedIssue, type ValidationIssue } from "./validation-issue.js";

/** One validation. */
export interface ValidationRun {
  value: unknown;
  budget: ValidationBudget;
  /** A schema that is stopped after less has had no fair chance, and is tried again. */
  fairMs: number;
}

/** A schema on which a validation ran out of time is not tried again for so long: a busy machine can look like a slow pattern. */
const SLOW_FOR_MS = 60_000;

/** A schema with everything that was found out about it. */
export interface PreparedSchema {
  readonly compiled: CompiledSchema | string;
  readonly linear: LinearPatterns | undefined;
  /** Until when validating against it fails at once (`performance.now()`). */
  slowUntil: number;
}

/** Whether a schema has to wait for the engine that risky patterns need here. */
export const needsLinearEngine = (compiled: CompiledSchema | string, engine: ValidationEngine): boolean =>
  typeof compiled !== "string" &&
  compiled.risky &&
  compiled.patternNodes.length > 0 &&
  engine.bounded.loadLinearEngine !== undefined &&
  engine.linear === undefined;

/** Compiles a schema for an engine. */
export function compileFor(engine: ValidationEngine, schema: JsonSchema): CompiledSchema | string {
  return compileSchema(schema, { isFormat: (format) => Object.hasOwn(engine.formats, format) });
}

/** Brings in the linear engine where one is loaded. */
export function prepareSchema(engine: ValidationEngine, compiled: CompiledSchema | string): PreparedSchema {
  const isBound = typeof compiled !== "string" && compiled.risky && engine.linear !== undefined;
  return {
    compiled,
    linear: isBound ? useLinearPatterns(compiled, engine.linear!) : undefined,
    slowUntil: 0,
  };
}

/** All problems of `value`; none: it is valid. Never throws. */
export function validatePrepared(
  engine: ValidationEngine,
  prepared: PreparedSchema,
  { value, budget, fairMs }: ValidationRun,
): ValidationIssue[] {
  const { compiled, linear } = prepared;
  if (typeof compiled === "string") return [uncheckedIssue("$", compiled)];
  const check = (): ValidationIssue[] => {
    const { errors } = engine.validate(
      value,
      compiled.root,
      compiled.draft,
      compiled.targets as never,
      false,
    );
    return errors.length === 0 ? [] : explainErrors(errors, { compiled, value });
  };
  const run = () => (linear === undefined ? check() : linear.around(value, engine.formats, check));
  try {
    return compiled.risky ? runBounded(engine, prepared, { run, budget, fairMs }) : run();
  } catch (error) {
    return [uncheckedIssue("$", reasonOf(error))];
  }
}

function runBounded(
  engine: ValidationEngine,
  prepared: PreparedSchema,
  { run, budget, fairMs }: Omit<ValidationRun, "value"> & { run: () => ValidationIssue[] },
): ValidationIssue[] {
  const startedAt = performance.now();
  const { compiled } = prepared;
  const hasPattern = typeof compiled !== "string" && compiled.patternNodes.length > 0;
  const reason = hasPattern ? "pattern too slow" : "the schema takes too long for this value";
  const tooSlow = [uncheckedIssue("$", reason)];
  if (budget.leftMs < 1 || startedAt < prepared.slowUntil) return tooSlow;
  try {
    const issues = engine.bounded.run(run, budget.leftMs);
    if (issues !== TIMED_OUT) return issues;
    if (budget.leftMs >= fairMs) prepared.slowUntil = performance.now() + SLOW_FOR_MS;
    return tooSlow;
  } finally {
    budget.leftMs -= performance.now() - startedAt;
  }
}

/** The stack is the one limit that a schema can run into without a fault of ours. */
const reasonOf = (error: unknown): string =>
  error instanceof RangeError
    ? "the schema refers to itself without end, or the value is too large for it"
    : "the schema and the value are too unusual for the validator";

export interface ValidationEngine {
  readonly validate: typeof validate;
  readonly formats: FormatTable;
  readonly bounded: BoundedRun;
  /** Undefined where it is not needed, or not yet. */
  linear?: LinearEngine | undefined;
}

export const validationEngine: ValidationEngine = {
  validate,
  formats: format as FormatTable,
  bounded: boundedRun,
};

/** Loads the engine for risky patterns, where the runtime needs one. */
export async function loadLinearEngine(engine: ValidationEngine): Promise<void> {
  engine.linear ??= await engine.bounded.loadLinearEngine?.();
}

/** A check with a memory of its own. */
export function createBuiltInCheck(
  fairMs: number,
  onSkippedPattern: SchemaValidatorOptions["onSkippedPattern"],
): PreparableCheck {
  const known = new WeakMap<JsonSchema, PreparedSchema>();

  const prepare = (schema: JsonSchema): PreparedSchema | undefined => {
    const compiled = compileFor(validationEngine, schema);
    if (needsLinearEngine(compiled, validationEngine)) return undefined;
    const prepared = prepareSchema(validationEngine, compiled);
    known.set(schema, prepared);
    for (const pattern of prepared.linear?.skipped ?? []) onSkippedPattern?.(schema, pattern);
    return prepared;
  };

  const check: SchemaCheck = (schema, value, budget) => {
    const prepared = known.get(schema) ?? prepare(schema);
    if (prepared === undefined)
      return loadLinearEngine(validationEngine).then(() => check(schema, value, budget));
    return validatePrepared(validationEngine, prepared, { value, budget, fairMs });
  };

  return { check, prepare: () => loadLinearEngine(validationEngine) };
}
