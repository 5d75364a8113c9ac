/** What a JSON Schema is made of: which keywords hold further schemas, and where. */

/** Any JSON Schema object, exactly as the server sent it. */
export type JsonSchema = Readonly<Record<string, unknown>>;

/** `either`: one schema or a list of them. */
type Holds = "schema" | "list" | "map" | "either";

/** What the keywords hold that have schemas in them. */
const HOLDS: ReadonlyMap<string, Holds> = new Map<string, Holds>([
  ["not", "schema"],
  ["if", "schema"],
  ["then", "schema"],
  ["else", "schema"],
  ["contains", "schema"],
  ["propertyNames", "schema"],
  ["additionalProperties", "schema"],
  ["unevaluatedProperties", "schema"],
  ["additionalItems", "schema"],
  ["unevaluatedItems", "schema"],
  ["contentSchema", "schema"],
  // A list until 2020-12, and still one in the wild.
  ["items", "either"],
  ["allOf", "list"],
  ["anyOf", "list"],
  ["oneOf", "list"],
  ["prefixItems", "list"],
  ["properties", "map"],
  ["patternProperties", "map"],
  ["dependentSchemas", "map"],
  ["dependencies", "map"],
  ["$defs", "map"],
  ["definitions", "map"],
]);

export const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/** The kind of value that a keyword takes. */
export type KeywordKind = "schema" | "list" | "map" | "data";

/** Tells schemas from data, so that a property called `pattern` is not taken for the keyword. */
export function keywordKind(keyword: string, value: unknown): KeywordKind {
  const holds = HOLDS.get(keyword);
  if (holds === undefined) return "data";
  if (Array.isArray(value)) return holds === "list" || holds === "either" ? "list" : "data";
  if (!isObject(value) || holds === "list") return "data";
  return holds === "either" ? "schema" : holds;
}

/** The schemas directly inside a schema. */
export function* subschemas(schema: Readonly<Record<string, unknown>>): Generator<Record<string, unknown>> {
  for (const [keyword, value] of Object.entries(schema)) {
    const kind = keywordKind(keyword, value);
    if (kind === "schema") yield value as Record<string, unknown>;
    else if (kind !== "data") yield* Object.values(value as object).filter(isObject);
  }
}

/** The drafts that the validator distinguishes; draft-06 is read as draft-07, which only adds to it. */
export type Draft = "4" | "7" | "2019-09" | "2020-12";

const DRAFTS: Readonly<Record<string, Draft>> = {
  "json-schema.org/draft/2020-12/schema": "2020-12",
  "json-schema.org/draft/2019-09/schema": "2019-09",
  "json-schema.org/draft-07/schema": "7",
  "json-schema.org/draft-06/schema": "7",
  "json-schema.org/draft-04/schema": "4",
};

/** The draft that `$schema` names; without `$schema` it is 2020-12, undefined when it names none we know. */
export function draftOf(schema: JsonSchema): Draft | undefined {
  const declared = schema["$schema"];
  if (declared === undefined) return "2020-12";
  if (typeof declared !== "string") return undefined;
  const address = declared.replace(/^https?:\/\//, "").replace(/#$/, "");
  return Object.hasOwn(DRAFTS, address) ? DRAFTS[address] : undefined;
}
