/** A tool's whole answer as parts: its content, and its structured content where no text says the same. */
import { type ContentPart, toContentParts } from "../content/content-part.js";
import type { ToolResult } from "../execution/tool-result.js";

/** Providers refuse empty texts, and a model should know that nothing came back. */
const NOTHING = { false: "[no output]", true: "The tool failed without saying why" };

/** Never empty; no text in it is blank. */
export function resultParts({ content, structuredContent, isError }: ToolResult): ContentPart[] {
  const parts = toContentParts(content).filter((part) => part.kind !== "text" || part.text.trim() !== "");
  if (structuredContent !== undefined && !parts.some((part) => says(part, structuredContent)))
    parts.push(textPart(JSON.stringify(structuredContent)));
  return parts.length > 0 ? parts : [textPart(NOTHING[`${isError}`])];
}

export const textPart = (text: string): ContentPart => ({
  kind: "text",
  text,
  source: { type: "text", text },
});

/** Servers are asked to repeat structured content as JSON text; twice the same would only cost tokens. */
function says(part: ContentPart, value: unknown): boolean {
  if (part.kind !== "text") return false;
  try {
    return isSame(JSON.parse(part.text), value);
  } catch {
    return false;
  }
}

function isSame(one: unknown, other: unknown): boolean {
  if (Object.is(one, other)) return true;
  if (typeof one !== "object" || typeof other !== "object" || one === null || other === null) return false;
  if (Array.isArray(one) !== Array.isArray(other)) return false;
  const keys = Object.keys(one);
  return (
    keys.length === Object.keys(other).length &&
    keys.every((key) => Object.hasOwn(other, key) && isSame(one[key as never], other[key as never]))
  );
}
