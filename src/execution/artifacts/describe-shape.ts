/** Describes a large text in a few words: the names and types in JSON, or the number of lines. */
import type { Outline } from "./outline-text.js";

/** Whatever the input is, the description is not longer. In characters. */
const MAX_LENGTH = 700;
const MAX_LEVELS = 5;
const MAX_NAMES = 12;
const MAX_NAME = 40;

/**
 * Such as `{ total: number, issues: list of 1300 { id: number, title: text } }`.
 *
 * @param maxLength in characters
 */
export function describeShape({ json, count }: Outline, maxLength = MAX_LENGTH): string {
  if (json === undefined) return count === 1 ? "text of 1 line" : `text of ${count} lines`;
  // With fewer names and levels until it fits.
  for (let levels = MAX_LEVELS, names = MAX_NAMES; levels > 0; levels -= 1, names -= 2) {
    const shape = shapeOf(json.value, { levels, names });
    if (shape.length <= maxLength) return shape;
  }
  return Array.isArray(json.value) ? `list of ${json.value.length}` : "object";
}

function shapeOf(value: unknown, { levels, names }: { levels: number; names: number }): string {
  if (value === null) return "null";
  if (typeof value === "string") return value.length > 1_000 ? `text of ${value.length} characters` : "text";
  if (typeof value !== "object") return typeof value;
  const inside = { levels: levels - 1, names };
  if (Array.isArray(value)) {
    const [first] = value as unknown[];
    const items = levels === 1 || value.length === 0 ? "" : ` ${shapeOf(first, inside)}`;
    return `list of ${value.length}${items}`;
  }
  const keys = Object.keys(value);
  if (keys.length === 0) return "{}";
  if (levels === 1) return keys.length === 1 ? "object" : `object of ${keys.length}`;
  const shown = keys
    .slice(0, names)
    .map((key) => `${shownName(key)}: ${shapeOf((value as Record<string, unknown>)[key], inside)}`);
  const more = keys.length > names ? [`${keys.length - names} more`] : [];
  return `{ ${[...shown, ...more].join(", ")} }`;
}

const shownName = (name: string): string => {
  const short = name.length > MAX_NAME ? `${name.slice(0, MAX_NAME)}…` : name;
  return /^[\w$-]+$/.test(short) ? short : JSON.stringify(short);
};
