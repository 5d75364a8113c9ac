/** Walks the tree of a JSON file: values, places, and keys that are written twice. */
import type { Node } from "jsonc-parser";
import type { ConfigPath } from "../config/config-issues.js";

/** Name and value of each property of an object, in the order of the file. */
function propertiesOf(node: Node): { name: string; property: Node; value: Node | undefined }[] {
  if (node.type !== "object") return [];
  return (node.children ?? []).map((property) => {
    const [key, value] = property.children ?? [];
    return { name: String(key?.value ?? ""), property, value };
  });
}

/** Makes the value of a node; of a property that is written twice, the last counts. `__proto__` is a field like any other. */
export function toValue(node: Node | undefined): unknown {
  if (node?.type === "object") {
    return Object.fromEntries(propertiesOf(node).map(({ name, value }) => [name, toValue(value)]));
  }
  if (node?.type === "array") return (node.children ?? []).map((item) => toValue(item));
  return node?.value;
}

/** The node a path leads to, or the last one on the way there; for a property, the property with its name. */
export function nearestNode(node: Node, path: ConfigPath): Node {
  const [step, ...rest] = path;
  if (typeof step === "number") {
    const item = node.type === "array" ? node.children?.[step] : undefined;
    return item === undefined ? node : nearestNode(item, rest);
  }
  const found = propertiesOf(node).findLast(({ name }) => name === step);
  if (found === undefined) return node.parent?.type === "property" ? node.parent : node;
  return found.value === undefined || rest.length === 0 ? found.property : nearestNode(found.value, rest);
}

/** Every property whose name its object already has, with the first one of that name. */
export function duplicatesIn(
  node: Node,
  path: ConfigPath = [],
): { path: ConfigPath; first: Node; again: Node }[] {
  const found: { path: ConfigPath; first: Node; again: Node }[] = [];
  const seen = new Map<string, Node>();
  for (const { name, property, value } of propertiesOf(node)) {
    const first = seen.get(name);
    if (first === undefined) seen.set(name, property);
    else found.push({ path: [...path, name], first, again: property });
    if (value?.type === "object") found.push(...duplicatesIn(value, [...path, name]));
  }
  return found;
}
