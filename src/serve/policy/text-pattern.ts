/** Patterns of a policy: texts and globs, with or without regard to case. */
import { compileNames } from "../../util/glob.js";
import type { TextPattern } from "./policy-document.js";

export type TextMatcher = (text: string) => boolean;

/** Compiles a pattern or a list of them. A text matches if one of them does. */
export function compileText(pattern: TextPattern, ignoreCase = false): TextMatcher {
  const patterns = typeof pattern === "string" ? [pattern] : pattern;
  if (!ignoreCase) return compileNames(patterns);
  const matches = compileNames(patterns.map((one) => one.toLowerCase()));
  return (text) => matches(text.toLowerCase());
}
