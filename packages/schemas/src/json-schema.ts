/** The structure of JSON Schema: which keywords contain subschemas, what makes their value valid, and where references inside one document lead. Nothing is ever fetched. */
import { isRecord, type JsonSchema, oncePerObject } from "@toolport/base";
import { setKey } from "./json-value.js";

export { isRecord, type JsonSchema };

/** `either`: one schema or a list of them. */
type SubschemaForm = "schema" | "list" | "map" | "either";

/** The form of the value of each keyword with subschemas. */
const SUBSCHEMA_FORMS: ReadonlyMap<string, SubschemaForm> = new Map(
  Object.entries({
    schema:
      "not if then else contains propertyNames additionalProperties unevaluatedProperties additionalItems " +
      "unevaluatedItems contentSchema",
    // A list before 2020-12, and still common.
    either: "items",
    list: "allOf anyOf oneOf prefixItems",
    map: "properties patternProperties dependentSchemas dependencies $defs definitions",
  }).flatMap(([form, keywords]) =>
    keywords.split(" ").map((keyword): [string, SubschemaForm] => [keyword, form as SubschemaForm]),
  ),
);

/** The form of the value of a keyword. */
export type KeywordKind = "schema" | "list" | "map" | "data";

/** Distinguishes schemas from data, so that a property named `pattern` is not mistaken for the keyword. */
export function keywordKind(keyword: string, value: unknown): KeywordKind {
  const form = SUBSCHEMA_FORMS.get(keyword);
  if (form === undefined) return "data";
  if (Array.isArray(value)) return form === "list" || form === "either" ? "list" : "data";
  if (!isRecord(value) || form === "list") return "data";
  return form === "either" ? "schema" : form;
}

/** The schemas directly inside a schema. */
export function* subschemas(schema: Readonly<Record<string, unknown>>): Generator<Record<string, unknown>> {
  for (const [keyword, value] of Object.entries(schema)) {
    const kind = keywordKind(keyword, value);
    if (kind === "schema") yield value as Record<string, unknown>;
    else if (kind !== "data") yield* Object.values(value as object).filter(isRecord);
  }
}

/**
 * The value of a keyword with other schemas in place of its subschemas; the same value if `map` returns the same schemas.
 * `key` is the name or the index of a subschema in a map or a list.
 */
export function mapSubschemas(
  keyword: string,
  value: unknown,
  map: (schema: JsonSchema, key?: string) => JsonSchema,
): unknown {
  const kind = keywordKind(keyword, value);
  if (kind === "data") return value;
  if (kind === "schema") return map(value as JsonSchema);
  const before = Object.entries(value as object);
  const after = before.map(([key, part]): unknown => (isRecord(part) ? map(part, key) : part));
  if (after.every((part, index) => part === before[index]![1])) return value;
  if (kind === "list") return after;
  const copy: Record<string, unknown> = {};
  for (const [index, [key]] of before.entries()) setKey(copy, key, after[index]);
  return copy;
}

const isSchema = (value: unknown): boolean => isRecord(value) || typeof value === "boolean";
const isSchemas = (value: unknown): boolean => Array.isArray(value) && value.every(isSchema);
const isSchemaMap = (value: unknown): boolean => {
  // PHP writes an empty object as a list.
  if (!isRecord(value)) return Array.isArray(value) && value.length === 0;
  for (const key in value) if (!isSchema(value[key])) return false;
  return true;
};
const isNumber = (value: unknown): boolean => typeof value === "number";
const isCount = (value: unknown): boolean => isNumber(value) && (value as number) >= 0;
const isText = (value: unknown): boolean => typeof value === "string";
const isFlag = (value: unknown): boolean => typeof value === "boolean";
export const isStrings = (value: unknown): value is string[] => Array.isArray(value) && value.every(isText);
const TYPES = new Set(["string", "number", "integer", "boolean", "object", "array", "null"]);
/** Whether the value of `type` is one known type, or a list of them. */
export const isType = (value: unknown): boolean =>
  Array.isArray(value)
    ? value.length > 0 && value.every((name) => TYPES.has(name))
    : TYPES.has(value as string);

/** Whether a JSON value is of a type of JSON Schema. */
export function isOfType(value: unknown, type: string): boolean {
  switch (type) {
    case "null":
      return value === null;
    case "array":
      return Array.isArray(value);
    case "object":
      return isRecord(value);
    case "integer":
      return Number.isInteger(value);
    default:
      return typeof value === type;
  }
}

const isDependencies = (value: unknown): boolean =>
  isRecord(value) && Object.values(value).every((needed) => isSchema(needed) || isStrings(needed));

type ValueTest = (value: unknown) => boolean;

const testsOf = (test: ValueTest, keywords: string): [string, ValueTest][] =>
  keywords.split(" ").map((keyword) => [keyword, test]);

const SUBSCHEMA_TESTS: Readonly<Record<SubschemaForm, ValueTest>> = {
  schema: isSchema,
  list: isSchemas,
  map: isSchemaMap,
  either: (value) => isSchema(value) || isSchemas(value),
};

/** What the value of a keyword must be for the keyword to have a meaning. */
const VALUES: ReadonlyMap<string, ValueTest> = new Map<string, ValueTest>([
  ...[...SUBSCHEMA_FORMS].map(([keyword, form]): [string, ValueTest] => [keyword, SUBSCHEMA_TESTS[form]]),
  ...testsOf((value) => isSchemas(value) && (value as unknown[]).length > 0, "anyOf oneOf"),
  ...testsOf(
    isCount,
    "maxLength minLength maxItems minItems maxProperties minProperties minContains maxContains",
  ),
  ...testsOf(isNumber, "maximum minimum"),
  // True up to draft-04 and in OpenAPI 3.0: the bound beside it is excluded.
  ...testsOf((value) => isNumber(value) || isFlag(value), "exclusiveMaximum exclusiveMinimum"),
  ...testsOf((value) => isNumber(value) && (value as number) > 0, "multipleOf"),
  ...testsOf(isText, "pattern format $ref $dynamicRef $recursiveRef"),
  ...testsOf(isFlag, "uniqueItems"),
  ...testsOf(isStrings, "required"),
  ...testsOf((value) => Array.isArray(value) && value.length > 0, "enum"),
  ...testsOf(isType, "type"),
  ...testsOf(isDependencies, "dependencies dependentRequired"),
]);

/** Whether a keyword can be evaluated. Keywords with another kind of value are ignored, as unknown keywords are. */
export const hasMeaning = (keyword: string, value: unknown): boolean => VALUES.get(keyword)?.(value) ?? true;

/** The drafts that the validator distinguishes; draft-06 is read as draft-07, which only adds to it. */
export type Draft = "4" | "7" | "2019-09" | "2020-12";

const DRAFTS: Readonly<Record<string, Draft>> = {
  "json-schema.org/draft/2020-12/schema": "2020-12",
  "json-schema.org/draft/2019-09/schema": "2019-09",
  "json-schema.org/draft-07/schema": "7",
  "json-schema.org/draft-06/schema": "7",
  "json-schema.org/draft-04/schema": "4",
  // The latest draft, whichever it is.
  "json-schema.org/schema": "2020-12",
  // 2020-12 with more annotations.
  "spec.openapis.org/oas/3.1/dialect/base": "2020-12",
};

/** The draft that `$schema` names: 2020-12 without `$schema`, undefined if it is unknown, which is read as 2020-12. */
export function draftOf(schema: JsonSchema): Draft | undefined {
  const declared = schema["$schema"];
  if (declared === undefined) return "2020-12";
  if (typeof declared !== "string") return undefined;
  const address = declared.replace(/^https?:\/\//, "").replace(/#$/, "");
  return Object.hasOwn(DRAFTS, address) ? DRAFTS[address] : undefined;
}

/** The target of `ref` inside `root`, a JSON pointer (`#/$defs/a`) or an anchor (`#a`); undefined if there is none. */
export function resolveLocalRef(root: JsonSchema, ref: string): JsonSchema | boolean | undefined {
  if (!ref.startsWith("#")) return undefined;
  const fragment = decodeFragment(ref.slice(1));
  if (fragment === undefined) return undefined;
  const found =
    fragment === "" || fragment.startsWith("/") ? follow(root, fragment) : anchorsOf(root).get(fragment);
  return isRecord(found) || typeof found === "boolean" ? found : undefined;
}

/**
 * The target of `ref` in its own document `base`, which a schema with an id starts, or else in the whole schema: some generators
 * write meaningless ids, and references that start at the root.
 */
export const resolveRef = (
  ref: string,
  { base, root }: { readonly base: JsonSchema; readonly root: JsonSchema },
): JsonSchema | boolean | undefined => resolveLocalRef(base, ref) ?? resolveLocalRef(root, ref);

/** The document of a schema: an id of its own makes it one. */
export function baseOf(schema: JsonSchema, outer: JsonSchema, draft: Draft | undefined): JsonSchema {
  const id = schema[draft === "4" ? "id" : "$id"];
  return typeof id === "string" && !id.startsWith("#") ? schema : outer;
}

function decodeFragment(fragment: string): string | undefined {
  try {
    return decodeURIComponent(fragment);
  } catch {
    return undefined;
  }
}

function follow(root: unknown, pointer: string): unknown {
  let value = root;
  for (const token of pointer.split("/").slice(1)) {
    const key = unescapeToken(token);
    if (typeof value !== "object" || value === null || !Object.hasOwn(value, key)) return undefined;
    value = (value as Record<string, unknown>)[key];
  }
  return value;
}

/** A key as a token of a JSON pointer. */
export const escapeToken = (key: string): string => key.replaceAll("~", "~0").replaceAll("/", "~1");

/** The key that a token of a JSON pointer encodes. */
export const unescapeToken = (token: string): string => token.replaceAll("~1", "/").replaceAll("~0", "~");

const anchorsOf = oncePerObject((root: JsonSchema): Map<string, object> => {
  const anchors = new Map<string, object>();
  const seen = new Set<JsonSchema>();
  const open: JsonSchema[] = [root];
  for (let schema = open.pop(); schema !== undefined; schema = open.pop()) {
    if (seen.has(schema)) continue;
    seen.add(schema);
    // Up to draft-07, an `$id` that is only a fragment is an anchor.
    for (const key of ["$anchor", "$dynamicAnchor", "$id", "id"]) {
      const value = schema[key];
      if (typeof value !== "string") continue;
      const isId = key === "$id" || key === "id";
      if (isId && !value.startsWith("#")) continue;
      const name = isId ? value.slice(1) : value;
      if (!anchors.has(name)) anchors.set(name, schema);
    }
    open.push(...subschemas(schema));
  }
  return anchors;
});
