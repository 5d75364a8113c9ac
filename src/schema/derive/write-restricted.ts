/** Writes a schema for targets that support only some keywords of JSON Schema. */

import { isSameJson } from "../json-value.js";
import { ANNOTATIONS } from "./change-log.js";
import type { Derivation, Json } from "./derivation.js";
import { flattenTree } from "./flatten-tree.js";
import { JSON_TEXT, JSON_TEXT_WORDS, markJsonText } from "./json-text.js";
import { familyOf, inferTypes, jsonTypeOf, refineTypes, takesPattern } from "./keyword-families.js";
import { never, type SchemaTree } from "./schema-tree.js";
import { writeList } from "./write-list.js";
import { writeObject } from "./write-object.js";
import { writeUnion } from "./write-union.js";

/** Keywords that `writeObject` and `writeList` write. */
const STRUCTURE = new Set(
  (
    "type enum const title description properties required additionalProperties unevaluatedProperties items " +
    "prefixItems"
  )
    .split(" ")
    .concat(JSON_TEXT),
);

/** `isRoot`: an object without properties stays one. */
export function writeRestricted(tree: SchemaTree, to: Derivation, isRoot = false): Json {
  to.count();
  // A copy: one tree may be written several times, and alternatives are removed from it.
  const flat = readConst(flattenTree(tree, to.log), to).copy();
  if (flat.isNever()) return writeNever(flat, to);
  const union = writeUnion(flat, to);
  return union ?? writeTypes(flat, to, isRoot);
}

/** A schema without alternatives. */
function writeTypes(tree: SchemaTree, to: Derivation, isRoot: boolean): Json {
  const types = typesOf(tree, to);
  if (types === undefined && to.rules.message) return writeAnything(tree, to);
  const isSplit = types !== undefined && mustSplit(tree, types, to);
  if (isSplit) {
    to.log.add("rewritten", "type", tree.from("type"), "anyOf");
    const parts = types.map((type) =>
      tree.only(keywordsAbout(type, tree)).set("type", type, tree.from("type")),
    );
    for (const part of parts) part.spoken.length = 0;
    return writeUnion(tree.only(ANNOTATIONS).set("anyOf", parts, []), to) ?? {};
  }
  const isFree = types?.filter((type) => type !== "null").join() === "object" && !hasProperties(tree);
  if (isFree && !isRoot && to.rules.message)
    return writeFreeObject(tree, types?.includes("null") === true, to);
  return writeOne(types === undefined ? tree : tree.copy().set("type", types, tree.from("type")), types, to);
}

const hasProperties = (tree: SchemaTree): boolean => tree.map("properties").size > 0;

/** A value of any type: each simple type, and text for the rest. */
function writeAnything(tree: SchemaTree, to: Derivation): Json {
  const implied = ["object", "array"].filter((type) =>
    [...tree.keywords.keys()].some((keyword) => familyOf(keyword)?.includes(type)),
  );
  const parts = ["string", "number", "boolean", "null", ...implied].map((type) =>
    tree.only(keywordsAbout(type, tree)).set("type", type, tree.from("type")),
  );
  for (const part of parts) part.spoken.length = 0;
  to.log.add("encoded", "type", [tree.at], JSON_TEXT_WORDS.any);
  parts[0]!.set(JSON_TEXT, "any");
  return writeUnion(tree.only(ANNOTATIONS).set("anyOf", parts, []), to) ?? {};
}

const OF_FREE_OBJECTS = new Set("type title description properties".split(" "));

/** An object whose properties are not declared, as text. */
function writeFreeObject(tree: SchemaTree, isNullable: boolean, to: Derivation): Json {
  const rest = ["additionalProperties", "unevaluatedProperties"].filter((keyword) => {
    const schema = tree.tree(keyword);
    return schema === undefined || schema.isNever() || schema.keywords.size === 0;
  });
  const said = [...tree.keywords.keys()].filter(
    (keyword) => !OF_FREE_OBJECTS.has(keyword) && !rest.includes(keyword),
  );
  const words = [JSON_TEXT_WORDS.object, ...to.saySpoken(tree), ...to.say(tree, said)];
  to.log.add("encoded", "type", [tree.at], JSON_TEXT_WORDS.object);
  const type = writeType(["string", ...(isNullable ? ["null"] : [])], to);
  return to.annotate(markJsonText(type, "object"), tree, words);
}

const keywordsAbout = (type: string, tree: SchemaTree): ReadonlySet<string> =>
  new Set(
    [...tree.keywords.keys()].filter(
      (keyword) => !ANNOTATIONS.has(keyword) && familyOf(keyword)?.includes(type) !== false,
    ),
  );

/** The allowed types; if the target requires a type, the one that the other keywords imply. */
function typesOf(tree: SchemaTree, to: Derivation): string[] | undefined {
  const named = tree.types();
  if (named !== undefined) return refineTypes(named, tree);
  const inferred = inferTypes(tree);
  const isNeeded = to.rules.strict || to.rules.message || inferred?.exact === true;
  if (inferred === undefined || !isNeeded) return undefined;
  if (!inferred.exact) to.log.add("typed", "type", [tree.at], inferred.types.join(", "));
  return inferred.types;
}

/** Whether types that are listed together have to become alternatives. */
function mustSplit(tree: SchemaTree, types: readonly string[], { rules }: Derivation): boolean {
  const real = types.filter((type) => type !== "null");
  if (real.length === 0 || types.length === 1) return false;
  if (rules.openapi) return real.length > 1;
  if (!rules.typeLists) return true;
  if (rules.strict) return real.length > 1 || real[0] === "object" || real[0] === "array";
  const values = tree.get("enum");
  return Array.isArray(values) && values.includes(null);
}

function writeOne(tree: SchemaTree, types: readonly string[] | undefined, to: Derivation): Json {
  const words = to.saySpoken(tree);
  const out: Json = {};
  if (tree.has(JSON_TEXT)) {
    markJsonText(out, "any");
    words.push(JSON_TEXT_WORDS.any);
  }
  if (types === undefined) to.problem(tree, "type", "has no type");
  else Object.assign(out, writeType(types, to));
  words.push(...writeEnum(tree, types, out, to));
  if (types?.includes("object") !== false) words.push(...writeObject(tree, types, out, to));
  if (types?.includes("array") !== false) words.push(...writeList(tree, types, out, to));
  const refused: string[] = [];
  for (const keyword of tree.keywords.keys()) {
    if (STRUCTURE.has(keyword) || keyword in out) continue;
    const family = familyOf(keyword);
    if (family !== undefined && types !== undefined && !types.some((type) => family.includes(type)))
      to.log.add("removed", keyword, tree.from(keyword), "says nothing about this type");
    else if (mayStand(keyword, tree, to)) out[keyword] = tree.get(keyword);
    else refused.push(keyword);
  }
  words.push(...to.say(tree, refused));
  return to.annotate(out, tree, words);
}

function writeType(types: readonly string[], { rules }: Derivation): Json {
  const real = types.filter((type) => type !== "null");
  if (!rules.openapi) return { type: types.length === 1 ? types[0] : [...types] };
  // Older versions of the documentation do not list a type for null, but the enum of types has it.
  if (real.length === 0) return { type: "NULL" };
  return { type: real[0]!.toUpperCase(), ...(types.length > real.length && { nullable: true }) };
}

/** Writes an enum if the target accepts all of its values, otherwise a description. */
function writeEnum(
  tree: SchemaTree,
  types: readonly string[] | undefined,
  out: Json,
  to: Derivation,
): string[] {
  const values = tree.get("enum");
  if (!Array.isArray(values)) return [];
  const fitting = values.filter((value) => types === undefined || types.some((type) => hasType(value, type)));
  const real = to.rules.openapi ? fitting.filter((value) => value !== null) : fitting;
  if (fitting.length > 0 && fitting.every((value) => value === null) && types?.join() === "null") return [];
  if (real.length === 0 || !real.every((value) => takes(value, to))) {
    to.problem(tree, "enum", "lists values that strict mode does not take");
    return to.say(tree, ["enum"]);
  }
  out["enum"] = [...new Set(real)];
  if (to.rules.openapi) {
    if (tree.has("format")) to.log.add("removed", "format", tree.from("format"), "the values are listed");
    out["format"] = "enum";
  }
  return [];
}

/** Targets that accept only strings and numbers in an enum reject empty strings. */
const takes = (value: unknown, { rules }: Derivation): boolean =>
  rules.enumTypes === undefined ||
  (rules.enumTypes.has(jsonTypeOf(value)) && (value !== "" || rules.enumTypes.has("null")));

const hasType = (value: unknown, type: string): boolean =>
  jsonTypeOf(value) === type || (type === "number" && typeof value === "number");

/** Whether a keyword without subschemas can be kept unchanged. */
function mayStand(keyword: string, tree: SchemaTree, to: Derivation): boolean {
  const { rules } = to;
  if (!rules.keywords?.has(keyword)) return false;
  if (keyword === "format") {
    const isOfType = !rules.message || tree.types()?.includes("string") === true;
    return isOfType && !tree.has("enum") && rules.formats?.has(String(tree.get("format"))) === true;
  }
  if (keyword === "maxItems") return to.takesItems(Number(tree.get("maxItems")));
  if (keyword === "pattern") return takesPattern(String(tree.get("pattern")), rules);
  return true;
}

function readConst(tree: SchemaTree, to: Derivation): SchemaTree {
  if (!tree.has("const")) return tree;
  const from = tree.from("const");
  const values = tree.get("enum");
  if (Array.isArray(values) && !values.some((value) => isSameJson(value, tree.get("const"))))
    return never(tree.at);
  to.log.add("rewritten", "const", from, "enum");
  return tree.without("const", "enum").set("enum", [tree.get("const")], from);
}

function writeNever(tree: SchemaTree, to: Derivation): Json {
  to.problem(tree, "not", "accepts no value");
  to.log.add("described", "false", [tree.at], "Must not be given.");
  return to.annotate(to.rules.message ? writeType(["string"], to) : {}, tree, ["Must not be given."]);
}
