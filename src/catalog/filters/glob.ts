/** Matches names against exact names and globs, without regular expressions. */

/** One part of a compiled glob: a text in which `?` matches one character. */
type Segment = readonly string[];

interface Glob {
  /** The texts between the stars; the first and the last are anchored. */
  readonly segments: readonly Segment[];
  /** Minimum length of a matching name. */
  readonly minLength: number;
}

function compileGlob(pattern: string): Glob {
  const segments = pattern.split("*").map((segment) => [...segment]);
  return { segments, minLength: segments.reduce((sum, segment) => sum + segment.length, 0) };
}

function fitsAt(name: readonly string[], segment: Segment, start: number): boolean {
  return segment.every((wanted, offset) => wanted === "?" || wanted === name[start + offset]);
}

/** Each part takes its first match, which is never worse than a later one, so there is no backtracking. */
function matchesGlob(name: readonly string[], { segments, minLength }: Glob): boolean {
  if (name.length < minLength) return false;
  const first = segments[0]!;
  if (segments.length === 1) return name.length === first.length && fitsAt(name, first, 0);
  const last = segments.at(-1)!;
  const end = name.length - last.length;
  if (!fitsAt(name, first, 0) || !fitsAt(name, last, end)) return false;
  let position = first.length;
  for (const segment of segments.slice(1, -1)) {
    while (position + segment.length <= end && !fitsAt(name, segment, position)) position += 1;
    if (position + segment.length > end) return false;
    position += segment.length;
  }
  return true;
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
  const globs = [...exact].filter((pattern) => /[*?]/.test(pattern)).map(compileGlob);
  if (exact.has("*")) return () => true;
  return (name) => {
    if (exact.has(name)) return true;
    if (globs.length === 0) return false;
    const characters = [...name];
    return globs.some((glob) => matchesGlob(characters, glob));
  };
}
