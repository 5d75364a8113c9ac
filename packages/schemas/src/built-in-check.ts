/** The built-in validation, with a time limit for schemas that may be slow, or a linear-time engine in place of the regular expressions of the validator, which has no hook for them. Loaded by a dynamic import only. */
import { format, type ValidationResult, validate } from "@cfworker/json-schema";
import { boundedRun } from "#run-bounded";
import { type LinearEngine, type LinearTest, TIMED_OUT } from "./bounded/bounded-run.js";
import { type CompiledSchema, compileSchema, type SchemaNode } from "./compile-schema.js";
import { explainErrors, PATTERN_FORMAT } from "./explain-errors.js";
import type { JsonSchema } from "./json-schema.js";
import { isSimplePattern } from "./read-pattern.js";
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

type BoundSchema = ReturnType<typeof bindSchema>;

/** Validates values against the parts of a compiled schema. Uses the linear engine for risky patterns, if it is loaded. */
export function bindSchema(compiled: CompiledSchema) {
  const { draft, targets, risky } = compiled;
  const linear = risky && linearEngine !== undefined ? useLinearPatterns(compiled, linearEngine) : undefined;
  const around = <T>(value: unknown, task: () => T): T =>
    linear === undefined ? task() : linear.around(value, formats, task);
  return {
    /** Patterns that the linear engine does not support. They are not checked. */
    skipped: linear?.skipped ?? [],
    /** Runs a task that reads the patterns of the schema for this value. */
    around,
    validate: (part: SchemaNode | true, value: unknown, isShort = false): ValidationResult =>
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

/** The validator's table of formats. */
type FormatTable = Record<string, (text: string) => boolean>;

/** Rewrites the schema's risky patterns in place, so that they no longer reach the runtime's own engine. */
function useLinearPatterns(compiled: CompiledSchema, engine: LinearEngine) {
  const tests = new Map<string, LinearTest | undefined>();
  const testFor = (pattern: string): LinearTest | undefined => {
    if (!tests.has(pattern)) tests.set(pattern, engine(pattern));
    return tests.get(pattern);
  };
  /** The property names of the value under validation. */
  let names: readonly string[] = [];
  for (const node of compiled.patternNodes) {
    replacePattern(node, testFor);
    replacePatternProperties(node, testFor, () => names);
  }
  const usable = [...tests].flatMap(([pattern, test]) => (test === undefined ? [] : [{ pattern, test }]));
  return {
    skipped: [...tests].flatMap(([pattern, test]) => (test === undefined ? [pattern] : [])),
    /** Runs `task`, in which `value` is validated. */
    around<T>(value: unknown, formats: FormatTable, task: () => T): T {
      names = propertyNames(value);
      // Other users of the validator share the table, so our entries are removed again.
      for (const { pattern, test } of usable) formats[PATTERN_FORMAT + pattern] = test;
      try {
        return task();
      } finally {
        for (const { pattern } of usable) delete formats[PATTERN_FORMAT + pattern];
      }
    },
  };
}

/** A pattern becomes a format, because formats are looked up in a table. */
function replacePattern(node: SchemaNode, testFor: (pattern: string) => LinearTest | undefined): void {
  const pattern = node["pattern"];
  if (typeof pattern !== "string" || isSimplePattern(pattern)) return;
  delete node["pattern"];
  if (testFor(pattern) === undefined) return;
  node["allOf"] = [...((node["allOf"] as unknown[]) ?? []), { format: PATTERN_FORMAT + pattern }];
}

/** A pattern for names becomes the list of names in the value that match it, which needs no backtracking. */
function replacePatternProperties(
  node: SchemaNode,
  testFor: (pattern: string) => LinearTest | undefined,
  names: () => readonly string[],
): void {
  const written = Object.entries((node["patternProperties"] as Record<string, unknown>) ?? {});
  if (written.every(([pattern]) => isSimplePattern(pattern))) return;
  for (const [pattern] of written) if (!isSimplePattern(pattern)) testFor(pattern);
  let [knownNames, known]: [readonly string[] | undefined, Record<string, unknown>] = [undefined, {}];
  const buildMap = (): Record<string, unknown> => {
    const map: Record<string, unknown> = Object.create(null);
    for (const [index, [pattern, schema]] of written.entries()) {
      if (isSimplePattern(pattern)) {
        map[pattern] = schema;
        continue;
      }
      const test = testFor(pattern);
      // The names that a skipped pattern matches are unknown, so no name may count as undeclared.
      if (test === undefined) map[""] = true;
      else map[`${exactly(names().filter(test))}(?:){${index}}`] = schema;
    }
    return map;
  };
  Object.defineProperty(node, "patternProperties", {
    enumerable: true,
    get: () => {
      if (knownNames !== names()) [knownNames, known] = [names(), buildMap()];
      return known;
    },
  });
}

// The index only distinguishes two patterns that match the same names.
const exactly = (names: readonly string[]): string =>
  names.length === 0 ? "^[]" : `^(?:${names.map(escapeName).join("|")})$`;

const escapeName = (name: string): string => name.replace(/[\\^$.*+?()[\]{}|/]/g, "\\$&");

function propertyNames(value: unknown): string[] {
  const names = new Set<string>();
  const open: unknown[] = [value];
  while (open.length > 0) {
    const part = open.pop();
    if (typeof part !== "object" || part === null) continue;
    if (!Array.isArray(part)) for (const name of Object.keys(part)) names.add(name);
    for (const inner of Object.values(part)) open.push(inner);
  }
  return [...names];
}
