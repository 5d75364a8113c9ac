/** How deep references are followed: the result must stay small enough to be sent. */

/** Thrown when a schema is too large to derive; caught here. */
export class TooLarge extends Error {}

export interface RefLimits {
  /** Maximum depth of nested references. */
  readonly depth: number;
  /** How often a definition may be nested in itself. */
  readonly recursion: number;
}

/** Tried in this order. */
const REF_LIMITS: readonly RefLimits[] = [
  { depth: 16, recursion: 2 },
  { depth: 16, recursion: 1 },
  { depth: 16, recursion: 0 },
  { depth: 4, recursion: 0 },
  { depth: 2, recursion: 0 },
  { depth: 1, recursion: 0 },
  { depth: 0, recursion: 0 },
];

/** The first result that is not too large; undefined if it is too large even without references. */
export function withRefLimits<Result>(attempt: (limits: RefLimits) => Result): Result | undefined {
  for (const limits of REF_LIMITS) {
    try {
      return attempt(limits);
    } catch (error) {
      // A deep schema may overflow the stack.
      if (!(error instanceof TooLarge || error instanceof RangeError)) throw error;
    }
  }
  return undefined;
}
