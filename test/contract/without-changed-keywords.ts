/** The original schema without the keywords that a derivation reports as lost: the guarantee of the derived schema. */
import type { SchemaChange } from "../../packages/schemas/src/derive/derived-schema.js";

type Node = Record<string, unknown>;

/** Keywords with the same meaning in an older draft. */
const ALSO: Readonly<Record<string, readonly string[]>> = {
  dependentRequired: ["dependencies"],
  dependentSchemas: ["dependencies"],
  prefixItems: ["items", "additionalItems"],
  items: ["additionalItems"],
};

export function withoutChangedKeywords(original: unknown, changes: readonly SchemaChange[]): unknown {
  const root = { schema: structuredClone(original) };
  // The deepest first, because moving a part changes the paths below it.
  for (const { path, keyword, what } of changes.toSorted((a, b) => b.path.length - a.path.length)) {
    if (what === "replaced") return {};
    // Sent as text: any text is accepted, and the server's schema decides.
    if (what === "encoded") {
      const { parent, key } = find(root, path);
      if (parent !== undefined) parent[key] = true;
      continue;
    }
    if (!["described", "removed", "relaxed", "cut"].includes(what)) continue;
    const { parent, key } = find(root, path);
    const node = parent?.[key];
    // Schemas that accept nothing: `false`, or a contradiction.
    if (keyword === "false" && parent !== undefined && node !== undefined) parent[key] = true;
    if (typeof node !== "object" || node === null) continue;
    loosen(node as Node, keyword, what);
  }
  return root.schema;
}

function loosen(node: Node, keyword: string, what: string): void {
  if (what === "relaxed" && keyword === "oneOf" && Array.isArray(node["oneOf"])) {
    node["allOf"] = [...((node["allOf"] as unknown[]) ?? []), { anyOf: node["oneOf"] }];
    delete node["oneOf"];
    return;
  }
  for (const name of [keyword, ...(ALSO[keyword] ?? [])]) delete node[name];
}

function find(root: { schema: unknown }, path: string): { parent: Node | undefined; key: string } {
  let [parent, key]: [Node | undefined, string] = [root, "schema"];
  for (const token of path.split("/").slice(1)) {
    parent = parent?.[key] as Node | undefined;
    key = token.replaceAll("~1", "/").replaceAll("~0", "~");
  }
  return { parent: typeof parent === "object" && parent !== null ? parent : undefined, key };
}
