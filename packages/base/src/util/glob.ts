/** Matches texts against exact names and globs, without regular expressions: a pattern of a user cannot be slow. */

const STAR = 42;
const QUESTION_MARK = 63;

/** Goes back to the last star only: what an earlier star takes first is never worse than what it could take later. */
function matchesGlob(text: string, pattern: string): boolean {
  let at = 0;
  let next = 0;
  let star = -1;
  let resumeAt = 0;
  while (at < text.length) {
    const wanted = pattern.charCodeAt(next);
    if (wanted === STAR) {
      star = next++;
      resumeAt = at;
    } else if (wanted === QUESTION_MARK) {
      // One character may be two UTF-16 units.
      at += text.codePointAt(at)! > 0xffff ? 2 : 1;
      next++;
    } else if (wanted === text.charCodeAt(at)) {
      at++;
      next++;
    } else if (star >= 0) {
      next = star + 1;
      at = ++resumeAt;
    } else return false;
  }
  while (pattern.charCodeAt(next) === STAR) next++;
  return next === pattern.length;
}

/**
 * Compiles a list of exact names and globs (`*`: any characters, `?`: exactly one). A name matches if one of them does.
 *
 * @example
 * ```ts
 * const wanted = compileNames(["read_file", "list_*"]);
 * wanted("list_directory"); // true
 * ```
 */
export function compileNames(patterns: readonly string[]): (name: string) => boolean {
  const exact = new Set(patterns);
  if (exact.has("*")) return () => true;
  const globs = [...exact].filter((pattern) => /[*?]/.test(pattern));
  return (name) => exact.has(name) || globs.some((glob) => matchesGlob(name, glob));
}

/**
 * Returns the limit of something with one or two names: that of an exact name, of the first wildcard that matches, or else the general
 * one.
 */
export function limitByName(
  general: number,
  limits: Readonly<Record<string, number>> = {},
): (name: string, otherName?: string) => number {
  const exact = new Map(Object.entries(limits));
  if (exact.size === 0) return () => general;
  const globs = [...exact].map(([pattern, limit]) => ({ matches: compileNames([pattern]), limit }));
  return (name, otherName = name) =>
    exact.get(name) ??
    exact.get(otherName) ??
    globs.find(({ matches }) => matches(name) || matches(otherName))?.limit ??
    general;
}
