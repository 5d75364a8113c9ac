/** Writes parts that are repeated in a schema once, in `$defs`. */
import { isObject, type JsonSchema, keywordKind } from "../json-schema.js";
import { setKey } from "../json-value.js";
import type { Json } from "./derivation.js";

/** Shorter parts cost no more than a reference and a definition. */
const MIN_CHARACTERS = 80;

/**
 * The schema with references to parts that occur at least twice. Returns the same object if there are none, or if the schema has
 * references or definitions of its own.
 */
export function shareRepeatedParts(schema: JsonSchema): JsonSchema {
  const texts = new Map<object, string>();
  const counts = new Map<string, number>();
  let hasOwn = false;
  visit(schema, (part) => {
    if ("$ref" in part || "$defs" in part || "$dynamicRef" in part) hasOwn = true;
    const text = JSON.stringify(part);
    texts.set(part, text);
    counts.set(text, (counts.get(text) ?? 0) + 1);
  });
  if (hasOwn) return schema;
  const names = new Map<string, string>();
  const definitions: Json = {};
  const write = (part: JsonSchema, isRoot = false): JsonSchema => {
    const text = texts.get(part)!;
    const isShared = !isRoot && text.length >= MIN_CHARACTERS && counts.get(text)! > 1;
    if (!isShared) return writeInside(part, write);
    let name = names.get(text);
    if (name === undefined) {
      name = `p${names.size + 1}`;
      names.set(text, name);
      definitions[name] = writeInside(part, write);
    }
    return { $ref: `#/$defs/${name}` };
  };
  const written = write(schema, true);
  return names.size === 0 ? schema : { ...written, $defs: definitions };
}

/** Calls `each` for every object that is a schema, the outer ones first. */
function visit(schema: JsonSchema, each: (part: JsonSchema) => void): void {
  each(schema);
  for (const [keyword, value] of Object.entries(schema)) {
    const kind = keywordKind(keyword, value);
    if (kind === "data") continue;
    for (const part of kind === "schema" ? [value] : Object.values(value as object))
      if (isObject(part)) visit(part, each);
  }
}

function writeInside(schema: JsonSchema, write: (part: JsonSchema) => JsonSchema): JsonSchema {
  const out: Json = {};
  const writePart = (part: unknown): unknown => (isObject(part) ? write(part) : part);
  for (const [keyword, value] of Object.entries(schema)) {
    const kind = keywordKind(keyword, value);
    if (kind === "schema") setKey(out, keyword, writePart(value));
    else if (kind === "list") setKey(out, keyword, (value as unknown[]).map(writePart));
    else if (kind === "map") {
      const map: Json = {};
      for (const [key, part] of Object.entries(value as Json)) setKey(map, key, writePart(part));
      setKey(out, keyword, map);
    } else setKey(out, keyword, value);
  }
  return out;
}
