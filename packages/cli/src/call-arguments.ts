/** Parses the arguments of a call: `key=value` and `--key value`, typed by the tool's schema, `key:=json`, and the form of a function. */
import { isRecord, type JsonSchema, parseJson, suggest } from "@toolport/base";
import { resolveLocalRef } from "@toolport/schemas/internal";
import type { CommandContext, NamedArgument } from "./command.js";
import { type CliError, usageError } from "./errors.js";
import { type LooseValue, readLooseValues } from "./loose-values.js";

/** The JSON object of an option, or of stdin for `-`; undefined if the option was not given. Throws `wrong` if it is no object. */
export async function readObject(
  context: CommandContext,
  option: string,
  wrong: CliError,
): Promise<Record<string, unknown> | undefined> {
  const text = context.text(option);
  if (text === undefined) return undefined;
  const value = parseJson(text === "-" ? await context.readAllInput() : text);
  if (isRecord(value)) return value;
  throw wrong;
}

/** The arguments of a call in all forms. Later forms override earlier ones: values, then `named`, then words. */
export interface GivenArguments {
  /** `key=value`, `key:value` and `key:=json`. */
  readonly words: readonly string[];
  /** `--key value`. @default none */
  readonly named?: readonly NamedArgument[];
  /** Values by name. @default none */
  readonly values?: Readonly<Record<string, unknown>>;
  /** Values in the order of the schema's properties. @default none */
  readonly positional?: readonly unknown[];
}

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
 * const schema = { properties: { city: { type: "string" }, days: { type: "integer" } } };
 * readArguments({ words: ["city=Oslo", "days=3"] }, schema); // { city: "Oslo", days: 3 }
 * ```
 */
export function readArguments(
  { words, named = [], values = {}, positional = [] }: GivenArguments,
  schema: JsonSchema,
): Record<string, unknown> {
  const properties = propertiesOf(schema);
  const flags = readNamed(named, schema);
  const typed = [...flags.typed, ...[...flags.words, ...words].map(readWord)];
  const keys = [...new Set(typed.map(({ key }) => key))];
  const entries = keys.map((key): [string, unknown] => {
    const own = Object.hasOwn(properties, key) ? properties[key] : undefined;
    const given = typed.filter((word) => word.key === key);
    return [key, readValue(given, own, schema)];
  });
  return Object.fromEntries([
    ...byPosition(positional, Object.keys(properties)),
    ...Object.entries(values),
    ...entries,
  ]);
}

function byPosition(positional: readonly unknown[], names: readonly string[]): [string, unknown][] {
  if (positional.length > names.length)
    throw usageError(
      "call",
      `There are ${positional.length} values without a name, but the tool has ${names.length === 0 ? "no named arguments" : `only ${names.join(", ")}`}`,
    );
  return positional.map((value, index) => [names[index]!, value]);
}

/** `--dry-run` stands for `dry-run`, `dry_run` or `dryRun`, and `--no-color` for `color` with the value false. */
function readNamed(named: readonly NamedArgument[], schema: JsonSchema): { typed: Typed[]; words: string[] } {
  const properties = propertiesOf(schema);
  const names = Object.keys(properties);
  const find = (name: string) =>
    names.find((own) => own === name) ?? names.find((own) => folded(own) === folded(name));
  const isFlag = (key: string) => [...typesOf(properties[key], schema)].join() === "boolean";
  const typed: Typed[] = [];
  const words: string[] = [];
  for (const { name, text, isDetached } of named) {
    const negated = /^no-(.+)$/.exec(name)?.[1];
    const key = find(name);
    const off = key === undefined && negated !== undefined ? find(negated) : undefined;
    if (off !== undefined && isFlag(off) && (text === undefined || isDetached)) {
      typed.push({ key: off, text: "false", isJson: true });
      if (text !== undefined) words.push(text);
    } else if (key === undefined && names.length > 0 && schema["additionalProperties"] !== true) {
      throw unknownArgument(name, names);
    } else if (key !== undefined && isFlag(key) && isDetached && !["true", "false"].includes(text!)) {
      typed.push({ key, text: "true", isJson: true });
      words.push(text!);
    } else typed.push({ key: key ?? name, text: text ?? "true", isJson: text === undefined });
  }
  return { typed, words };
}

export const propertiesOf = (schema: JsonSchema): Record<string, unknown> =>
  isRecord(schema["properties"]) ? schema["properties"] : {};

const folded = (name: string): string => name.replace(/[-_]/g, "").toLowerCase();

function unknownArgument(name: string, names: readonly string[]): CliError {
  const [close] = suggest(name, names, 1);
  const hint = close === undefined ? `The arguments are ${names.join(", ")}` : `Did you mean --${close}?`;
  return usageError("call", `There is no option or argument --${name}. ${hint}`);
}

function readWord(word: string): Typed {
  // `city:Oslo` means `city=Oslo`. A URL is no argument.
  const mark = word.includes("=") ? word.indexOf("=") : word.search(/:(?!\/\/)/);
  const isJson = word[mark] === "=" && word[mark - 1] === ":";
  const key = word.slice(0, isJson ? mark - 1 : mark);
  if (mark < 0 || key === "")
    throw usageError("call", `${JSON.stringify(word)} is not an argument; write key=value or key:=json`);
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
  const what = `${key}:= requires JSON, and ${JSON.stringify(text)} is not JSON; write ${key}=… for a string`;
  throw usageError("call", what);
}

/** Converts the text to the type that the schema allows. */
function toType(text: string, schema: unknown, root: JsonSchema): unknown {
  const values = valuesOf(schema, root);
  if (values !== undefined) {
    const fitting = values.filter((value) => String(value) === text);
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

/** Follows local references. A description beside the reference stays. */
export function resolved(schema: unknown, root: JsonSchema): Record<string, unknown> {
  let current = schema;
  for (let steps = 0; steps < 16 && isRecord(current) && typeof current["$ref"] === "string"; steps += 1) {
    const { $ref, ...beside } = current;
    const target = resolveLocalRef(root, $ref as string);
    current = isRecord(target) ? { ...target, ...beside } : beside;
  }
  return isRecord(current) ? current : {};
}

const branchesOf = ({ anyOf, oneOf }: JsonSchema): unknown[] => [anyOf, oneOf].filter(Array.isArray).flat();

/** All types that a schema allows, with `integer` as `number`. Empty if the schema does not say. */
function typesOf(schema: unknown, root: JsonSchema, depth = 0): Set<string> {
  const own = resolved(schema, root);
  if (depth > 8) return new Set();
  const branches = branchesOf(own);
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
  const branches = branchesOf(own);
  return branches.map((branch) => resolved(branch, root)["items"]).find((items) => items !== undefined) ?? {};
};

function readCallValues(text: string): readonly LooseValue[] {
  try {
    return readLooseValues(text);
  } catch (error) {
    const what = (error as SyntaxError).message;
    throw usageError("call", `The arguments in parentheses cannot be read: ${what}`);
  }
}

/** `words` are named values without quotes, as `key=text`: the schema of the tool decides about their type. */
export interface CallExpression extends Required<Omit<GivenArguments, "named">> {
  /** `server.tool`, as before the parenthesis. */
  readonly selector: string;
}

/**
 * @returns undefined if the text is no call in this form
 * @throws CliError `USAGE` if the part in parentheses is not valid
 * @example
 * ```ts
 * parseCallExpression("files.read(path: 'a b', lines: [1, 2])"); // { values: { path: "a b", lines: [1, 2] }, … }
 * ```
 */
export function parseCallExpression(text: string): CallExpression | undefined {
  const [, selector, inner] = /^([^\s(]+)\((.*)\)\s*$/s.exec(text) ?? [];
  if (selector === undefined || inner === undefined) return undefined;
  const values: [string, unknown][] = [];
  const positional: unknown[] = [];
  const words: string[] = [];
  for (const { name, value, bareWord } of readCallValues(inner)) {
    if (name === undefined) positional.push(value);
    else if (bareWord !== undefined) words.push(`${name}=${bareWord}`);
    else values.push([name, value]);
  }
  // A single object without a name contains all arguments.
  const [only] = positional;
  if (positional.length === 1 && values.length + words.length === 0 && isRecord(only))
    return { selector, values: only, positional: [], words };
  return { selector, values: Object.fromEntries(values), positional, words };
}
