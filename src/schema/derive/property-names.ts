/** New names for properties whose names a target refuses. */
import { SchemaTree } from "./schema-tree.js";
import type { TargetRules } from "./target-rules.js";

const MAX_LENGTH = 64;

/** New names by old ones, for all properties of a schema. No two become one, and none becomes the name of another. */
export function renameProperties(
  root: SchemaTree,
  { names: rule, reservedNames }: Pick<TargetRules, "names" | "reservedNames">,
): ReadonlyMap<string, string> {
  const renamed = new Map<string, string>();
  if (rule === undefined) return renamed;
  const taken = new Set<string>();
  collectNames(root, taken);
  for (const name of [...taken]) {
    if (rule.test(name) && reservedNames?.has(name) !== true) continue;
    const stem = name.replace(/[^a-zA-Z0-9_]+/g, "_").replace(/^_+(?=[a-zA-Z])|_+$/g, "");
    const base = (/^[a-zA-Z_]/.test(stem) ? stem : `_${stem}`).slice(0, MAX_LENGTH);
    let candidate = base;
    for (let count = 2; taken.has(candidate); count++)
      candidate = `${base.slice(0, MAX_LENGTH - 1 - String(count).length)}_${count}`;
    taken.add(candidate);
    renamed.set(name, candidate);
  }
  return renamed;
}

function collectNames(tree: SchemaTree, names: Set<string>): void {
  for (const name of tree.map("properties").keys()) names.add(name);
  for (const { value } of tree.keywords.values()) {
    const inside = value instanceof Map ? [...value.values()] : Array.isArray(value) ? value : [value];
    for (const item of inside) if (item instanceof SchemaTree) collectNames(item, names);
  }
}
