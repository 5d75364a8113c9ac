/** The built-in validation, with a time limit for schemas that may be slow. Loaded by a dynamic import only. */

import { format, type ValidationResult, validate } from "@cfworker/json-schema";
import { boundedRun } from "#run-bounded";
import { type LinearEngine, TIMED_OUT } from "./bounded/bounded-run.js";
import { type FormatTable, useLinearPatterns } from "./bounded/linear-patterns.js";
import { type CompiledSchema, compileSchema, type SchemaNode } from "./compile-schema.js";
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

/** How long a schema that timed out is not tried again. Not for ever, because a busy machine looks like a slow pattern. */
const SLOW_FOR_MS = 60_000;

const formats = format as FormatTable;
/** Undefined if it is not needed on this runtime, or not loaded yet. */
let linearEngine: LinearEngine | undefined;

/** Loads the engine for risky patterns, where the runtime needs one. */
export async function loadLinearEngine(): Promise<void> {
  linearEngine ??= await boundedRun.loadLinearEngine?.();
}

/** Compiles a schema for the built-in validator, or says why it cannot be compiled. */
export const compileForBuiltIn = (schema: JsonSchema): CompiledSchema | string =>
  compileSchema(schema, { isFormat: (name) => Object.hasOwn(formats, name) });

/** Validates values against the parts of one compiled schema. */
export interface BoundSchema {
  /** Patterns that the linear engine does not support. They are not checked. */
  readonly skipped: readonly string[];
  validate(part: SchemaNode | true, value: unknown, isShort?: boolean): ValidationResult;
  /** Runs `task`, which reads the patterns of the schema for this value. */
  around<T>(value: unknown, task: () => T): T;
}

/** Uses the linear engine for risky patterns, if it is loaded. */
export function bindSchema(compiled: CompiledSchema): BoundSchema {
  const { draft, targets, risky } = compiled;
  const linear = risky && linearEngine !== undefined ? useLinearPatterns(compiled, linearEngine) : undefined;
  const around = <T>(value: unknown, task: () => T): T =>
    linear === undefined ? task() : linear.around(value, formats, task);
  return {
    skipped: linear?.skipped ?? [],
    around,
    validate: (part, value, isShort = false) =>
      around(value, () => validate(value, part, draft, targets as never, isShort)),
  };
}

/** A schema can overflow the stack; any other error is unexpected. */
const reasonOf = (error: unknown): string =>
  error instanceof RangeError
    ? "the schema refers to itself without end, or the value is too large for it"
    : "the schema and the value are too unusual for the validator";

/** All problems of a value; none: it is valid. Never throws. */
type PreparedCheck = (value: unknown, budget: ValidationBudget) => ValidationIssue[];

/** @param fairMs a schema that was stopped after less time than this is tried again */
function prepareCheck(compiled: CompiledSchema, bound: BoundSchema, fairMs: number): PreparedCheck {
  /** Until when validating fails at once (`performance.now()`). */
  let slowUntil = 0;
  const run = (value: unknown): ValidationIssue[] => {
    const { errors } = bound.validate(compiled.root, value);
    return errors.length === 0 ? [] : explainErrors(errors, { compiled, value });
  };
  const runInTime = (value: unknown, budget: ValidationBudget): ValidationIssue[] => {
    const startedAt = performance.now();
    const hasPattern = compiled.patternNodes.length > 0;
    const reason = hasPattern ? "pattern too slow" : "the schema takes too long for this value";
    if (budget.leftMs < 1 || startedAt < slowUntil) return [uncheckedIssue("$", reason)];
    try {
      const issues = boundedRun.run(() => run(value), budget.leftMs);
      if (issues !== TIMED_OUT) return issues;
      if (budget.leftMs >= fairMs) slowUntil = performance.now() + SLOW_FOR_MS;
      return [uncheckedIssue("$", reason)];
    } finally {
      budget.leftMs -= performance.now() - startedAt;
    }
  };
  return (value, budget) => {
    try {
      return compiled.risky ? runInTime(value, budget) : run(value);
    } catch (error) {
      return [uncheckedIssue("$", reasonOf(error))];
    }
  };
}

/** Creates a check with its own cache of compiled schemas. */
export function createBuiltInCheck(
  fairMs: number,
  onSkippedPattern: SchemaValidatorOptions["onSkippedPattern"],
): PreparableCheck {
  const known = new WeakMap<JsonSchema, PreparedCheck>();

  /** Undefined if the schema needs the linear engine, which is not loaded yet. */
  const prepare = (schema: JsonSchema): PreparedCheck | undefined => {
    const compiled = compileForBuiltIn(schema);
    if (typeof compiled === "string") return () => [uncheckedIssue("$", compiled)];
    const needsEngine = compiled.risky && compiled.patternNodes.length > 0;
    if (needsEngine && boundedRun.loadLinearEngine !== undefined && linearEngine === undefined)
      return undefined;
    const bound = bindSchema(compiled);
    for (const pattern of bound.skipped) onSkippedPattern?.(schema, pattern);
    return prepareCheck(compiled, bound, fairMs);
  };

  const check: SchemaCheck = (schema, value, budget) => {
    const prepared = known.get(schema) ?? prepare(schema);
    if (prepared === undefined) return loadLinearEngine().then(() => check(schema, value, budget));
    known.set(schema, prepared);
    return prepared(value, budget);
  };

  return { check, prepare: loadLinearEngine };
}
