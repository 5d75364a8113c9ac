/** Writes properties, and which of them are required. */

import { setKey } from "../json-value.js";
import type { Derivation, Json } from "./derivation.js";
import type { SchemaTree } from "./schema-tree.js";

const REST = ["additionalProperties", "unevaluatedProperties"];

/** Writes the keywords for objects into `out`; returns descriptions of those that cannot be written. */
export function writeObject(
  tree: SchemaTree,
  types: readonly string[] | undefined,
  out: Json,
  to: Derivation,
): string[] {
  const declared = tree.map("properties");
  const required = tree.strings("required");
  const properties: Json = {};
  const names = new Map<string, string>();
  const optional = new Set<string>();
  const absentIfNull = new Set<string>();
  for (const [name, property] of declared) {
    const written = to.nameOf(name);
    if (written !== name) {
      names.set(written, name);
      to.log.add("renamed", name, tree.from("properties"), written);
    }
    const schema = to.write(property);
    if (to.rules.strict && !required.includes(name)) {
      to.log.add("required", name, tree.from("properties"));
      optional.add(written);
      if (!mayBeNull(schema)) absentIfNull.add(written);
      setKey(properties, written, allowNull(schema));
    } else setKey(properties, written, schema);
  }
  if (declared.size > 0 || (tree.has("properties") && !to.rules.message)) out["properties"] = properties;
  if (names.size > 0 || optional.size > 0) to.notes.set(properties, { names, optional, absentIfNull });
  const words = writeRequired(tree, required, out, to);
  if (types?.includes("object") === true || REST.some((keyword) => tree.has(keyword)))
    words.push(...writeRest(tree, properties, out, to));
  return words;
}

function writeRequired(tree: SchemaTree, required: readonly string[], out: Json, to: Derivation): string[] {
  if (to.rules.strict) {
    const unknown = required.filter((name) => !tree.map("properties").has(name));
    if (unknown.length > 0) to.problem(tree, "required", `${unknown.join(", ")}: required but not declared`);
    return [];
  }
  const known = required.filter((name) => !to.rules.message || tree.map("properties").has(name));
  if (known.length > 0) out["required"] = [...new Set(known.map((name) => to.nameOf(name)))];
  const unknown = required.filter((name) => !known.includes(name));
  return unknown.length === 0
    ? []
    : to.say(tree.copy().set("required", unknown, tree.from("required")), ["required"]);
}

/** The rule for undeclared properties. */
function writeRest(tree: SchemaTree, properties: Json, out: Json, to: Derivation): string[] {
  const keyword = tree.has("additionalProperties") ? "additionalProperties" : "unevaluatedProperties";
  const rest = tree.tree(keyword);
  if (keyword === "additionalProperties" && tree.has("unevaluatedProperties"))
    to.log.add(
      "removed",
      "unevaluatedProperties",
      tree.from("unevaluatedProperties"),
      "says nothing beside the other",
    );
  if (to.rules.strict) return writeClosed(tree, rest, properties, { out, to });
  if (rest === undefined) return [];
  // Names that match a pattern are declared too, and patterns are not kept.
  const isTaken = to.rules.keywords?.has("additionalProperties") === true && !tree.has("patternProperties");
  if (!isTaken) {
    // A closed object needs no description, and models do not need to know that more properties are accepted.
    if (!rest.isNever() && rest.keywords.size > 0) return to.say(tree, [keyword]);
    to.log.add("removed", keyword, tree.from(keyword));
    return [];
  }
  if (keyword === "unevaluatedProperties") to.log.add("rewritten", keyword, tree.from(keyword));
  out["additionalProperties"] = rest.isNever() ? false : rest.keywords.size === 0 ? true : to.write(rest);
  return [];
}

function writeClosed(
  tree: SchemaTree,
  rest: SchemaTree | undefined,
  properties: Json,
  { out, to }: { out: Json; to: Derivation },
): string[] {
  if (tree.has("patternProperties")) to.problem(tree, "patternProperties", "takes properties of any name");
  if (rest !== undefined && !rest.isNever())
    to.problem(tree, "additionalProperties", "takes undeclared properties");
  if (rest === undefined && !tree.has("properties")) to.problem(tree, "properties", "takes any object");
  if (rest === undefined) to.log.add("closed", "additionalProperties", [tree.at]);
  out["properties"] = properties;
  out["required"] = Object.keys(properties);
  out["additionalProperties"] = false;
  return [];
}

/** Whether a written schema accepts null. */
function mayBeNull(schema: Json): boolean {
  const { type, anyOf, enum: values } = schema as { type?: unknown; anyOf?: Json[]; enum?: unknown[] };
  if (anyOf !== undefined) return anyOf.some(mayBeNull);
  return [type].flat().includes("null") && (values === undefined || values.includes(null));
}

/** Adds null to a schema. */
function allowNull(schema: Json): Json {
  if (mayBeNull(schema)) return schema;
  const { title, description, ...rest } = schema;
  const said = { ...(title !== undefined && { title }), ...(description !== undefined && { description }) };
  if (Array.isArray(rest["anyOf"])) return { ...said, ...rest, anyOf: [...rest["anyOf"], { type: "null" }] };
  const isPlain = typeof rest["type"] === "string" && !["object", "array"].includes(rest["type"]);
  if (isPlain && rest["enum"] === undefined) return { ...said, ...rest, type: [rest["type"], "null"] };
  return { ...said, anyOf: [rest, { type: "null" }] };
}
