/** Merges a union of objects at the root into one object, for targets that accept neither a union nor a wrapper there. */

import { isSameJson } from "../json-value.js";
import type { ChangeLog } from "./change-log.js";
import { isChoiceOfRequired } from "./constraint-words.js";
import { flattenTree } from "./flatten-tree.js";
import { SchemaTree, treeToJson } from "./schema-tree.js";

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
  merged.spoken.push({ keyword, words: sayCombinations(tree, alternatives), from });
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
  const isPlain = [...tree.keywords.keys()].every((key) => PLAIN.has(key)) && tree.spoken.length === 0;
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
