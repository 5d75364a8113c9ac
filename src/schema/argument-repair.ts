/** The changes and the result of a repair of arguments. */
import type { ValidationIssue } from "./validation-issue.js";

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
