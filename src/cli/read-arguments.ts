/** Parses tool arguments: `key=value`, typed by the tool's schema, and `key:=json`. */

import { isObject, type JsonSchema } from "../schema/json-schema.js";
import { resolveLocalRef } from "../schema/local-ref.js";
import { parseJson } from "../util/json.js";
import { CliError } from "./cli-error.js";

interface Typed {
  readonly key: string;
  readonly text: string;
  readonly isJson: boolean;
}

/**
 * Parses words such as `city=Oslo` and `days:=3`. A value becomes a number, a boolean or an enum value only if the schema
 * allows no string. Otherwise it stays a string. A repeated key becomes an array.
 *
 * @throws CliError `USAGE`
 * @example
 * ```ts
 * readArguments(["city=Oslo", "days=3"], { properties: { city: { type: "string" }, days: { type: "integer" } } });
 * // { city: "Oslo", days: 3 }
 * ```
 */
export function readArguments(
  words: readonly string[],
  schema: JsonSchema,
  base: Readonly<Record<string, unknown>> = {},
): Record<string, unknown> {
  const typed = words.map(readWord);
  const properties = isObject(schema["properties"]) ? schema["properties"] : {};
  const keys = [...new Set(typed.map(({ key }) => key))];
  const entries = keys.map((key): [string, unknown] => {
    const own = Object.hasOwn(properties, key) ? properties[key] : undefined;
    return [
      key,
      readValue(
        typed.filter((word) => word.key === key),
        own,
        schema,
      ),
    ];
  });
  return Object.fromEntries([...Object.entries(base), ...entries]);
}

function readWord(word: string): Typed {
  const mark = word.indexOf("=");
  const isJson = word[mark - 1] === ":";
  const key = word.slice(0, isJson ? mark - 1 : mark);
  if (mark < 0 || key === "")
    throw new CliError({
      message: `${JSON.stringify(word)} is not an argument; write key=value or key:=json`,
      next: "toolport call --help",
    });
  return { key, text: word.slice(mark + 1), isJson };
}

function readValue(typed: readonly Typed[], schema: unknown, root: JsonSchema): unknown {
  const values = typed.map(({ key, text, isJson }) => {
    if (isJson) return requireJson(text, key);
    const item = typed.length > 1 || isList(schema, root) ? itemsOf(schema, root) : undefined;
    return item === undefined ? toType(text, schema, root) : toType(text, item, root);
  });
  const [first] = values;
  if (values.length > 1) return values;
  const isText = !typed[0]!.isJson;
  if (isText && isList(schema, root)) {
    // `tags=["a","b"]` is the array itself, `tags=a` an array with one element.
    const parsed = parseJson(typed[0]!.text);
    return Array.isArray(parsed) ? parsed : [first];
  }
  return first;
}

function requireJson(text: string, key: string): unknown {
  const value = parseJson(text);
  if (value !== undefined) return value;
  throw new CliError({
    message: `${key}:= requires JSON, and ${JSON.stringify(text)} is not JSON; write ${key}=… for a string`,
    next: "toolport call --help",
  });
}

/** Converts the text to the type that the schema allows. */
function toType(text: string, schema: unknown, root: JsonSchema): unknown {
  const known = valuesOf(schema, root);
  if (known !== undefined) {
    const fitting = known.filter((value) => String(value) === text);
    return fitting.length === 1 ? fitting[0] : text;
  }
  const types = typesOf(schema, root);
  if (types.has("string") || types.size === 0) return text;
  const value = parseJson(text);
  return value !== undefined && types.has(typeOf(value)) ? value : text;
}

const typeOf = (value: unknown): string => {
  if (value === null) return "null";
  if (Array.isArray(value)) return "array";
  return typeof value;
};

const resolved = (schema: unknown, root: JsonSchema): Record<string, unknown> => {
  let current = schema;
  for (let steps = 0; steps < 16 && isObject(current) && typeof current["$ref"] === "string"; steps += 1)
    current = resolveLocalRef(root, current["$ref"]);
  return isObject(current) ? current : {};
};

/** All types that a schema allows, with `integer` as `number`. Empty if the schema does not say. */
function typesOf(schema: unknown, root: JsonSchema, depth = 0): Set<string> {
  const own = resolved(schema, root);
  if (depth > 8) return new Set();
  const branches = [own["anyOf"], own["oneOf"]].filter(Array.isArray).flat() as unknown[];
  if (branches.length > 0) {
    const inner = branches.map((branch) => typesOf(branch, root, depth + 1));
    return inner.some(({ size }) => size === 0) ? new Set() : new Set(inner.flatMap((types) => [...types]));
  }
  const type = own["type"];
  const listed = Array.isArray(type) ? type : type === undefined ? [] : [type];
  return new Set(listed.map((name) => (name === "integer" ? "number" : String(name))));
}

/** The values of `enum` or `const`. */
function valuesOf(schema: unknown, root: JsonSchema): readonly unknown[] | undefined {
  const own = resolved(schema, root);
  if (Array.isArray(own["enum"])) return own["enum"];
  return Object.hasOwn(own, "const") ? [own["const"]] : undefined;
}

function isList(schema: unknown, root: JsonSchema): boolean {
  const types = typesOf(schema, root);
  types.delete("null");
  return types.size === 1 && types.has("array");
}

const itemsOf = (schema: unknown, root: JsonSchema): unknown => {
  const own = resolved(schema, root);
  if (own["items"] !== undefined) return own["items"];
  const branches = [own["anyOf"], own["oneOf"]].filter(Array.isArray).flat() as unknown[];
  return branches.map((branch) => resolved(branch, root)["items"]).find((items) => items !== undefined) ?? {};
};
