/** What validates on this runtime. Loaded only when something is to be validated: importing Toolport must stay light. */
import { format, validate } from "@cfworker/json-schema";
import { boundedRun } from "#run-bounded";
import type { BoundedRun, LinearEngine } from "./bounded/bounded-run.js";
import type { FormatTable } from "./bounded/linear-patterns.js";

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
