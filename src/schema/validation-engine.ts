/** Loads what validates, once and only when something is to be validated: importing Toolport must stay light. */
import type { validate } from "@cfworker/json-schema";
import type { BoundedRun, LinearEngine } from "./bounded/bounded-run.js";
import type { FormatTable } from "./bounded/linear-patterns.js";

export interface ValidationEngine {
  readonly validate: typeof validate;
  readonly formats: FormatTable;
  readonly bounded: BoundedRun;
  /** Undefined where it is not needed, or not yet. */
  linear?: LinearEngine | undefined;
}

let engine: ValidationEngine | undefined;
let loading: Promise<ValidationEngine> | undefined;

/** The engine, if it has been loaded. */
export const loadedEngine = (): ValidationEngine | undefined => engine;

/** Loads the engine. A load that failed is tried again by the next caller. */
export function loadEngine(): Promise<ValidationEngine> {
  loading ??= load().catch((error) => {
    loading = undefined;
    throw error;
  });
  return loading;
}

async function load(): Promise<ValidationEngine> {
  const [{ validate, format }, { boundedRun }] = await Promise.all([
    import("@cfworker/json-schema"),
    import("#run-bounded"),
  ]);
  engine = { validate, formats: format as FormatTable, bounded: boundedRun };
  return engine;
}

/** Loads the engine for risky patterns as well, where the runtime needs one. */
export async function loadLinearEngine(loaded: ValidationEngine): Promise<void> {
  loaded.linear ??= await loaded.bounded.loadLinearEngine?.();
}
