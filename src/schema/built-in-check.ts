/** The check that Toolport brings. The heavy half of the validator: reached by a dynamic import only. */
import type { PreparableCheck, SchemaCheck, SchemaValidatorOptions } from "./create-validator.js";
import type { JsonSchema } from "./json-schema.js";
import {
  compileFor,
  needsLinearEngine,
  type PreparedSchema,
  prepareSchema,
  validatePrepared,
} from "./validate-compiled.js";
import { validationEngine as engine, loadLinearEngine } from "./validation-engine.js";

/** A check with a memory of its own. */
export function createBuiltInCheck(
  fairMs: number,
  onSkippedPattern: SchemaValidatorOptions["onSkippedPattern"],
): PreparableCheck {
  const known = new WeakMap<JsonSchema, PreparedSchema>();

  const prepare = (schema: JsonSchema): PreparedSchema | undefined => {
    const compiled = compileFor(engine, schema);
    if (needsLinearEngine(compiled, engine)) return undefined;
    const prepared = prepareSchema(engine, compiled);
    known.set(schema, prepared);
    for (const pattern of prepared.linear?.skipped ?? []) onSkippedPattern?.(schema, pattern);
    return prepared;
  };

  const check: SchemaCheck = (schema, value, budget) => {
    const prepared = known.get(schema) ?? prepare(schema);
    if (prepared === undefined) return loadLinearEngine(engine).then(() => check(schema, value, budget));
    return validatePrepared(engine, prepared, { value, budget, fairMs });
  };

  return { check, prepare: () => loadLinearEngine(engine) };
}
