/** Finds a part of a value by the validator's location and writes its path for messages. */
import { unescapeToken } from "./local-ref.js";

const MAX_PATH = 300;
const NAME = /^[A-Za-z_$][\w$]*$/;

/** The keys of a location: `#/a/b%20c` is a, then `b c`. */
export function keysOf(location: string): string[] {
  return location
    .split("/")
    .slice(1)
    .map((token) => unescapeToken(decodeURIComponent(token)));
}

/** The part of `value` at a location, and its path. */
export function lookUp(value: unknown, location: string): { path: string; part: unknown } {
  let path = "$";
  let part = value;
  for (const key of keysOf(location)) {
    path += Array.isArray(part) ? `[${key}]` : propertyPath(key);
    part =
      typeof part === "object" && part !== null && Object.hasOwn(part, key)
        ? (part as Record<string, unknown>)[key]
        : undefined;
  }
  return { path: shorten(path), part };
}

/** How a property is added to the path of its object. */
export const propertyPath = (key: string): string =>
  NAME.test(key) ? `.${key}` : `[${JSON.stringify(key)}]`;

export const shorten = (path: string): string =>
  path.length > MAX_PATH ? `${path.slice(0, MAX_PATH)}…` : path;
