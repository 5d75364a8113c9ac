/** Writes the messages of validation issues. */
import { NEVER, type SchemaNode } from "./compile-schema.js";

const MAX_CHOICES = 10;
const MAX_TEXT = 100;
/** Prefix of a pattern that is checked as a format. */
export const PATTERN_FORMAT = "pattern:";

const TYPE_WORDS: Readonly<Record<string, string>> = {
  string: "a string",
  number: "a number",
  integer: "an integer",
  boolean: "a boolean",
  object: "an object",
  array: "an array",
  null: "null",
};

const cut = (text: string): string => (text.length > MAX_TEXT ? `${text.slice(0, MAX_TEXT)}…` : text);
const count = (amount: unknown, one: string, many: string): string =>
  `${amount} ${amount === 1 ? one : many}`;

/** The type of a value, in words. */
function typeOf(value: unknown): string {
  if (value === null) return "null";
  if (Array.isArray(value)) return "an array";
  return TYPE_WORDS[typeof value] ?? "nothing";
}

/** `must be a string or null, but is a number`. */
export function typeMessage(types: readonly string[], value: unknown): string {
  const words = [...new Set(types.map((type) => TYPE_WORDS[type] ?? type))];
  // More precise than "must be an integer, but is a number".
  const actual =
    types.includes("integer") && typeof value === "number" ? "has a fraction" : `is ${typeOf(value)}`;
  return `must be ${words.join(" or ")}, but ${actual}`;
}

/** `must be one of "a", "b"`. */
export function choiceMessage(choices: readonly unknown[]): string {
  if (choices.length === 0) return "cannot be valid: the schema allows no value";
  const shown = choices.slice(0, MAX_CHOICES).map((choice) => cut(JSON.stringify(choice) ?? "?"));
  if (shown.length === 1 && choices.length === 1) return `must be ${shown[0]}`;
  const more = choices.length > shown.length ? ` and ${choices.length - shown.length} more` : "";
  return `must be one of ${shown.join(", ")}${more}`;
}

/** Quotes a name that is not a plain identifier. */
const nameText = (name: string): string => (/^[\w.$-]+$/.test(name) ? cut(name) : JSON.stringify(cut(name)));

/** `is not a parameter; did you mean "a"? There are: a, b`. */
export function unknownNameMessage(names: readonly string[], meant: string | undefined): string {
  if (names.length === 0) return "is not a parameter; there are none";
  const shown = names.slice(0, MAX_CHOICES).map(nameText).join(", ");
  const more = names.length > MAX_CHOICES ? ` and ${names.length - MAX_CHOICES} more` : "";
  const hint = meant === undefined ? "." : `; did you mean ${JSON.stringify(cut(meant))}?`;
  return `is not a parameter${hint} There are: ${shown}${more}`;
}

const LISTS: Readonly<Record<string, string>> = {
  string: '["a", "b"]',
  number: "[1, 2]",
  integer: "[1, 2]",
  boolean: "[true, false]",
  object: "[{ … }]",
};

/** A hint how to correct the value; undefined if {@link messageFor} already says it. */
export function adviceFor(keyword: string, node: SchemaNode, value: unknown): string | undefined {
  if (keyword !== "type" || node["type"] !== "array" || Array.isArray(value)) return undefined;
  const { type } = (node["items"] ?? {}) as SchemaNode;
  return `must be an array: write ${LISTS[String(type)] ?? "[ … ]"}`;
}

/** The message when `keyword` of `node` fails for `value`. */
export function messageFor(keyword: string, node: SchemaNode, value: unknown): string {
  const limit = node[keyword];
  switch (keyword) {
    case "type":
      return typeMessage(Array.isArray(limit) ? limit : [String(limit)], value);
    case "const":
      return choiceMessage([limit]);
    case "enum":
      return choiceMessage(limit as unknown[]);
    case "not":
      return node === NEVER ? "is not allowed" : "is a value that the schema excludes";
    case "minimum":
      return `must be ${node["exclusiveMinimum"] === true ? "more than" : "at least"} ${limit}`;
    case "maximum":
      return `must be ${node["exclusiveMaximum"] === true ? "less than" : "at most"} ${limit}`;
    case "exclusiveMinimum":
      return `must be more than ${limit}`;
    case "exclusiveMaximum":
      return `must be less than ${limit}`;
    case "multipleOf":
      return `must be a multiple of ${limit}`;
    case "minLength":
      return `must have at least ${count(limit, "character", "characters")}`;
    case "maxLength":
      return `must have at most ${count(limit, "character", "characters")}`;
    case "pattern":
      return `must match the pattern ${cut(String(limit))}`;
    case "format":
      return String(limit).startsWith(PATTERN_FORMAT)
        ? `must match the pattern ${cut(String(limit).slice(PATTERN_FORMAT.length))}`
        : `must have the format ${cut(String(limit))}`;
    case "minItems":
      return `must have at least ${count(limit, "item", "items")}`;
    case "maxItems":
      return `must have at most ${count(limit, "item", "items")}`;
    case "uniqueItems":
      return "must not contain duplicate items";
    case "minProperties":
      return `must have at least ${count(limit, "property", "properties")}`;
    case "maxProperties":
      return `must have at most ${count(limit, "property", "properties")}`;
    case "contains":
      return "must contain an item that matches the schema of `contains`, but contains none";
    case "minContains":
      return `must contain at least ${limit} items that match the schema of \`contains\``;
    case "maxContains":
      return `must contain at most ${limit} items that match the schema of \`contains\``;
    default:
      return `is not valid (${keyword})`;
  }
}
