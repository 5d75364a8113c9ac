/** Writes a schema for targets that support only some keywords of JSON Schema. */
import { isOfType } from "../json-schema.js";
import { isSameJson, setKey } from "../json-value.js";
import { JSON_TEXT, JSON_TEXT_WORDS, markJsonText } from "./argument-forms.js";
import { type Derivation, describe, isChoiceOfRequired, type Json, sayKeywords } from "./derivation.js";
import { ANNOTATIONS } from "./derived-schema.js";
import { flattenTree, mergeTrees } from "./flatten-tree.js";
import { never, SchemaTree } from "./schema-tree.js";
import { familyOf, inferTypes, jsonTypeOf, refineTypes, takesPattern } from "./target-rules.js";

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
    return writeUnion(tree.only(ANNOTATIONS).set("anyOf", partsOf(tree, types), []), to) ?? {};
  }
  const isFree = types?.filter((type) => type !== "null").join() === "object" && !hasProperties(tree);
  if (isFree && !isRoot && to.rules.message)
    return writeFreeObject(tree, types?.includes("null") === true, to);
  return writeOne(types === undefined ? tree : tree.copy().set("type", types, tree.from("type")), to);
}

const hasProperties = (tree: SchemaTree): boolean => tree.map("properties").size > 0;

/** A value of any type: each simple type, and text for the rest. */
function writeAnything(tree: SchemaTree, to: Derivation): Json {
  const implied = ["object", "array"].filter((type) =>
    [...tree.keywords.keys()].some((keyword) => familyOf(keyword)?.includes(type)),
  );
  const parts = partsOf(tree, ["string", "number", "boolean", "null", ...implied]);
  to.log.add("encoded", "type", [tree.at], JSON_TEXT_WORDS.any);
  parts[0]!.set(JSON_TEXT, "any");
  return writeUnion(tree.only(ANNOTATIONS).set("anyOf", parts, []), to) ?? {};
}

/** The schema once for each type, with the keywords about it. */
function partsOf(tree: SchemaTree, types: readonly string[]): SchemaTree[] {
  return types.map((type) => {
    const part = tree.only(keywordsAbout(type, tree)).set("type", type, tree.from("type"));
    part.remarks.length = 0;
    return part;
  });
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
  const words = [JSON_TEXT_WORDS.object, ...to.sayRemarks(tree), ...to.say(tree, said)];
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

function writeOne(tree: SchemaTree, to: Derivation): Json {
  const types = tree.types();
  const words = to.sayRemarks(tree);
  const out: Json = {};
  if (tree.has(JSON_TEXT)) {
    markJsonText(out, "any");
    words.push(JSON_TEXT_WORDS.any);
  }
  if (types === undefined) to.problem(tree, "type", "has no type");
  else Object.assign(out, writeType(types, to));
  words.push(...writeEnum(tree, out, to));
  if (types?.includes("object") !== false) words.push(...writeObject(tree, out, to));
  if (types?.includes("array") !== false) words.push(...writeList(tree, out, to));
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
function writeEnum(tree: SchemaTree, out: Json, to: Derivation): string[] {
  const [types, values] = [tree.types(), tree.get("enum")];
  if (!Array.isArray(values)) return [];
  const fitting = values.filter(
    (value) => types === undefined || types.some((type) => isOfType(value, type)),
  );
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

/** Whether a keyword without subschemas can be kept unchanged. */
function mayStand(keyword: string, tree: SchemaTree, to: Derivation): boolean {
  const { rules } = to;
  if (!rules.keywords?.has(keyword)) return false;
  if (keyword === "format") {
    const isOfText = !rules.message || tree.types()?.includes("string") === true;
    return isOfText && !tree.has("enum") && rules.formats?.has(String(tree.get("format"))) === true;
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

const REST = ["additionalProperties", "unevaluatedProperties"];

/** Writes the keywords for objects into `out`; returns descriptions of those that cannot be written. */
function writeObject(tree: SchemaTree, out: Json, to: Derivation): string[] {
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
    const schema = writeRestricted(property, to);
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
  if (tree.types()?.includes("object") === true || REST.some((keyword) => tree.has(keyword)))
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
  out["additionalProperties"] = rest.isNever()
    ? false
    : rest.keywords.size === 0
      ? true
      : writeRestricted(rest, to);
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

/** Writes the keywords for items into `out`; returns descriptions of those that cannot be written. */
function writeList(tree: SchemaTree, out: Json, to: Derivation): string[] {
  const rest = tree.tree("items");
  if (!tree.has("prefixItems")) {
    if (rest?.isNever() === true) return writeEmptyList(tree, out, to);
    if (rest !== undefined) out["items"] = writeRestricted(rest, to);
    else if (tree.types()?.includes("array") === true) {
      to.problem(tree, "items", "allows any items");
      out["items"] = writeAnyItem(tree, to);
    }
    return [];
  }
  return to.rules.keywords?.has("prefixItems") === true
    ? writeTuple(tree, out, to)
    : writeMixed(tree, out, to);
}

function writeTuple(tree: SchemaTree, out: Json, to: Derivation): string[] {
  const rest = tree.tree("items");
  out["prefixItems"] = tree.trees("prefixItems").map((item) => writeRestricted(item, to));
  if (rest?.isNever() === true) {
    const count = tree.trees("prefixItems").length;
    to.log.add("rewritten", "items", tree.from("items"), "maxItems");
    out["maxItems"] = Math.min(count, Number(tree.get("maxItems") ?? count));
  } else if (rest !== undefined) out["items"] = writeRestricted(rest, to);
  return [];
}

/** Converts `prefixItems` to `items` with all alternatives, and describes the positions in words. */
function writeMixed(tree: SchemaTree, out: Json, to: Derivation): string[] {
  const rest = tree.tree("items");
  const places = tree.trees("prefixItems");
  const isOpen =
    rest === undefined && Number(tree.get("maxItems") ?? Number.POSITIVE_INFINITY) > places.length;
  if (isOpen) to.problem(tree, "prefixItems", "allows any items after the first ones");
  const kinds = rest === undefined || rest.isNever() ? places : [...places, rest];
  out["items"] = isOpen
    ? writeAnyItem(tree, to)
    : writeRestricted(new SchemaTree(tree.at).set("anyOf", kinds, []), to);
  const said = ["prefixItems", "items"].filter((keyword) => tree.has(keyword));
  return to.say(tree, said);
}

function writeEmptyList(tree: SchemaTree, out: Json, to: Derivation): string[] {
  to.problem(tree, "items", "allows no items");
  out["items"] = writeAnyItem(tree, to);
  out["maxItems"] = 0;
  to.log.add("rewritten", "items", tree.from("items"), "maxItems");
  return [];
}

const writeAnyItem = (tree: SchemaTree, to: Derivation): Json =>
  to.rules.message ? writeRestricted(new SchemaTree(`${tree.at}/items`), to) : {};

/** Writes the schema as alternatives; undefined if it has none. Removes from `tree` what is described in words instead. */
function writeUnion(tree: SchemaTree, to: Derivation): Json | undefined {
  const alternatives = takeAlternatives(tree, to);
  if (alternatives === undefined) return undefined;
  const said = tree.only(ANNOTATIONS);
  const base = tree.without(...ANNOTATIONS);
  base.remarks.length = 0;
  const merged = alternatives
    .map((item) => (base.keywords.size === 0 ? item : mergeTrees(base, flattenTree(item, to.log), to.log)))
    .filter((item) => !item.isNever());
  if (merged.length === 1) return writeRestricted(withOwnWords(merged[0]!, said), to);
  if (merged.length === 0) return writeRestricted(never(tree.at), to);
  const refused = [...said.keywords.keys()].filter(
    (keyword) => keyword !== "title" && keyword !== "description",
  );
  const words = [...to.say(said, refused), ...to.sayRemarks(said)];
  if (to.rules.besideAnyOf === "nothing")
    return to.rules.openapi ? writeAlone(said, words, merged, to) : writePortable(said, words, merged, to);
  return to.annotate({ anyOf: merged.map((item) => writeRestricted(item, to)) }, said, words);
}

/** Removes the alternatives from the tree and returns those that are kept. */
function takeAlternatives(tree: SchemaTree, to: Derivation): SchemaTree[] | undefined {
  let kept: SchemaTree[] | undefined;
  for (const keyword of ["anyOf", "oneOf"]) {
    const alternatives = tree.trees(keyword);
    if (alternatives.length === 0) continue;
    const from = tree.from(keyword);
    const isKept = kept === undefined && !isChoiceOfRequired(alternatives);
    if (
      !isKept &&
      alternatives.some((item) => item.strings("required").some((name) => !tree.map("properties").has(name)))
    )
      to.problem(tree, keyword, "requires properties that are not declared");
    if (!isKept) tree.remarks.push({ keyword, words: sayKeywords(tree, [keyword])[0]!.words, from });
    else {
      kept = alternatives;
      if (keyword === "oneOf")
        to.log.add(areApart(alternatives) ? "rewritten" : "relaxed", keyword, from, "anyOf");
    }
    tree.keywords.delete(keyword);
  }
  return kept;
}

/** Whether no value can match two of them, because their types differ. */
function areApart(alternatives: readonly SchemaTree[]): boolean {
  const seen = new Set<string>();
  for (const alternative of alternatives) {
    const types = alternative.types();
    if (types === undefined) return false;
    for (const type of types.map((name) => (name === "integer" ? "number" : name))) {
      if (seen.has(type)) return false;
      seen.add(type);
    }
  }
  return true;
}

function withOwnWords(tree: SchemaTree, said: SchemaTree): SchemaTree {
  const copy = tree.copy();
  for (const [keyword, { value, from }] of said.keywords) {
    const inner = tree.get(keyword);
    const isJoined = keyword === "description" && typeof inner === "string" && inner !== value;
    copy.set(keyword, isJoined ? describe(value, [inner]) : value, from);
  }
  copy.remarks.push(...said.remarks);
  return copy;
}

/** For targets without other keywords beside `anyOf`: descriptions move into the alternatives, null becomes `nullable`. */
function writeAlone(said: SchemaTree, words: readonly string[], merged: SchemaTree[], to: Derivation): Json {
  const isNull = (tree: SchemaTree): boolean => tree.types()?.join() === "null";
  const real = merged.filter((tree) => !isNull(tree));
  const isNullable = real.length < merged.length;
  const description = describe(said.get("description"), words);
  const written = (real.length === 0 ? merged : real).map((item) => {
    return spread(withWords(writeRestricted(item, to), description), isNullable);
  });
  const [first, ...others] = written.flatMap((item) => (item["anyOf"] as Json[] | undefined) ?? [item]);
  return others.length === 0 ? first! : { anyOf: [first, ...others] };
}

/**
 * The same in JSON Schema. Null is added to one alternative only: `@ai-sdk/google` reads `[a, b, null]` as `nullable`
 * beside `any_of`, which Vertex AI rejects.
 */
function writePortable(
  said: SchemaTree,
  words: readonly string[],
  merged: SchemaTree[],
  to: Derivation,
): Json {
  const written = merged.map((item) => writeRestricted(item, to)).flatMap(alternativesOf);
  const real = written.filter((item) => item["type"] !== "null");
  const [first, ...others] = real.length === 0 ? written.slice(0, 1) : real;
  const description = describe(said.get("description"), words);
  const all = [withWords(first!, description), ...others];
  if (real.length > 0 && real.length < written.length) all.push({ anyOf: [all.pop()!, { type: "null" }] });
  return all.length === 1 ? all[0]! : { anyOf: all };
}

const alternativesOf = (schema: Json): Json[] =>
  Array.isArray(schema["anyOf"]) ? (schema["anyOf"] as Json[]).flatMap(alternativesOf) : [schema];

/** Flattens alternatives inside alternatives. */
function spread(schema: Json, isNullable: boolean): Json {
  const { anyOf, description, ...rest } = schema as { anyOf?: Json[]; description?: string };
  if (anyOf === undefined) return { ...schema, ...(isNullable && { nullable: true }) };
  return {
    ...rest,
    anyOf: anyOf.map((item) => ({ ...withWords(item, description), ...(isNullable && { nullable: true }) })),
  };
}

/** The schema with a description in front of its own. */
function withWords(schema: Json, words: string | undefined): Json {
  const { description: own } = schema;
  if (words === undefined) return schema;
  const isSaid = typeof own !== "string" || words.includes(own);
  return { ...schema, description: isSaid ? words : (describe(words, [own]) ?? words) };
}
