/** "Did you mean …?": finds candidates that differ from a word by a typing error. */

/** Compare 64 characters at most. */
const MAX_COMPARED = 64;
/** Shorter parts occur in too many names. */
const MIN_PART = 5;

/** Damerau-Levenshtein distance (adjacent letters may be swapped), or `limit + 1` as soon as it exceeds `limit`. */
function distance(left: string, right: string, limit: number): number {
  if (Math.abs(left.length - right.length) > limit) return limit + 1;
  let beforeLast: number[] = [];
  let last = Array.from({ length: right.length + 1 }, (_, index) => index);
  for (let row = 1; row <= left.length; row++) {
    const current = [row];
    for (let column = 1; column <= right.length; column++) {
      const same = left[row - 1] === right[column - 1];
      let best = Math.min(last[column]! + 1, current[column - 1]! + 1, last[column - 1]! + (same ? 0 : 1));
      const swapped = left[row - 1] === right[column - 2] && left[row - 2] === right[column - 1];
      if (row > 1 && column > 1 && swapped) best = Math.min(best, beforeLast[column - 2]! + 1);
      current.push(best);
    }
    if (Math.min(...current) > limit) return limit + 1;
    beforeLast = last;
    last = current;
  }
  return last[right.length]!;
}

const comparable = (word: string): string => word.slice(0, MAX_COMPARED).toLowerCase();

/**
 * The candidates closest to `word`, best first, ignoring case.
 *
 * @example
 * ```ts
 * suggest("comand", ["command", "cwd"]); // ["command"]
 * ```
 */
export function suggest(word: string, candidates: Iterable<string>, limit = 3): string[] {
  const wanted = comparable(word);
  const allowed = Math.max(1, Math.floor(wanted.length / 3));
  const close: { candidate: string; slips: number }[] = [];
  for (const candidate of candidates) {
    const known = comparable(candidate);
    // Part of a name is not a typing error, but the intention is clear: `servers` for `mcpServers`.
    const isPart = wanted.length >= MIN_PART && (known.startsWith(wanted) || known.endsWith(wanted));
    const slips = Math.min(distance(wanted, known, allowed), isPart ? allowed : Number.POSITIVE_INFINITY);
    // A very short word is similar to too many others.
    if (slips <= allowed && slips < wanted.length) close.push({ candidate, slips });
  }
  return close
    .sort((a, b) => a.slips - b.slips)
    .slice(0, limit)
    .map(({ candidate }) => candidate);
}

/** Asks whether one of the suggestions was meant; another hint if there is none. */
export const didYouMean = (suggestions: readonly string[], otherwise: string): string =>
  suggestions.length > 0 ? `Did you mean ${suggestions.join(" or ")}?` : otherwise;

/** The same at the end of a message about an unknown word; empty if no candidate is close. */
export function orMeant(word: string, candidates: Iterable<string>): string {
  const [close] = suggest(word, candidates, 1);
  return close === undefined ? "" : `; did you mean "${close}"?`;
}
