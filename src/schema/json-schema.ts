/** The structure of JSON Schema: which keywords contain subschemas, and in which form. */

/** Any JSON Schema object, exactly as the server sent it. */
export type JsonSchema = Readonly<Record<string, unknown>>;

/** `either`: one schema or a list of them. */
type SubschemaForm = "schema" | "list" | "map" | "either";

/** The form of the value of each keyword with subschemas. */
const SUBSCHEMA_FORMS: ReadonlyMap<string, SubschemaForm> = new Map<string, SubschemaForm>([
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
  // A list before 2020-12, and still common.
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

/** The form of the value of a keyword. */
export type KeywordKind = "schema" | "list" | "map" | "data";

/** Distinguishes schemas from data, so that a property named `pattern` is not mistaken for the keyword. */
export function keywordKind(keyword: string, value: unknown): KeywordKind {
  const form = SUBSCHEMA_FORMS.get(keyword);
  if (form === undefined) return "data";
  if (Array.isArray(value)) return form === "list" || form === "either" ? "list" : "data";
  if (!isObject(value) || form === "list") return "data";
  return form === "either" ? "schema" : form;
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

/** The draft that `$schema` names: 2020-12 without `$schema`, undefined if it is unknown. */
export function draftOf(schema: JsonSchema): Draft | undefined {
  const declared = schema["$schema"];
  if (declared === undefined) return "2020-12";
  if (typeof declared !== "string") return undefined;
  const address = declared.replace(/^https?:\/\//, "").replace(/#$/, "");
  return Object.hasOwn(DRAFTS, address) ? DRAFTS[address] : undefined;
}
