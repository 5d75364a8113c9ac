/** Resolves `$ref` inside one document. Nothing is ever fetched. */
import { isObject, type JsonSchema, subschemas } from "./json-schema.js";

/** Whether a `$ref` stays in its document. */
export const isLocalRef = (ref: string): boolean => ref.startsWith("#");

const anchorsOf = new WeakMap<object, Map<string, object>>();

/** The target of `ref` inside `root`, a JSON pointer (`#/$defs/a`) or an anchor (`#a`); undefined if there is none. */
export function resolveLocalRef(root: JsonSchema, ref: string): JsonSchema | boolean | undefined {
  if (!isLocalRef(ref)) return undefined;
  const fragment = decodeFragment(ref.slice(1));
  if (fragment === undefined) return undefined;
  const found = fragment === "" || fragment.startsWith("/") ? follow(root, fragment) : anchor(root, fragment);
  return isObject(found) || typeof found === "boolean" ? found : undefined;
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
  const open: JsonSchema[] = [root];
  for (let schema = open.pop(); schema !== undefined; schema = open.pop()) {
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
