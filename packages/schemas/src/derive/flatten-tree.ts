/** Merges a schema with its `allOf`, and a union of objects at the root into one object, for targets that do not support them. */
import { isSameJson } from "../json-value.js";
import { isChoiceOfRequired, sayKeywords } from "./derivation.js";
import type { ChangeLog } from "./derived-schema.js";
import { never, SchemaTree, type TreeKeyword, treeToJson } from "./schema-tree.js";

const LARGEST = new Set("minimum exclusiveMinimum minLength minItems minProperties minContains".split(" "));
const SMALLEST = new Set("maximum exclusiveMaximum maxLength maxItems maxProperties maxContains".split(" "));
/** Keywords that depend on each other: they are merged and described together. */
const COMPANIONS: Readonly<Record<string, readonly string[]>> = {
  if: ["then", "else"],
  contains: ["minContains", "maxContains"],
};
const FOLLOWERS = new Set(Object.values(COMPANIONS).flat());

/** The same schema without `allOf` at its root. Parts that cannot be merged are described in words later. */
export function flattenTree(tree: SchemaTree, log: ChangeLog): SchemaTree {
  const parts = tree.trees("allOf");
  if (parts.length === 0) return tree;
  log.add("rewritten", "allOf", tree.from("allOf"));
  let merged = tree.without("allOf");
  for (const part of parts) merged = mergeTrees(merged, flattenTree(part, log), log);
  return merged;
}

/** Accepts what both accept; `log` records where it accepts more. */
export function mergeTrees(left: SchemaTree, right: SchemaTree, log: ChangeLog): SchemaTree {
  if (left.isNever() || right.isNever()) return never(left.at);
  const merged = left.copy();
  merged.remarks.push(...right.remarks);
  mergeObjects(merged, left, right, log);
  for (const [keyword, theirs] of right.keywords) {
    if (OBJECT_KEYWORDS.has(keyword) || FOLLOWERS.has(keyword)) continue;
    const ours = left.keywords.get(keyword);
    const apart = LIST_KEYWORDS.has(keyword) && mixesTuples(left, right);
    const joined = apart
      ? undefined
      : ours === undefined
        ? theirs
        : joinKeyword(keyword, ours, theirs, left.at);
    if (joined === "never") return never(left.at);
    if (joined === undefined) speak(merged, keyword, right);
    else {
      merged.keywords.set(keyword, joined);
      if (ours === undefined) carryCompanions(merged, keyword, right);
    }
  }
  return merged;
}

const LIST_KEYWORDS = new Set(["items", "prefixItems"]);

/** `items` applies to all items, or to those after `prefixItems`: the two cannot be merged. */
const mixesTuples = (left: SchemaTree, right: SchemaTree): boolean =>
  (left.has("prefixItems") || right.has("prefixItems")) &&
  [...LIST_KEYWORDS].some((keyword) => left.has(keyword));

const OBJECT_KEYWORDS = new Set(["properties", "additionalProperties", "patternProperties"]);

function carryCompanions(merged: SchemaTree, keyword: string, right: SchemaTree): void {
  for (const companion of COMPANIONS[keyword] ?? []) {
    const entry = right.keywords.get(companion);
    if (entry !== undefined) merged.keywords.set(companion, entry);
  }
}

function speak(merged: SchemaTree, keyword: string, right: SchemaTree): void {
  const group = [keyword, ...(COMPANIONS[keyword] ?? [])].filter((name) => right.has(name));
  for (const { words, keywords } of sayKeywords(right, group))
    for (const name of keywords) merged.remarks.push({ keyword: name, words, from: right.from(name) });
}

/** Merges a keyword that both have; undefined if that is not possible. */
function joinKeyword(
  keyword: string,
  ours: TreeKeyword,
  theirs: TreeKeyword,
  at: string,
): TreeKeyword | undefined | "never" {
  const from = [...new Set([...ours.from, ...theirs.from])];
  const [a, b] = [ours.value, theirs.value];
  if (["description", "title", "default", "examples", "format"].includes(keyword) && a === b) return ours;
  if (["description", "title", "default", "examples", "deprecated"].includes(keyword)) return ours;
  if (keyword === "type") {
    const types = intersectTypes(asList(a), asList(b));
    return types.length === 0 ? "never" : { value: types.length === 1 ? types[0] : types, from };
  }
  if (keyword === "enum") {
    const shared = asList(a).filter((item) => asList(b).some((other) => isSameJson(item, other)));
    return shared.length === 0 ? "never" : { value: shared, from };
  }
  if (keyword === "required") return { value: [...new Set([...asList(a), ...asList(b)])], from };
  if (typeof a === "number" && typeof b === "number" && LARGEST.has(keyword))
    return { value: Math.max(a, b), from };
  if (typeof a === "number" && typeof b === "number" && SMALLEST.has(keyword))
    return { value: Math.min(a, b), from };
  if (keyword === "uniqueItems") return { value: a === true || b === true, from };
  if (keyword === "items" && a instanceof SchemaTree && b instanceof SchemaTree)
    return { value: both(a, b, at), from };
  return isSameJson(treeToJson(a), treeToJson(b)) ? { value: a, from } : undefined;
}

const both = (a: SchemaTree, b: SchemaTree, at: string): SchemaTree =>
  new SchemaTree(at).set("allOf", [a, b], []);

const asList = (value: unknown): unknown[] => (Array.isArray(value) ? value : [value]);

function intersectTypes(ours: unknown[], theirs: unknown[]): unknown[] {
  const accepts = (types: unknown[], type: unknown): boolean =>
    types.includes(type) || (type === "integer" && types.includes("number"));
  return [
    ...ours.filter((type) => accepts(theirs, type)),
    ...theirs.filter((type) => accepts(ours, type)),
  ].filter((type, index, all) => all.indexOf(type) === index);
}

/** Properties of both; the rule of one for undeclared properties applies to those that only the other declares. */
function mergeObjects(merged: SchemaTree, left: SchemaTree, right: SchemaTree, log: ChangeLog): void {
  const [ours, theirs] = [left.map("properties"), right.map("properties")];
  const properties = new Map(ours);
  for (const [name, tree] of theirs) {
    const mine = ours.get(name);
    properties.set(name, mine === undefined ? tree : both(mine, tree, left.at));
  }
  const [onlyOurs, onlyTheirs] = [difference(ours, theirs), difference(theirs, ours)];
  limit(properties, onlyTheirs, left, log);
  limit(properties, onlyOurs, right, log);
  const from = [left, right]
    .filter((tree) => tree.has("properties"))
    .flatMap((tree) => tree.from("properties"));
  if (properties.size > 0 || from.length > 0) merged.set("properties", properties, from);
  for (const keyword of ["additionalProperties", "patternProperties"]) {
    const [a, b] = [left.keywords.get(keyword), right.keywords.get(keyword)];
    if (b === undefined) continue;
    if (a === undefined) merged.keywords.set(keyword, b);
    else if (a.value instanceof SchemaTree && b.value instanceof SchemaTree)
      merged.set(keyword, both(a.value, b.value, left.at), [...a.from, ...b.from]);
    else speak(merged, keyword, right);
  }
}

/** Properties that only the other schema declares count as undeclared in this schema. */
function limit(properties: Map<string, SchemaTree>, names: string[], tree: SchemaTree, log: ChangeLog): void {
  const rest = tree.tree("additionalProperties");
  if (rest === undefined || names.length === 0) return;
  if (rest.isNever() || tree.has("patternProperties")) {
    // Strictly they would be forbidden, which is rarely intended.
    log.add("relaxed", "additionalProperties", tree.from("additionalProperties"));
    return;
  }
  for (const name of names) properties.set(name, both(properties.get(name)!, rest, tree.at));
}

const difference = (a: ReadonlyMap<string, unknown>, b: ReadonlyMap<string, unknown>): string[] =>
  [...a.keys()].filter((name) => !b.has(name));

const MAX_WORDS = 1_200;

/**
 * Returns an object with the properties of all alternatives; required are those that every alternative requires. A description says which
 * properties belong together. Returns the schema unchanged if an alternative is not an object.
 */
export function flattenRootUnion(tree: SchemaTree, log: ChangeLog): SchemaTree {
  let flat = tree;
  for (const keyword of ["anyOf", "oneOf"]) {
    const alternatives = readAlternatives(flat, keyword, log);
    if (alternatives !== undefined) flat = mergeAlternatives(flat, keyword, alternatives);
  }
  return flat;
}

/**
 * The alternatives that arguments can match: objects without nested unions. Undefined if there are none, or if one is a
 * list of values.
 */
function readAlternatives(tree: SchemaTree, keyword: string, log: ChangeLog): SchemaTree[] | undefined {
  const listed = tree.trees(keyword);
  if (listed.length === 0 || isChoiceOfRequired(listed)) return undefined;
  const flat = listed
    .map((item) => flattenRootUnion(flattenTree(item, log), log))
    .filter((item) => !item.isNever() && item.types()?.includes("object") !== false);
  return flat.length > 0 && flat.every(isOneObject) ? flat : undefined;
}

const isOneObject = (tree: SchemaTree): boolean =>
  !["enum", "const", "anyOf", "oneOf"].some(
    (keyword) => tree.has(keyword) && !isChoiceOfRequired(tree.trees(keyword)),
  );

function mergeAlternatives(tree: SchemaTree, keyword: string, alternatives: SchemaTree[]): SchemaTree {
  const from = tree.from(keyword);
  const merged = tree.without(keyword);
  const properties = new Map(tree.map("properties"));
  const names = new Set(alternatives.flatMap((item) => [...item.map("properties").keys()]));
  for (const name of names) {
    const own = properties.get(name);
    const choice = oneOfTrees(
      alternatives.flatMap((item) => item.map("properties").get(name) ?? []),
      tree.at,
    );
    const both = own === undefined ? choice : new SchemaTree(tree.at).set("allOf", [own, choice], []);
    properties.set(name, own !== undefined && isSameTree(own, choice) ? own : both);
  }
  merged.set("properties", properties, tree.has("properties") ? tree.from("properties") : from);
  const required = [...tree.strings("required"), ...sharedNames(alternatives)];
  if (required.length > 0) merged.set("required", [...new Set(required)], tree.from("required"));
  merged.remarks.push({ keyword, words: sayCombinations(tree, alternatives), from });
  return merged;
}

const sharedNames = ([first, ...others]: readonly SchemaTree[]): string[] =>
  (first?.strings("required") ?? []).filter((name) =>
    others.every((item) => item.strings("required").includes(name)),
  );

/** A schema for everything that one of the schemas accepts. Enums are merged. */
function oneOfTrees(trees: readonly SchemaTree[], at: string): SchemaTree {
  const distinct = trees.filter(
    (tree, index) => trees.findIndex((other) => isSameTree(tree, other)) === index,
  );
  const [first, ...others] = distinct;
  if (others.length === 0) return first!;
  const lists = distinct.map(valuesOf);
  if (lists.some((values) => values === undefined)) return new SchemaTree(at).set("anyOf", distinct, []);
  return first!.without("const").set("enum", [...new Set(lists.flat())], []);
}

const isSameTree = (a: SchemaTree, b: SchemaTree): boolean => isSameJson(treeToJson(a), treeToJson(b));

/** The strings of a schema that is only an enum of strings. */
function valuesOf(tree: SchemaTree): string[] | undefined {
  const isPlain = [...tree.keywords.keys()].every((key) => PLAIN.has(key)) && tree.remarks.length === 0;
  const values = tree.has("const") ? [tree.get("const")] : tree.get("enum");
  if (!isPlain || !Array.isArray(values)) return undefined;
  return values.every((value) => typeof value === "string") ? values : undefined;
}
const PLAIN = new Set("type const enum title description".split(" "));

function sayCombinations(tree: SchemaTree, alternatives: readonly SchemaTree[]): string {
  const shared = new Set([...tree.strings("required"), ...sharedNames(alternatives)]);
  const forms = alternatives.map((item) => sayForm(item, shared)).filter((words) => words !== "");
  const words = `Give one of these combinations: ${[...new Set(forms)].join("; ")}.`;
  return forms.length < 2 || words.length > MAX_WORDS ? "" : words;
}

/** Describes one alternative: its distinguishing values, its other required properties, its optional ones. */
function sayForm(tree: SchemaTree, shared: ReadonlySet<string>): string {
  const required = new Set(tree.strings("required"));
  const marks: string[] = [];
  const needed: string[] = [...required].filter(
    (name) => !shared.has(name) && !tree.map("properties").has(name),
  );
  const optional: string[] = [];
  for (const [name, property] of tree.map("properties")) {
    const values = valuesOf(property);
    if (values?.length === 1) marks.push(`${name} ${JSON.stringify(values[0])}`);
    else if (required.has(name)) needed.push(name);
    else optional.push(name);
  }
  const names = [...marks, ...needed].join(" with ");
  if (names === "") return optional.length === 0 ? "" : `any of ${optional.join(", ")}`;
  return optional.length === 0 ? names : `${names} (optional: ${optional.join(", ")})`;
}
