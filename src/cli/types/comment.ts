/** A server's words as a comment that cannot end before it is over. */
import { plainText } from "../plain-text.js";

const MAX_LINES = 20;
const MAX_LENGTH = 160;

/** Lines of a TSDoc comment; none if there is nothing to say. */
export function comment(text: unknown): string[] {
  if (typeof text !== "string" || text.trim() === "") return [];
  const lines = plainText(text)
    .trim()
    .split("\n")
    .map((line) => line.trimEnd().replaceAll("*/", "*\\/").slice(0, MAX_LENGTH));
  if (lines.length === 1) return [`/** ${lines[0]} */`];
  return ["/**", ...lines.slice(0, MAX_LINES).map((line) => ` * ${line}`.trimEnd()), " */"];
}
