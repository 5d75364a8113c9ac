/**
 * Accepts values of simple schemas without the validator: objects with members of plain types, as most tools have them.
 *
 * It only answers "this is valid" or "ask the validator", which finds and describes problems. So a
 * keyword that is not listed here only disables the shortcut.
 */
import { isObject, type JsonSchema } from "./json-schema.js";

/** True: valid. False: unknown. */
export type Acceptance = (value: unknown) => boolean;

/** Keywords that do not constrain values. */
const ANNOTATIONS: ReadonlySet<string> = new Set([
  "$schema",
  "$comment",
  "title",
  "description",
  "default",
  "examples",
  "deprecated",
  "readOnly",
  "writeOnly",
]);

const MAX_DEPTH = 4;

const isText: Acceptance = (value) => typeof value === "string";
const isFlag: Acceptance = (value) => typeof value === "boolean";
/** NaN and Infinity are not numbers in JSON. */
const isNumber: Acceptance = (value) => typeof value === "number" && Number.isFinite(value);
const isNothing: Acceptance = (value) => value === null;
const isLeaf: Acceptance = (value) => isText(value) || isNumber(value) || isFlag(value) || isNothing(value);

const LEAVES: Readonly<Record<string, Acceptance>> = {
  string: isText,
  number: isNumber,
  integer: Number.isInteger,
  boolean: isFlag,
  null: isNothing,
};

const hasOnly = (schema: JsonSchema, keywords: readonly string[]): boolean =>
  Object.keys(schema).every((key) => keywords.includes(key) || ANNOTATIONS.has(key));

/** The shortcut for a schema; undefined if it is not simple. */
export function compilePlainSchema(schema: unknown, depth = 0): Acceptance | undefined {
  if (!isObject(schema) || depth > MAX_DEPTH) return undefined;
  const { type } = schema;
  if (type === "object") return compileObject(schema, depth);
  if (type === "array") return compileList(schema, depth);
  if (typeof type !== "string" || !Object.hasOwn(LEAVES, type)) return undefined;
  return compileLeaf(schema, LEAVES[type]!);
}

function compileLeaf(schema: JsonSchema, isType: Acceptance): Acceptance | undefined {
  const { enum: choices } = schema;
  if (!hasOnly(schema, ["type", "enum"])) return undefined;
  if (choices === undefined) return isType;
  if (!Array.isArray(choices) || !choices.every(isLeaf)) return undefined;
  const allowed = new Set<unknown>(choices);
  return (value) => isType(value) && allowed.has(value);
}

function compileList(schema: JsonSchema, depth: number): Acceptance | undefined {
  if (!hasOnly(schema, ["type", "items"])) return undefined;
  const accepts = schema["items"] === undefined ? isLeaf : compilePlainSchema(schema["items"], depth + 1);
  if (accepts === undefined) return undefined;
  return (value) => Array.isArray(value) && !("toJSON" in value) && everyItem(value, accepts);
}

/** Not by `every`, which skips holes: they are `null` on the wire. */
function everyItem(values: readonly unknown[], accepts: Acceptance): boolean {
  for (let index = 0; index < values.length; index += 1) if (!accepts(values[index])) return false;
  return true;
}

function compileObject(schema: JsonSchema, depth: number): Acceptance | undefined {
  const { properties = {}, required = [], additionalProperties = true } = schema;
  if (!hasOnly(schema, ["type", "properties", "required", "additionalProperties"])) return undefined;
  if (!isObject(properties) || typeof additionalProperties !== "boolean") return undefined;
  if (!Array.isArray(required) || !required.every(isText)) return undefined;
  const members = new Map<string, Acceptance>();
  for (const [name, member] of Object.entries(properties)) {
    const accepts = compilePlainSchema(member, depth + 1);
    if (accepts === undefined) return undefined;
    members.set(name, accepts);
  }
  const others: Acceptance = additionalProperties ? isLeaf : () => false;
  return (value) => {
    if (!isPlainObject(value)) return false;
    for (const key in value) if (!(members.get(key) ?? others)(value[key])) return false;
    for (const name of required) if (!Object.hasOwn(value, name as string)) return false;
    return true;
  };
}

/** An object that JSON writes unchanged. */
function isPlainObject(value: unknown): value is Record<string, unknown> {
  if (typeof value !== "object" || value === null) return false;
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === Object.prototype || prototype === null;
}
