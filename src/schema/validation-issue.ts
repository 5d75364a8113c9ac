/** One thing that is wrong with a value. */
export interface ValidationIssue {
  /** Where: `$` is the value itself, `$.items[2].name` a part of it. */
  readonly path: string;
  /** What, in plain words that fit after the path: `must be a string, but is a number`. Never holds the value. */
  readonly message: string;
  /** Nothing is known about the value: the schema could not be applied to it (a slow pattern, a reference that leads nowhere). */
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
