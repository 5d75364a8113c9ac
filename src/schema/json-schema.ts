/** What a JSON Schema is made of: which keywords hold further schemas, and where. */

/** Any JSON Schema object, exactly as the server sent it. */
export type JsonSchema = Readonly<Record<string, unknown>>;

/** Keywords whose value is one schema. */
const SINGLE = new Set([
  "not",
  "if",
  "then",
  "else",
  "contains",
  "propertyNames",
  "additionalProperties",
  "unevaluatedProperties",
  "additionalItems",
  "unevaluatedItems",
  "items",
  "contentSchema",
]);
/** Keywords whose value is a list of schemas; `items` was one until 2020-12 and still is in the wild. */
const LIST = new Set(["allOf", "anyOf", "oneOf", "prefixItems", "items"]);
/** Keywords whose value is a map from anything to schemas. */
const MAP = new Set([
  "properties",
  "patternProperties",
  "dependentSchemas",
  "dependencies",
  "$defs",
  "definitions",
]);

export const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/** What the value of a keyword is, seen from the schema it stands in. */
export type KeywordKind = "schema" | "list" | "map" | "data";

/** Tells schemas from data, so that a property called `pattern` is not taken for the keyword. */
export function keywordKind(keyword: string, value: unknown): KeywordKind {
  if (Array.isArray(value)) return LIST.has(keyword) ? "list" : "data";
  if (!isObject(value)) return "data";
  if (MAP.has(keyword)) return "map";
  return SINGLE.has(keyword) ? "schema" : "data";
}

/** The schemas directly inside a schema. */
export function* subschemas(schema: Readonly<Record<string, unknown>>): Generator<Record<string, unknown>> {
  for (const [keyword, value] of Object.entries(schema)) {
    const kind = keywordKind(keyword, value);
    if (kind === "schema") yield value as Record<string, unknown>;
    else if (kind !== "data") yield* Object.values(value as object).filter(isObject);
  }
}
