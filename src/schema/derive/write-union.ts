/** Writes alternatives: `anyOf`, and `oneOf` as `anyOf`, with the keywords beside them moved into each. */
import { ANNOTATIONS } from "./change-log.js";
import { describe, isChoiceOfRequired, sayKeywords } from "./constraint-words.js";
import type { Derivation, Json } from "./derivation.js";
import { flattenTree, mergeTrees } from "./flatten-tree.js";
import { never, type SchemaTree } from "./schema-tree.js";

/** Writes the schema as alternatives; undefined if it has none. Removes from `tree` what is described in words instead. */
export function writeUnion(tree: SchemaTree, to: Derivation): Json | undefined {
  const alternatives = takeAlternatives(tree, to);
  if (alternatives === undefined) return undefined;
  const said = tree.only(ANNOTATIONS);
  const base = tree.without(...ANNOTATIONS);
  base.spoken.length = 0;
  const merged = alternatives
    .map((item) => (base.keywords.size === 0 ? item : mergeTrees(base, flattenTree(item, to.log), to.log)))
    .filter((item) => !item.isNever());
  if (merged.length === 1) return to.write(withOwnWords(merged[0]!, said));
  if (merged.length === 0) return to.write(never(tree.at));
  const refused = [...said.keywords.keys()].filter(
    (keyword) => keyword !== "title" && keyword !== "description",
  );
  const words = [...to.say(said, refused), ...to.saySpoken(said)];
  if (to.rules.besideAnyOf === "nothing")
    return to.rules.openapi ? writeAlone(said, words, merged, to) : writePortable(said, words, merged, to);
  return to.annotate({ anyOf: merged.map((item) => to.write(item)) }, said, words);
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
    if (!isKept) tree.spoken.push({ keyword, words: sayKeywords(tree, [keyword])[0]!.words, from });
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
  copy.spoken.push(...said.spoken);
  return copy;
}

/** For targets without other keywords beside `anyOf`: descriptions move into the alternatives, null becomes `nullable`. */
function writeAlone(said: SchemaTree, words: readonly string[], merged: SchemaTree[], to: Derivation): Json {
  const isNull = (tree: SchemaTree): boolean => tree.types()?.join() === "null";
  const real = merged.filter((tree) => !isNull(tree));
  const isNullable = real.length < merged.length;
  const description = describe(said.get("description"), words);
  const written = (real.length === 0 ? merged : real).map((item) => {
    const own = to.write(item);
    const joined =
      description === undefined ? own["description"] : joinTexts(description, own["description"]);
    return spread({ ...own, ...(joined !== undefined && { description: joined }) }, isNullable);
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
  const written = merged.map((item) => to.write(item)).flatMap(alternativesOf);
  const real = written.filter((item) => item["type"] !== "null");
  const [first, ...others] = real.length === 0 ? written.slice(0, 1) : real;
  const description = describe(said.get("description"), words);
  const joined =
    description === undefined ? first!["description"] : joinTexts(description, first!["description"]);
  const all = [{ ...first!, ...(joined !== undefined && { description: joined }) }, ...others];
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
    anyOf: anyOf.map((item) => {
      const joined =
        description === undefined ? item["description"] : joinTexts(description, item["description"]);
      return {
        ...item,
        ...(joined !== undefined && { description: joined }),
        ...(isNullable && { nullable: true }),
      };
    }),
  };
}

const joinTexts = (outer: string, inner: unknown): string =>
  typeof inner !== "string" || outer.includes(inner) ? outer : (describe(outer, [inner]) ?? outer);
