/** Converts arguments from the derived schema, which the model sees, to the original schema, and back. Free-form objects and values are JSON text for targets that accept only objects with declared properties. */
import { isOfType, isRecord } from "../json-schema.js";
import { setKey } from "../json-value.js";
import type { Json, ObjectNotes } from "./derivation.js";

/** The changes to a schema, by the objects of the derived schema. */
export interface FormNotes {
  readonly objects: ReadonlyMap<object, ObjectNotes>;
  readonly texts: ReadonlyMap<object, JsonTextKind>;
}

const MAX_DEPTH = 100;

/** Restores the original names, parses JSON text, and removes nulls that mean "not given". */
export function toOriginalForm(schema: unknown, value: unknown, notes: FormNotes): unknown {
  return convert(schema, value, { ...notes, depth: 0, back: true });
}

/** Applies new names, writes JSON text where the schema requires it, and sends null for missing required properties. */
export function toDerivedForm(schema: unknown, value: unknown, notes: FormNotes): unknown {
  return convert(schema, value, { ...notes, depth: 0, back: false });
}

interface Way extends FormNotes {
  readonly depth: number;
  readonly back: boolean;
}

function convert(schema: unknown, value: unknown, way: Way): unknown {
  if (!isRecord(schema) || way.depth > MAX_DEPTH) return value;
  const text = way.texts.get(schema);
  if (text !== undefined) return way.back ? readJsonText(value, text) : writeJsonText(value);
  const isText = typeof value === "string" && way.texts.size > 0;
  if (!isText && (typeof value !== "object" || value === null)) return value;
  const deeper = { ...way, depth: way.depth + 1 };
  const alternatives = [schema["anyOf"], schema["oneOf"]].find(Array.isArray) as unknown[] | undefined;
  const chosen = alternatives === undefined ? value : choose(alternatives, value, deeper);
  const all = Array.isArray(schema["allOf"]) ? schema["allOf"] : [];
  const merged = all.reduce<unknown>((current, part) => convert(part, current, deeper), chosen);
  if (typeof merged !== "object" || merged === null) return merged;
  if (Array.isArray(merged)) {
    const prefix = Array.isArray(schema["prefixItems"]) ? schema["prefixItems"] : [];
    return merged.map((item, index) => convert(prefix[index] ?? schema["items"], item, deeper));
  }
  return convertObject(schema, merged as Json, deeper);
}

function convertObject(schema: Json, value: Json, way: Way): Json {
  const properties = isRecord(schema["properties"]) ? schema["properties"] : {};
  const notes = way.objects.get(properties);
  const renamed = new Map([...(notes?.names ?? [])].map(([written, name]) => [name, written]));
  const out: Json = {};
  for (const [key, item] of Object.entries(value)) {
    const written = way.back ? key : (renamed.get(key) ?? key);
    if (way.back && item === null && notes?.absentIfNull.has(written)) continue;
    const rest = Object.hasOwn(properties, written) ? properties[written] : schema["additionalProperties"];
    setKey(out, way.back ? (notes?.names.get(key) ?? key) : written, convert(rest, item, way));
  }
  if (!way.back)
    for (const name of notes?.optional ?? []) if (!Object.hasOwn(out, name)) setKey(out, name, null);
  return out;
}

/**
 * Uses the first alternative that the derived value matches; without one, the value stays unchanged. Text that an alternative reads
 * as JSON is JSON, even if another accepts any text: the model was asked to write it so.
 */
function choose(alternatives: readonly unknown[], value: unknown, way: Way): unknown {
  const isText = way.back && typeof value === "string";
  let first: { readonly converted: unknown } | undefined;
  for (const alternative of alternatives) {
    const converted = convert(alternative, value, way);
    if (!fits(alternative, way.back ? value : converted, way)) continue;
    if (!isText || typeof converted !== "string") return converted;
    first ??= { converted };
  }
  return first === undefined ? value : first.converted;
}

/** Whether a value has the shape of a derived schema. Bounds and patterns are ignored. */
function fits(schema: unknown, value: unknown, way: Way): boolean {
  if (!isRecord(schema) || way.depth > MAX_DEPTH) return true;
  if (way.texts.get(schema) === "object" && !isRecord(readJsonText(value, "object"))) return false;
  const deeper = { ...way, depth: way.depth + 1 };
  const { type, enum: values, anyOf, nullable } = schema as { [key: string]: unknown };
  if (value === null && nullable === true) return true;
  if (Array.isArray(values) && !values.includes(value)) return false;
  if (schema["const"] !== undefined && schema["const"] !== value && typeof schema["const"] !== "object")
    return false;
  if (type !== undefined && ![type].flat().some((name) => isOfType(value, String(name).toLowerCase())))
    return false;
  if (Array.isArray(anyOf) && !anyOf.some((item) => fits(item, value, deeper))) return false;
  if (Array.isArray(value)) return value.every((item) => fits(schema["items"], item, deeper));
  return !isRecord(value) || fitsObject(schema, value, deeper);
}

function fitsObject(schema: Json, value: Json, way: Way): boolean {
  const properties = isRecord(schema["properties"]) ? schema["properties"] : {};
  const required = Array.isArray(schema["required"]) ? schema["required"] : [];
  if (!required.every((name) => Object.hasOwn(value, name as string))) return false;
  return Object.entries(value).every(([key, item]) =>
    Object.hasOwn(properties, key)
      ? fits(properties[key], item, way)
      : schema["additionalProperties"] !== false && fits(schema["additionalProperties"], item, way),
  );
}

/** `object`: the text is a JSON object. `any`: a JSON object or list if it can be parsed as one, otherwise the text itself. */
type JsonTextKind = "object" | "any";

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
  if (!isRecord(schema)) return found;
  const kind = (schema as { [MARK]?: JsonTextKind })[MARK];
  if (kind !== undefined) {
    found.set(schema, kind);
    delete (schema as { [MARK]?: JsonTextKind })[MARK];
  }
  const inside = isRecord(schema["properties"]) ? Object.values(schema["properties"]) : [];
  const alternatives = Array.isArray(schema["anyOf"]) ? schema["anyOf"] : [];
  for (const each of [...inside, ...alternatives, schema["items"]]) collectJsonTexts(each, found);
  return found;
}

/** Parses the value of a model. Also accepts the object itself. */
function readJsonText(value: unknown, kind: JsonTextKind): unknown {
  if (typeof value !== "string" || !/^\s*[{[]/.test(value)) return value;
  try {
    const parsed: unknown = JSON.parse(value);
    return kind === "any" || isRecord(parsed) ? parsed : value;
  } catch {
    return value;
  }
}

/** Writes a value as a model sends it. */
const writeJsonText = (value: unknown): unknown =>
  typeof value === "object" && value !== null ? JSON.stringify(value) : value;
