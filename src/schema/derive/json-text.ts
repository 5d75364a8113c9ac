/** Free-form objects and values as JSON text, for targets that accept only objects with declared properties. */
import { isObject } from "../json-schema.js";
import type { Json } from "./derivation.js";

/** `object`: the text is a JSON object. `any`: a JSON object or list if it can be parsed as one, otherwise the text itself. */
export type JsonTextKind = "object" | "any";

/** The keyword of a `SchemaTree` that requires JSON text. Not a keyword of JSON Schema. */
export const JSON_TEXT = "JSON text";

/** The sentences that models read. */
export const JSON_TEXT_WORDS: Readonly<Record<JsonTextKind, string>> = {
  object: "A JSON object, given as JSON text.",
  any: "An object or a list is given as JSON text.",
};

/** Marks a schema during the derivation: copies keep the symbol, JSON leaves it out. */
const MARK = Symbol("JSON text");

export const markJsonText = (schema: Json, kind: JsonTextKind): Json =>
  Object.assign(schema, { [MARK]: kind });

/** Removes the marks from a finished schema; returns the schemas that had one. */
export function collectJsonTexts(schema: unknown, found = new Map<object, JsonTextKind>()) {
  if (!isObject(schema)) return found;
  const kind = (schema as { [MARK]?: JsonTextKind })[MARK];
  if (kind !== undefined) {
    found.set(schema, kind);
    delete (schema as { [MARK]?: JsonTextKind })[MARK];
  }
  const inside = isObject(schema["properties"]) ? Object.values(schema["properties"]) : [];
  const alternatives = Array.isArray(schema["anyOf"]) ? schema["anyOf"] : [];
  for (const each of [...inside, ...alternatives, schema["items"]]) collectJsonTexts(each, found);
  return found;
}

/** Parses the value of a model. Also accepts the object itself. */
export function readJsonText(value: unknown, kind: JsonTextKind): unknown {
  if (typeof value !== "string" || !/^\s*[{[]/.test(value)) return value;
  try {
    const parsed: unknown = JSON.parse(value);
    return kind === "any" || isObject(parsed) ? parsed : value;
  } catch {
    return value;
  }
}

/** Writes a value as a model sends it. */
export const writeJsonText = (value: unknown): unknown =>
  typeof value === "object" && value !== null ? JSON.stringify(value) : value;
