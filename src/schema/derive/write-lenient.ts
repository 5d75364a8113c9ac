/** Writes a schema for targets that accept all of JSON Schema below the root. */

import { setKey } from "../json-value.js";
import type { Derivation, Json } from "./derivation.js";
import { SchemaTree } from "./schema-tree.js";
import { NOT_AT_ROOT, takesPattern } from "./target-rules.js";

/** Keywords whose looser subschema makes the whole stricter: they stay exact or are described in words. */
const EXACT = new Set(["not", "if", "contains"]);
const WRITTEN_WITH_OTHERS = new Set("title description then else minContains maxContains oneOf".split(" "));
/** Keywords whose value is usually `false` to forbid everything. */
const MAY_BE_FALSE = new Set("additionalProperties unevaluatedProperties items unevaluatedItems".split(" "));

/** Keywords for undeclared properties. They depend on the patterns. */
const OF_UNDECLARED = "patternProperties additionalProperties unevaluatedProperties".split(" ");

/** The schema below the root. */
export function writeLenient(tree: SchemaTree, to: Derivation): Json {
  to.count();
  return tree.isNever() ? { not: {} } : writeKeywords(tree, to, []);
}

/** Writes the root, an object with merged `allOf`. Keywords that are not allowed at a root are described in words. */
export function writeLenientRoot(tree: SchemaTree, to: Derivation): Json {
  const refused = [...tree.keywords.keys()].filter((keyword) => NOT_AT_ROOT.has(keyword));
  const words = to.say(tree, refused);
  const out = writeKeywords(tree.without(...refused), to, words);
  return { ...out, type: "object", properties: out["properties"] ?? {} };
}

function writeKeywords(tree: SchemaTree, to: Derivation, words: string[]): Json {
  const out: Json = {};
  const byName = [...new Set([...keywordsByName(tree, to), ...keywordsOfPatterns(tree, to)])];
  const said = [...words, ...to.saySpoken(tree), ...to.say(tree, byName)];
  for (const keyword of tree.keywords.keys()) {
    if (byName.includes(keyword)) continue;
    if (WRITTEN_WITH_OTHERS.has(keyword)) continue;
    if (EXACT.has(keyword)) said.push(...writeExact(tree, keyword, out, to));
    else if (keyword === "properties") writeProperties(tree, out, to);
    else setKey(out, keyword, writeValue(keyword, tree.get(keyword), to));
  }
  if (tree.has("oneOf")) writeOneOf(tree, out, to);
  // OpenAI rejects an array without `items`.
  const isList = tree.types()?.includes("array") === true;
  if (isList && !tree.has("items") && !tree.has("prefixItems")) out["items"] = {};
  return to.annotate(out, tree, said);
}

/** Keywords that refer to property names. Properties were renamed, so they cannot be kept. */
function keywordsByName(tree: SchemaTree, to: Derivation): string[] {
  if (to.names.size === 0) return [];
  const isForeign = (name: string): boolean => to.names.has(name) && !tree.map("properties").has(name);
  const found = ["propertyNames"].filter((keyword) => tree.has(keyword));
  if (tree.has("patternProperties")) found.push(...OF_UNDECLARED.filter((keyword) => tree.has(keyword)));
  if (tree.strings("required").some(isForeign)) found.push("required");
  for (const keyword of ["dependentRequired", "dependentSchemas"])
    if (tree.has(keyword) && [...to.names.keys()].some((name) => mentions(tree.get(keyword), name)))
      found.push(keyword);
  return found;
}

/** Keywords whose patterns the target cannot compile. */
function keywordsOfPatterns(tree: SchemaTree, { rules }: Derivation): string[] {
  const found = tree.has("pattern") && !takesPattern(String(tree.get("pattern")), rules) ? ["pattern"] : [];
  if ([...tree.map("patternProperties").keys()].every((key) => takesPattern(key, rules))) return found;
  return [...found, ...OF_UNDECLARED.filter((keyword) => tree.has(keyword))];
}

const mentions = (value: unknown, name: string): boolean =>
  value instanceof Map
    ? value.has(name)
    : Object.entries(value as Json).some(([key, needed]) => key === name || [needed].flat().includes(name));

function writeValue(keyword: string, value: unknown, to: Derivation): unknown {
  if (value instanceof SchemaTree) {
    if (value.isNever()) return MAY_BE_FALSE.has(keyword) ? false : { not: {} };
    if (value.keywords.size === 0 && keyword.endsWith("Properties")) return true;
    return writeLenient(value, to);
  }
  if (value instanceof Map) {
    const out: Json = {};
    for (const [key, item] of value) setKey(out, key, writeValue("", item, to));
    return out;
  }
  if (keyword === "required" && Array.isArray(value))
    return [...new Set(value)].map((name) => to.nameOf(name));
  return Array.isArray(value) && value[0] instanceof SchemaTree
    ? value.map((item) => writeValue("", item, to))
    : value;
}

function writeProperties(tree: SchemaTree, out: Json, to: Derivation): void {
  const properties: Json = {};
  const names = new Map<string, string>();
  for (const [name, property] of tree.map("properties")) {
    const written = to.nameOf(name);
    if (written !== name) {
      names.set(written, name);
      to.log.add("renamed", name, tree.from("properties"), written);
    }
    setKey(properties, written, writeValue("", property, to));
  }
  out["properties"] = properties;
  if (names.size > 0) to.notes.set(properties, { names, optional: new Set(), absentIfNull: new Set() });
}

/** `oneOf` can only be kept unchanged: after loosening, a value could match two alternatives. */
function writeOneOf(tree: SchemaTree, out: Json, to: Derivation): void {
  const before = to.log.losses;
  const alternatives = tree.trees("oneOf").map((item) => writeValue("", item, to));
  const isExact = to.log.losses === before && !to.hasCuts;
  if (!isExact) to.log.add("relaxed", "oneOf", tree.from("oneOf"), "anyOf");
  if (isExact) out["oneOf"] = alternatives;
  else if (out["anyOf"] === undefined && !tree.has("anyOf")) out["anyOf"] = alternatives;
  else out["allOf"] = [...((out["allOf"] as unknown[]) ?? []), { anyOf: alternatives }];
}

function writeExact(tree: SchemaTree, keyword: string, out: Json, to: Derivation): string[] {
  const group = keyword === "if" ? ["if", "then", "else"].filter((name) => tree.has(name)) : [keyword];
  if (keyword === "contains") group.push(...["minContains", "maxContains"].filter((name) => tree.has(name)));
  const before = to.log.losses;
  const written = group.map((name) => [name, writeValue(name, tree.get(name), to)] as const);
  const isExact = to.log.losses === before && !to.hasCuts;
  if (!isExact) {
    for (const name of group) delete out[name];
    return to.say(tree, group);
  }
  for (const [name, value] of written) out[name] = value;
  return [];
}
