/** Globs over names and arguments: `*` and `?`, without regular expressions and without allocations. */
import { compileNames } from "../../catalog/filters/glob.js";
import type { TextPattern } from "./policy-document.js";

export type TextMatcher = (text: string) => boolean;

/** Compiles a pattern or a list of them. A text matches if one of them does. */
export function compileText(pattern: TextPattern, ignoreCase = false): TextMatcher {
  const patterns = (typeof pattern === "string" ? [pattern] : pattern).map((one) =>
    ignoreCase ? one.toLowerCase() : one,
  );
  const matches = anyOf(patterns.map(compileOne));
  return ignoreCase ? (text) => matches(text.toLowerCase()) : matches;
}

function anyOf(matchers: readonly TextMatcher[]): TextMatcher {
  const [first] = matchers;
  if (matchers.length === 1) return first!;
  return (text) => {
    for (const matches of matchers) if (matches(text)) return true;
    return false;
  };
}

function compileOne(pattern: string): TextMatcher {
  if (pattern.includes("?")) return compileNames([pattern]);
  const parts = pattern.split("*");
  const first = parts[0]!;
  const last = parts.at(-1)!;
  if (parts.length === 1) return (text) => text === first;
  const inner = parts.slice(1, -1).filter((part) => part !== "");
  const length = first.length + last.length;
  if (length === 0 && inner.length === 0) return () => true;
  return (text) => {
    if (text.length < length || !text.startsWith(first) || !text.endsWith(last)) return false;
    // Each part takes its first match, which is never worse than a later one.
    let position = first.length;
    const end = text.length - last.length;
    for (const part of inner) {
      const found = text.indexOf(part, position);
      if (found < 0 || found + part.length > end) return false;
      position = found + part.length;
    }
    return true;
  };
}
