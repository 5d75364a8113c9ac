/** How far references are followed: as far as the result stays small enough to be sent. */

/** Thrown when a schema is too large to derive; caught here. */
export class TooLarge extends Error {}

export interface RefLimits {
  /** References inside what references point at. */
  readonly depth: number;
  /** How often a definition may stand inside itself. */
  readonly recursion: number;
}

/** Tried in turn. */
const REF_LIMITS: readonly RefLimits[] = [
  { depth: 16, recursion: 2 },
  { depth: 16, recursion: 1 },
  { depth: 16, recursion: 0 },
  { depth: 4, recursion: 0 },
  { depth: 2, recursion: 0 },
  { depth: 1, recursion: 0 },
  { depth: 0, recursion: 0 },
];

/** The first result that is not too large; undefined: even without references it is. */
export function withRefLimits<Result>(attempt: (limits: RefLimits) => Result): Result | undefined {
  for (const limits of REF_LIMITS) {
    try {
      return attempt(limits);
    } catch (error) {
      // A deep schema may end the stack.
      if (!(error instanceof TooLarge || error instanceof RangeError)) throw error;
    }
  }
  return undefined;
}
