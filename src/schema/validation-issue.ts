/** One thing that is wrong with a value. */
export interface ValidationIssue {
  /** Where: `$` is the value itself, `$.items[2].name` a part of it. */
  readonly path: string;
  /** What, in plain words that fit after the path: `must be a string, but is a number`. Never holds the value. */
  readonly message: string;
}

/** More than these help nobody. */
export const MAX_ISSUES = 20;
