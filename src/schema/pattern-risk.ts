/** Distinguishes patterns that are always fast from patterns that may be slow on a backtracking engine. */

/** Maximum number of ways to match one position in a simple pattern, with and without an unbounded quantifier. */
const MAX_WAYS = 256;
const MAX_WAYS_ENDLESS = 16;
/** Longer patterns are not analysed: that would cost more than the time limit. */
const MAX_LENGTH = 1_000;
/** JavaScript builds the set of characters of each property, in about 0.1 ms. */
const MAX_PROPERTIES = 3;

const QUANTIFIER = /^(?:[*+?]|\{(\d+)(,(\d*))?\})\??/;
const CLASS = /^\[(?:\\[\s\S]|[^\]\\])*\]/;
const ESCAPE = /^\\(?:u\{[^}]*\}|[pP]\{[^}]*\}|u[0-9a-fA-F]{4}|x[0-9a-fA-F]{2}|c[a-zA-Z]|[\s\S])/;
const GROUP = /^\((?:\?:|\?<[^=!>][^>]*>)?/;

/**
 * Whether a pattern is simple: no group under a quantifier, no look-around, no back-reference, at most one
 * unbounded quantifier and then only anchored at the start, few alternatives and properties. Its cost is linear in the length of the
 * text. False does not mean that a pattern is slow, only that it is not known to be fast.
 */
export function isSimplePattern(pattern: string): boolean {
  if (pattern.length > MAX_LENGTH || pattern.split(/\\[pP]/).length > MAX_PROPERTIES + 1) return false;
  const anchored = pattern.startsWith("^");
  let rest = pattern;
  let ways = 1;
  let alternatives = 1;
  let endless = 0;
  let last: "atom" | "group" | "none" = "none";
  while (rest !== "") {
    const quantifier = QUANTIFIER.exec(rest);
    if (quantifier !== null) {
      if (last !== "atom") return false;
      const [text, least, range, most] = quantifier;
      if (text.startsWith("*") || text.startsWith("+") || (range !== undefined && most === "")) endless++;
      else if (range !== undefined) ways *= Number(most) - Number(least) + 1;
      else if (least !== undefined) ways *= anchored ? 1 : Math.max(1, Number(least));
      else ways *= 2;
      // The minimum of an unbounded quantifier costs as much as a fixed one.
      if (range !== undefined && !anchored) ways *= Math.max(1, Number(least));
      last = "none";
      rest = rest.slice(text.length);
      continue;
    }
    const token = (CLASS.exec(rest) ?? ESCAPE.exec(rest) ?? GROUP.exec(rest))?.[0] ?? rest[0]!;
    if (token.startsWith("(")) {
      if (token === "(" && rest.startsWith("(?")) return false;
      last = "none";
    } else if (token === ")") last = "group";
    else if (token === "|") alternatives++;
    else if (/^\\[1-9k]/.test(token)) return false;
    else last = token === "^" || token === "$" ? "none" : "atom";
    rest = rest.slice(token.length);
  }
  if (endless > 1 || (endless === 1 && (!anchored || alternatives > 1))) return false;
  // Alternatives of groups that follow each other multiply; two to the power of their number is never less.
  const branching = alternatives > 1 && /\).*\(/s.test(pattern) ? 2 ** alternatives : alternatives;
  return ways * branching <= (endless === 1 ? MAX_WAYS_ENDLESS : MAX_WAYS);
}
