/** Redacts values for the page and limits their size. */
import { hideCredentials } from "@toolport/base";

const SECRET_NAME =
  /^(?:.*[_-])?(?:password|passwd|passphrase|secret|token|api[_-]?key|authorization|cookie|credentials?|private[_-]?key)$|(?:Password|Secret|Token|ApiKey|PrivateKey)$/i;
/** Names that look like secrets but are not. */
const HARMLESS_NAME = /^(?:progress|next|page|max|total|prompt|completion|input|output)[_-]?tokens?$/i;
const REDACTED = "[redacted]";
const MAX_DEPTH = 24;
const MAX_ITEMS = 2_000;
const MAX_TEXT = 100_000;
/** Larger than for text, because a part of an image is useless. */
const MAX_DATA = 3_000_000;
const MAX_TOTAL = 4_000_000;

/** Fields with base64 data, which is not searched for secrets. */
const BINARY_FIELDS = new Set(["data", "blob"]);

/**
 * Returns a redacted copy.
 *
 * @example
 * ```ts
 * redactJson({ city: "Oslo", api_key: "abc" }); // { city: "Oslo", api_key: "[redacted]" }
 * ```
 */
export function redactJson(value: unknown): unknown {
  const budget = { left: MAX_TOTAL };
  return copy(value, { budget, depth: 0, name: "" });
}

interface Place {
  readonly budget: { left: number };
  readonly depth: number;
  /** Name of the field. */
  readonly name: string;
}

function copy(value: unknown, place: Place): unknown {
  if (typeof value === "string") return copyText(value, place);
  if (typeof value === "bigint") return String(value);
  if (typeof value !== "object" || value === null)
    return typeof value === "function" || typeof value === "symbol" ? undefined : value;
  if (place.depth >= MAX_DEPTH) return "… (nested too deeply to show)";
  const inner = (name: string): Place => ({ budget: place.budget, depth: place.depth + 1, name });
  if (Array.isArray(value)) {
    const items = value.slice(0, MAX_ITEMS).map((item) => copy(item, inner(place.name)));
    if (value.length > MAX_ITEMS) items.push(`… (${value.length - MAX_ITEMS} more)`);
    return items;
  }
  const fields: [string, unknown][] = [];
  for (const [name, field] of Object.entries(value).slice(0, MAX_ITEMS)) {
    place.budget.left -= name.length;
    const isSecret = isSecretName(name) && (typeof field === "string" || typeof field === "number");
    fields.push([name, isSecret ? REDACTED : copy(field, inner(name))]);
  }
  return Object.fromEntries(fields);
}

function copyText(text: string, { budget, name }: Place): string {
  const isData = BINARY_FIELDS.has(name) && /^[\w+/=-]*$/.test(text);
  const limit = Math.max(0, Math.min(isData ? MAX_DATA : MAX_TEXT, budget.left));
  budget.left -= Math.min(limit, text.length);
  // Show no partial images.
  if (isData) return text.length > limit ? "" : text;
  return shortText(text, limit);
}

/** A text without credentials, of limited length. */
export const shortText = (text: string, limit: number, redact = hideCredentials): string =>
  `${redact(text.slice(0, limit))}${text.length > limit ? `… (${text.length - limit} more characters)` : ""}`;

/** The message of anything that was thrown, without credentials. */
export const messageOf = (error: unknown): string =>
  hideCredentials(error instanceof Error ? error.message : String(error));

const isSecretName = (name: string): boolean => SECRET_NAME.test(name) && !HARMLESS_NAME.test(name);

export function weigh(value: unknown, depth = 0): number {
  if (typeof value === "string") return value.length;
  if (typeof value !== "object" || value === null || depth > 24) return 8;
  let weight = 8;
  for (const [name, item] of Object.entries(value)) weight += name.length + weigh(item, depth + 1);
  return weight;
}
