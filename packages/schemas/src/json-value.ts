/** Converts a value to the form in which JSON sends it. */
import { isPlainObject } from "@toolport/base";

const MAX_DEPTH = 500;

/** The value as JSON, or why it cannot be converted. */
type JsonValue = { readonly value: unknown } | { readonly problem: string };

/** Returns the same value if it is JSON already, otherwise a copy. Never changes its argument. */
export function toJsonValue(value: unknown): JsonValue {
  const form = formOf(value, 0);
  if (form === "json") return { value };
  if (form === "deep") return { problem: `is nested deeper than ${MAX_DEPTH} levels` };
  try {
    const text = JSON.stringify(value) as string | undefined;
    return text === undefined ? { problem: "is missing" } : { value: JSON.parse(text) };
  } catch {
    return { problem: "cannot be written as JSON" };
  }
}

function formOf(value: unknown, depth: number): "json" | "other" | "deep" {
  switch (typeof value) {
    case "string":
    case "boolean":
      return "json";
    case "number":
      return Number.isFinite(value) ? "json" : "other";
    case "object":
      break;
    default:
      return "other";
  }
  if (value === null) return "json";
  // Circular values end here too.
  if (depth >= MAX_DEPTH) return "deep";
  if (!Array.isArray(value)) {
    if (!isPlainObject(value)) return "other";
    if (typeof value["toJSON"] === "function") return "other";
  }
  let form: "json" | "other" = "json";
  // Not `Object.values` for lists: a hole is `null` on the wire.
  for (const item of Array.isArray(value) ? value : Object.values(value)) {
    const inner = formOf(item, depth + 1);
    if (inner === "deep") return "deep";
    if (inner === "other") form = "other";
  }
  return form;
}

/** Sets a property as `JSON.parse` does: assigning to `__proto__` would change the prototype. */
export function setKey(object: Record<string, unknown>, key: string, value: unknown): void {
  if (key !== "__proto__") object[key] = value;
  else Object.defineProperty(object, key, { value, enumerable: true, configurable: true, writable: true });
}

/** Whether two JSON values are equal, regardless of the order of their properties. */
export function isSameJson(a: unknown, b: unknown): boolean {
  if (a === b) return true;
  if (typeof a !== "object" || typeof b !== "object" || a === null || b === null) return false;
  if (Array.isArray(a) !== Array.isArray(b)) return false;
  const [left, right] = [a as Record<string, unknown>, b as Record<string, unknown>];
  const keys = Object.keys(left);
  return (
    keys.length === Object.keys(right).length &&
    keys.every((key) => Object.hasOwn(right, key) && isSameJson(left[key], right[key]))
  );
}
