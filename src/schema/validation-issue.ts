/** One issue of a value. */
export interface ValidationIssue {
  /** Where: `$` is the value itself, `$.items[2].name` a part of it. */
  readonly path: string;
  /** The problem, to be read after the path: `must be a string, but is a number`. Never contains the value. */
  readonly message: string;
  /** The validity is unknown: the schema could not be applied (a slow pattern, an unresolved reference). */
  readonly unchecked?: true;
}

/** The schema could not be applied. */
export const uncheckedIssue = (path: string, reason: string): ValidationIssue => ({
  path,
  message: `cannot be checked: ${reason}`,
  unchecked: true,
});

/** Maximum number of issues reported. */
export const MAX_ISSUES = 20;
