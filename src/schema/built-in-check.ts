/** The built-in validation, with a time limit for schemas that may be slow. Loaded by a dynamic import only. */

import { format, validate } from "@cfworker/json-schema";
import { boundedRun } from "#run-bounded";
import { type BoundedRun, type LinearEngine, TIMED_OUT } from "./bounded/bounded-run.js";
import { type FormatTable, type LinearPatterns, useLinearPatterns } from "./bounded/linear-patterns.js";
import { type CompiledSchema, compileSchema } from "./compile-schema.js";
import { explainErrors } from "./explain-errors.js";
import type { JsonSchema } from "./json-schema.js";
import {
  type PreparableCheck,
  type SchemaCheck,
  type SchemaValidatorOptions,
  uncheckedIssue,
  type ValidationBudget,
  type ValidationIssue,
} from "./schema-validator.js";

/** One validation. */
interface ValidationRun {
  value: unknown;
  budget: ValidationBudget;
  /** A schema that was stopped after less time than this is tried again. */
  fairMs: number;
}

/** How long a schema that timed out is not tried again. Not for ever, because a busy machine looks like a slow pattern. */
const SLOW_FOR_MS = 60_000;

/** A compiled schema with its state. */
interface PreparedSchema {
  readonly compiled: CompiledSchema | string;
  readonly linear: LinearPatterns | undefined;
  /** Until when validating against it fails at once (`performance.now()`). */
  slowUntil: number;
}

/** Whether a schema needs the linear pattern engine, which is not loaded yet. */
const needsLinearEngine = (compiled: CompiledSchema | string, engine: ValidationEngine): boolean =>
  typeof compiled !== "string" &&
  compiled.risky &&
  compiled.patternNodes.length > 0 &&
  engine.bounded.loadLinearEngine !== undefined &&
  engine.linear === undefined;

/** Compiles a schema for an engine. */
function compileFor(engine: ValidationEngine, schema: JsonSchema): CompiledSchema | string {
  return compileSchema(schema, { isFormat: (format) => Object.hasOwn(engine.formats, format) });
}

/** Uses the linear engine if it is loaded. */
function prepareSchema(engine: ValidationEngine, compiled: CompiledSchema | string): PreparedSchema {
  const isBound = typeof compiled !== "string" && compiled.risky && engine.linear !== undefined;
  return {
    compiled,
    linear: isBound ? useLinearPatterns(compiled, engine.linear!) : undefined,
    slowUntil: 0,
  };
}

/** All problems of `value`; none: it is valid. Never throws. */
function validatePrepared(
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

/** A schema can overflow the stack; any other error is unexpected. */
const reasonOf = (error: unknown): string =>
  error instanceof RangeError
    ? "the schema refers to itself without end, or the value is too large for it"
    : "the schema and the value are too unusual for the validator";

export interface ValidationEngine {
  readonly validate: typeof validate;
  readonly formats: FormatTable;
  readonly bounded: BoundedRun;
  /** Undefined if it is not needed, or not loaded yet. */
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

/** Creates a check with its own cache of compiled schemas. */
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
