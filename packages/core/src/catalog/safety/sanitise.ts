/** Removes invisible characters from titles and descriptions, and counts them everywhere else. */

import { type ListedTool, sanitiseText } from "@toolport/base";
import { escapeToken } from "@toolport/schemas/internal";

/** Number of characters that {@link sanitiseText} would remove. */
const countSuspicious = (text: string): number => sanitiseText(text).removed;

interface SuspiciousStrings {
  /** Characters that {@link sanitiseText} would remove, in all strings and keys together. */
  readonly count: number;
  /** JSON Pointers to the first strings and keys with such characters. */
  readonly paths: readonly string[];
}

const MAX_PATHS = 20;
const MAX_PATH_LENGTH = 1_000;

/** Checks every string and key of a JSON value, such as a schema. Changes nothing. */
export function findSuspicious(value: unknown): SuspiciousStrings {
  const paths: string[] = [];
  let count = 0;
  const look = (text: string, path: string): void => {
    const found = countSuspicious(text);
    if (found > 0 && paths.length < MAX_PATHS) paths.push(path);
    count += found;
  };
  const stack: { value: unknown; path: string }[] = [{ value, path: "" }];
  const seen = new Set<object>();
  for (let next = stack.pop(); next !== undefined; next = stack.pop()) {
    const { value: current, path } = next;
    if (typeof current === "string") look(current, path);
    if (typeof current !== "object" || current === null || seen.has(current)) continue;
    seen.add(current);
    const isArray = Array.isArray(current);
    for (const [key, child] of Object.entries(current).reverse()) {
      const childPath = path.length > MAX_PATH_LENGTH ? path : `${path}/${escapeToken(key)}`;
      if (!isArray) look(key, childPath);
      if (typeof child === "string" || typeof child === "object")
        stack.push({ value: child, path: childPath });
    }
  }
  return { count, paths };
}

/** Finds such characters in the name and schemas of a tool. They are only reported, because the server expects them unchanged. */
export const suspiciousIn = ({
  sourceName: name,
  inputSchema,
  outputSchema,
}: Pick<ListedTool, "inputSchema" | "outputSchema"> & { readonly sourceName: string }): SuspiciousStrings =>
  findSuspicious({ name, inputSchema, outputSchema });

type ToolTexts = Pick<ListedTool, "title" | "description" | "annotations">;

/** Sanitises the description and both titles of a tool, and counts the removed characters. */
export function sanitiseTexts({ title, description, annotations }: ToolTexts): ToolTexts & {
  readonly removedCharacters: number;
} {
  let removedCharacters = 0;
  const clean = (text: unknown): string | undefined => {
    if (typeof text !== "string") return undefined;
    const { text: cleaned, removed } = sanitiseText(text);
    removedCharacters += removed;
    return cleaned;
  };
  const cleaned = { title: clean(title), description: clean(description) };
  const hint = clean(annotations?.title);
  const hints =
    hint === undefined || hint === annotations?.title ? annotations : { ...annotations, title: hint };
  return { ...cleaned, annotations: hints, removedCharacters };
}
