/** Writes the keywords of arrays. */
import type { Derivation, Json } from "./derivation.js";
import { SchemaTree } from "./schema-tree.js";

/** Writes the keywords for items into `out`; returns descriptions of those that cannot be written. */
export function writeList(
  tree: SchemaTree,
  types: readonly string[] | undefined,
  out: Json,
  to: Derivation,
): string[] {
  const rest = tree.tree("items");
  if (!tree.has("prefixItems")) {
    if (rest?.isNever() === true) return writeEmptyList(tree, out, to);
    if (rest !== undefined) out["items"] = to.write(rest);
    else if (types?.includes("array") === true) {
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
  out["prefixItems"] = tree.trees("prefixItems").map((item) => to.write(item));
  if (rest?.isNever() === true) {
    const count = tree.trees("prefixItems").length;
    to.log.add("rewritten", "items", tree.from("items"), "maxItems");
    out["maxItems"] = Math.min(count, Number(tree.get("maxItems") ?? count));
  } else if (rest !== undefined) out["items"] = to.write(rest);
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
  out["items"] = isOpen ? writeAnyItem(tree, to) : to.write(new SchemaTree(tree.at).set("anyOf", kinds, []));
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
  to.rules.message ? to.write(new SchemaTree(`${tree.at}/items`)) : {};
