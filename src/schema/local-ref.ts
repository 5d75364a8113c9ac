/** Resolves `$ref` inside one document. Nothing is ever fetched. */
import { type Draft, isObject, type JsonSchema, subschemas } from "./json-schema.js";

const anchorsOf = new WeakMap<object, Map<string, object>>();

/** The target of `ref` inside `root`, a JSON pointer (`#/$defs/a`) or an anchor (`#a`); undefined if there is none. */
export function resolveLocalRef(root: JsonSchema, ref: string): JsonSchema | boolean | undefined {
  if (!ref.startsWith("#")) return undefined;
  const fragment = decodeFragment(ref.slice(1));
  if (fragment === undefined) return undefined;
  const found = fragment === "" || fragment.startsWith("/") ? follow(root, fragment) : anchor(root, fragment);
  return isObject(found) || typeof found === "boolean" ? found : undefined;
}

/**
 * The target of `ref` in its own document `base`, which a schema with an id starts, or else in the whole schema: some generators
 * write meaningless ids, and references that start at the root.
 */
export const resolveRef = (
  ref: string,
  { base, root }: { readonly base: JsonSchema; readonly root: JsonSchema },
): JsonSchema | boolean | undefined => resolveLocalRef(base, ref) ?? resolveLocalRef(root, ref);

/** The document of a schema: an id of its own makes it one. */
export function baseOf(schema: JsonSchema, outer: JsonSchema, draft: Draft | undefined): JsonSchema {
  const id = schema[draft === "4" ? "id" : "$id"];
  return typeof id === "string" && !id.startsWith("#") ? schema : outer;
}

function decodeFragment(fragment: string): string | undefined {
  try {
    return decodeURIComponent(fragment);
  } catch {
    return undefined;
  }
}

function follow(root: unknown, pointer: string): unknown {
  let value = root;
  for (const token of pointer.split("/").slice(1)) {
    const key = unescapeToken(token);
    if (typeof value !== "object" || value === null || !Object.hasOwn(value, key)) return undefined;
    value = (value as Record<string, unknown>)[key];
  }
  return value;
}

/** The key that a token of a JSON pointer encodes. */
export const unescapeToken = (token: string): string => token.replaceAll("~1", "/").replaceAll("~0", "~");

function anchor(root: JsonSchema, name: string): object | undefined {
  let anchors = anchorsOf.get(root);
  if (anchors === undefined) {
    anchors = collectAnchors(root);
    anchorsOf.set(root, anchors);
  }
  return anchors.get(name);
}

function collectAnchors(root: JsonSchema): Map<string, object> {
  const anchors = new Map<string, object>();
  const seen = new Set<JsonSchema>();
  const open: JsonSchema[] = [root];
  for (let schema = open.pop(); schema !== undefined; schema = open.pop()) {
    if (seen.has(schema)) continue;
    seen.add(schema);
    // Up to draft-07, an `$id` that is only a fragment is an anchor.
    for (const key of ["$anchor", "$dynamicAnchor", "$id", "id"]) {
      const value = schema[key];
      if (typeof value !== "string") continue;
      const isId = key === "$id" || key === "id";
      if (isId && !value.startsWith("#")) continue;
      const name = isId ? value.slice(1) : value;
      if (!anchors.has(name)) anchors.set(name, schema);
    }
    open.push(...subschemas(schema));
  }
  return anchors;
}
