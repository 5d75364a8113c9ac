/** Repairs invalid values within the time budget. Loaded by a dynamic import only. */
import type { RepairOutcome } from "../argument-repair.js";
import { TIMED_OUT } from "../bounded/bounded-run.js";
import { validationEngine as engine, loadLinearEngine } from "../built-in-check.js";
import type { JsonSchema } from "../json-schema.js";
import type { Repairer, RepairRequest, SchemaCheck, SchemaValidatorFactory } from "../schema-validator.js";
import { builtInParts, ownParts, PartNotCheckable, type SchemaParts } from "./schema-parts.js";
import { MAX_LEVELS, RepairGivenUp, ValueRepairer } from "./value-repairer.js";

/** The user's validator, and the check that calls it. */
export interface OwnValidator {
  readonly validator: SchemaValidatorFactory;
  readonly check: SchemaCheck;
}

/** How long a schema on which a repair timed out is not tried again. */
const SLOW_FOR_MS = 60_000;
const slowUntil = new WeakMap<SchemaParts, number>();

/** Creates a repairer with its own cache of lenient schemas. */
export function createRepairer(own: OwnValidator | undefined): Repairer {
  const builtIn = remembered((schema) => builtInParts(engine, schema));
  const owned = own && remembered((schema) => ownParts(own.validator, schema, own.check));

  return async (schema, value, request) => {
    await loadLinearEngine(engine);
    const refused: RepairOutcome = { kind: "refused", issues: request.issues };
    const run = (parts: SchemaParts | string, more: RunOptions = {}): RepairOutcome =>
      typeof parts === "string" ? refused : runBounded(parts, value, { ...request, ...more });
    try {
      if (owned === undefined) return run(builtIn(schema));
      try {
        return run(owned(schema));
      } catch (error) {
        if (!(error instanceof PartNotCheckable)) throw error;
        // The user's validator handles whole schemas only: it checks the result, the built-in one finds the places.
        const whole = owned(schema) as SchemaParts;
        return run(builtIn(schema), { maxLevels: 1, issuesOf: whole.strictIssues });
      }
    } catch {
      // Too many steps, no time left, or a value that overflows the stack of the validator.
      return refused;
    }
  };
}

interface RunOptions {
  readonly maxLevels?: number;
  /** Finds the issues of a whole value, instead of `parts`. */
  readonly issuesOf?: SchemaParts["issues"];
}

function runBounded(parts: SchemaParts, value: unknown, options: RepairRequest & RunOptions): RepairOutcome {
  const { budget, fairMs } = options;
  const startedAt = performance.now();
  if (budget.leftMs < 1 || startedAt < (slowUntil.get(parts) ?? 0)) throw new RepairGivenUp();
  const deadline = startedAt + budget.leftMs;
  const task = () => repair(parts, value, { ...options, deadline });
  try {
    const outcome = parts.lenient.compiled.risky ? engine.bounded.run(task, budget.leftMs) : task();
    if (outcome !== TIMED_OUT) return outcome;
    if (budget.leftMs >= fairMs) slowUntil.set(parts, performance.now() + SLOW_FOR_MS);
    throw new RepairGivenUp();
  } finally {
    budget.leftMs -= performance.now() - startedAt;
  }
}

function repair(
  parts: SchemaParts,
  value: unknown,
  options: RepairRequest & RunOptions & { deadline: number },
): RepairOutcome {
  const { deadline, maxLevels = MAX_LEVELS, issuesOf = parts.issues, refill } = options;
  if (parts.lenient.isWider && issuesOf(value).length === 0) return { kind: "contradicts" };
  const {
    value: repaired,
    repairs,
    isWhole,
  } = new ValueRepairer(parts, { maxLevels, deadline }).repairInvalid(value);
  const left = isWhole && issuesOf === parts.issues ? [] : issuesOf(repaired);
  const issues = repairs.length === 0 && left.length === 0 ? options.issues : left;
  if (issues.length > 0) return { kind: "refused", issues };
  const refilled = repairs.some(({ change }) => change === "left out") ? refill?.(repaired) : undefined;
  // An invalid default is a mistake in the schema and must not fail the call.
  const final = refilled !== undefined && issuesOf(refilled).length === 0 ? refilled : repaired;
  const contradicts = parts.lenient.isWider && parts.strictIssues(final).length > 0;
  return { kind: "repaired", value: final, repairs, contradicts };
}

function remembered<Value>(make: (schema: JsonSchema) => Value): (schema: JsonSchema) => Value {
  const known = new WeakMap<JsonSchema, Value>();
  return (schema) => {
    let value = known.get(schema);
    if (value === undefined) {
      value = make(schema);
      known.set(schema, value);
    }
    return value;
  };
}
