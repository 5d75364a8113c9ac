/** Which types of value a keyword applies to. */
import { readPattern } from "../read-pattern.js";
import type { SchemaTree } from "./schema-tree.js";
import type { TargetRules } from "./target-rules.js";

const FAMILIES: Readonly<Record<string, readonly string[]>> = {
  string: "minLength maxLength pattern format contentEncoding contentMediaType".split(" "),
  number: "minimum maximum exclusiveMinimum exclusiveMaximum multipleOf".split(" "),
  array:
    "items prefixItems minItems maxItems uniqueItems contains minContains maxContains unevaluatedItems".split(
      " ",
    ),
  object: (
    "properties required additionalProperties patternProperties propertyNames minProperties maxProperties " +
    "dependentRequired dependentSchemas unevaluatedProperties"
  ).split(" "),
};
const FAMILY_OF = new Map(
  Object.entries(FAMILIES).flatMap(([type, keywords]) => keywords.map((keyword) => [keyword, type] as const)),
);

/** The types that a keyword applies to; undefined for all. */
export function familyOf(keyword: string): readonly string[] | undefined {
  const type = FAMILY_OF.get(keyword);
  // Formats of numbers (int32, double) come from OpenAPI.
  if (keyword === "format") return ["string", "number", "integer"];
  return type === "number" ? ["number", "integer"] : type === undefined ? undefined : [type];
}

/** The types of a schema without `type`. `exact`: the original accepts no other types. */
export function inferTypes(tree: SchemaTree): { types: string[]; exact: boolean } | undefined {
  const values = tree.get("enum");
  if (Array.isArray(values)) return { types: [...new Set(values.map(jsonTypeOf))], exact: true };
  const implied = new Set([...tree.keywords.keys()].flatMap((keyword) => FAMILY_OF.get(keyword) ?? []));
  return implied.size === 1 ? { types: [...implied], exact: false } : undefined;
}

/** Removes types that no listed value has. */
export function refineTypes(types: string[], tree: SchemaTree): string[] {
  const values = tree.get("enum");
  if (!Array.isArray(values)) return types;
  const fits = (type: string): boolean =>
    values.some((value) => jsonTypeOf(value) === type || (type === "number" && typeof value === "number"));
  const used = types.filter(fits);
  return used.length > 0 ? used : types;
}

export function jsonTypeOf(value: unknown): string {
  if (value === null) return "null";
  if (Array.isArray(value)) return "array";
  return Number.isInteger(value) ? "integer" : typeof value;
}

/** Engines that nest character classes, like Rust's, read it as an inner class. */
const BRACKET_IN_CLASS = /(?:^|[^\\])(?:\\\\)*\[(?:\\.|[^\]\\[])*\[/s;
/** Longer patterns are described: the test above takes time. */
const MAX_PATTERN = 2_000;

/**
 * Patterns that every provider's engine compiles. OpenAI checks them with Python's `re` and refuses look-around; Gemini uses
 * RE2. Patterns that only JavaScript supports are described in words.
 */
function isSimplePattern(pattern: string): boolean {
  if (pattern.length > MAX_PATTERN || BRACKET_IN_CLASS.test(pattern)) return false;
  if (/\(\?(?!:)|\\(?![dDwWsSnrtfv\W_])|\[\^?\]/.test(pattern)) return false;
  try {
    new RegExp(pattern, "u");
    return true;
  } catch {
    return false;
  }
}

/** Whether a target accepts a pattern. None accepts one that JavaScript cannot read. */
export const takesPattern = (
  pattern: string,
  { simplePatterns }: Pick<TargetRules, "simplePatterns">,
): boolean => (simplePatterns ? isSimplePattern(pattern) : readPattern(pattern) !== undefined);
