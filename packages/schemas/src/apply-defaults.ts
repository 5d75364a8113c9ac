/** Fills in the defaults of a schema for missing arguments. */

import { isPlainObject } from "@toolport/base";
import { isRecord, type JsonSchema, resolveLocalRef } from "./json-schema.js";
import { setKey } from "./json-value.js";

/** Maximum depth of references and nested objects. */
const MAX_DEPTH = 16;
/** Maximum number of steps: branching recursion grows exponentially with the depth. */
const MAX_STEPS = 10_000;

type Values = Record<string, unknown>;

/**
 * Returns a copy of `args` with the defaults of missing properties, including those of nested objects and lists. A property that
 * is `undefined` counts as missing. Missing objects are not created for their defaults. Alternatives (`anyOf`, `oneOf`, `if`)
 * are skipped, because it is unknown which one applies. Given values never change.
 */
export function applyDefaults(schema: JsonSchema, args: Readonly<Values>): Values {
  return fill(schema, args, { root: schema, depth: 0, steps: { left: MAX_STEPS } }) as Values;
}

interface Place {
  root: JsonSchema;
  depth: number;
  /** Shared by all levels. */
  steps: { left: number };
}

function fill(schema: unknown, value: unknown, { root, depth, steps }: Place): unknown {
  if (!isRecord(schema) || depth > MAX_DEPTH || steps.left-- <= 0) return value;
  const deeper = { root, depth: depth + 1, steps };
  let filled = value;
  const ref = schema["$ref"];
  if (typeof ref === "string") filled = fill(resolveLocalRef(root, ref), filled, deeper);
  if (Array.isArray(schema["allOf"])) for (const part of schema["allOf"]) filled = fill(part, filled, deeper);
  if (Array.isArray(filled)) return fillItems(schema, filled, deeper);
  return isPlainObject(filled) ? fillProperties(schema, filled, deeper) : filled;
}

function fillProperties(schema: JsonSchema, value: Values, place: Place): Values {
  const filled: Values = { ...value };
  const properties = schema["properties"];
  for (const [key, property] of Object.entries(isRecord(properties) ? properties : {})) {
    const present = Object.hasOwn(filled, key) ? filled[key] : undefined;
    const given = present === undefined ? structuredClone(defaultOf(property, place)) : present;
    if (given !== undefined) setKey(filled, key, fill(property, given, place));
  }
  return filled;
}

function fillItems(schema: JsonSchema, value: unknown[], place: Place): unknown[] {
  const { items } = schema;
  const prefix = Array.isArray(schema["prefixItems"])
    ? schema["prefixItems"]
    : Array.isArray(items)
      ? items
      : [];
  return value.map((item, index) => fill(prefix[index] ?? items, item, place));
}

/** The default of a property, or of the schema it refers to. */
function defaultOf(property: unknown, { root }: Place): unknown {
  let schema = property;
  for (let step = 0; step < MAX_DEPTH && isRecord(schema); step++) {
    if (Object.hasOwn(schema, "default")) return schema["default"];
    const ref = schema["$ref"];
    if (typeof ref !== "string") return undefined;
    schema = resolveLocalRef(root, ref);
  }
  return undefined;
}
