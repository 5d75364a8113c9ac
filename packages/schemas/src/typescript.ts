/** Converts JSON Schema to a TypeScript type that is never narrower than the schema, and any text to unique, valid identifiers. */
import { type JsonSchema, visibleText } from "@toolport/base";
import { isRecord, resolveLocalRef } from "./json-schema.js";

/** One property of an object type. */
interface TypeMember {
  /** A valid property name, quoted where necessary. */
  readonly name: string;
  readonly isOptional: boolean;
  readonly type: string;
  /** As the server wrote it. */
  readonly description: unknown;
}

/** How types are laid out. */
export interface TypeStyle {
  /** @param isOpen other properties are allowed explicitly */
  object(members: readonly TypeMember[], isOpen: boolean): string;
  /** An object without known properties. */
  readonly anyObject: string;
  /** Between the members of a union. */
  readonly or: string;
  declare(name: string, type: string): string;
}

/** For files: one property a line, exact about `undefined`. */
const FILE_STYLE: TypeStyle = {
  anyObject: "Record<string, unknown>",
  or: " | ",
  declare: (name, type) => `export type ${name} = ${type};`,
  object(members, isOpen) {
    const lines = members.flatMap(({ name, isOptional, type, description }) => [
      ...comment(description),
      `${name}${isOptional ? "?" : ""}: ${isOptional ? unionOf([type, "undefined"], " | ") : type};`,
    ]);
    return `{\n${indent([...lines, ...(isOpen ? ["[key: string]: unknown;"] : [])].join("\n"))}\n}`;
  },
};

/** Deeper than any realistic schema. */
const MAX_DEPTH = 24;
/** Longer enums become their base type, because the compiler has limits. */
const MAX_VALUES = 200;

/**
 * Writes the parts of a schema as types.
 *
 * @param name prefix of the types that the schema declares
 * @param maxDepth objects and lists at this depth are written without what they contain. @default no limit
 */
export function createTypeWriter(
  root: JsonSchema,
  {
    name,
    names,
    style = FILE_STYLE,
    maxDepth = MAX_DEPTH,
  }: {
    name: string;
    names: NameSet;
    style?: TypeStyle;
    maxDepth?: number;
  },
) {
  const union = (types: readonly string[]): string => unionOf(types, style.or);
  const declarations: string[] = [];
  const named = new Map<string, string>();

  function refer(ref: string, depth: number): string {
    const known = named.get(ref);
    if (known !== undefined) return known;
    const target = resolveLocalRef(root, ref);
    if (target === undefined) return "unknown";
    const own = names.take(typeName(name, ref.split("/").at(-1) || "Self"));
    // Register the name first: the type may refer to itself.
    named.set(ref, own);
    declarations.push(style.declare(own, write(target, depth + 1)));
    return own;
  }

  function write(schema: unknown, depth: number): string {
    if (schema === false) return "never";
    if (!isRecord(schema) || depth > MAX_DEPTH) return "unknown";
    const all = [
      ...(typeof schema["$ref"] === "string" ? [refer(schema["$ref"], depth)] : []),
      ...(Array.isArray(schema["allOf"]) ? schema["allOf"].map((part) => write(part, depth + 1)) : []),
      ...["anyOf", "oneOf"].flatMap((key) => {
        const list = schema[key];
        return Array.isArray(list) ? [union(list.map((part) => write(part, depth + 1)))] : [];
      }),
      own(schema, depth),
    ];
    const type = intersection(all);
    return schema["nullable"] === true ? union([type, "null"]) : type;
  }

  /** The type of the schema's own keywords, without `$ref`, `allOf`, `anyOf` and `oneOf`. */
  function own(schema: Record<string, unknown>, depth: number): string {
    if (Object.hasOwn(schema, "const")) return valueType(schema["const"]);
    if (Array.isArray(schema["enum"]) && schema["enum"].length <= MAX_VALUES)
      return union(schema["enum"].map(valueType));
    const { type } = schema;
    if (Array.isArray(type)) return union(type.map((one) => ofType(one, schema, depth)));
    if (type !== undefined) return ofType(type, schema, depth);
    if (isRecord(schema["properties"])) return ofType("object", schema, depth);
    return "unknown";
  }

  function ofType(type: unknown, schema: Record<string, unknown>, depth: number): string {
    switch (type) {
      case "string":
      case "boolean":
      case "null":
        return type;
      case "number":
      case "integer":
        return "number";
      case "array":
        return depth < maxDepth ? listType(schema, depth) : "unknown[]";
      case "object":
        return depth < maxDepth ? objectType(schema, depth) : style.anyObject;
      default:
        return "unknown";
    }
  }

  function listType(schema: Record<string, unknown>, depth: number): string {
    const tuple = [schema["prefixItems"], schema["items"]].find(Array.isArray) as unknown[] | undefined;
    // A tuple type would be too narrow: schemas rarely state the number of items.
    const items =
      tuple === undefined
        ? write(schema["items"], depth + 1)
        : union([...tuple.map((item) => write(item, depth + 1)), "unknown"]);
    return /^\w+$/.test(items) ? `${items}[]` : `Array<${items}>`;
  }

  function objectType(schema: Record<string, unknown>, depth: number): string {
    const properties = Object.entries(isRecord(schema["properties"]) ? schema["properties"] : {});
    const required: unknown[] = Array.isArray(schema["required"]) ? schema["required"] : [];
    const more = schema["additionalProperties"];
    const isClosed = more === false && !isRecord(schema["patternProperties"]);
    if (properties.length === 0) {
      if (isClosed && required.length === 0) return "Record<string, never>";
      return isRecord(more) ? `Record<string, ${write(more, depth + 1)}>` : style.anyObject;
    }
    const members = properties.map(([key, value]) => ({
      name: propertyName(key),
      isOptional: !required.includes(key),
      type: write(value, depth + 1),
      description: isRecord(value) ? value["description"] : undefined,
    }));
    return style.object(members, more === true || isRecord(more));
  }

  return {
    /** The schema as a type expression. */
    write: (schema: unknown) => write(schema, 0),
    /** Declarations of types that `$ref` refers to. */
    declarations: declarations as readonly string[],
  };
}

const valueType = (value: unknown): string =>
  value === null || ["string", "boolean", "number"].includes(typeof value) ? literal(value) : "unknown";

function unionOf(types: readonly string[], or: string): string {
  const parts = [...new Set(types)].filter((type) => type !== "never");
  if (parts.includes("unknown")) return "unknown";
  return parts.length === 0 ? "never" : parts.map(inUnion).join(or);
}

/** Drops `unknown`, which does not narrow an intersection. */
function intersection(types: readonly string[]): string {
  const parts = [...new Set(types)].filter((type) => type !== "unknown");
  if (parts.length === 0) return "unknown";
  return parts.length === 1
    ? parts[0]!
    : parts.map((part) => (part.includes("|") ? `(${part})` : part)).join(" & ");
}

const inUnion = (type: string): string => (type.includes(" & ") ? `(${type})` : type);

export const indent = (text: string): string =>
  text
    .split("\n")
    .map((line) => (line === "" ? "" : `  ${line}`))
    .join("\n");

const MAX_LINES = 20;
const MAX_LENGTH = 160;

/** Lines of a TSDoc comment; none for empty text. Escapes `*\/`, so that the text cannot end the comment. */
export function comment(text: unknown): string[] {
  if (typeof text !== "string" || text.trim() === "") return [];
  const lines = visibleText(text)
    .trim()
    .split("\n")
    .map((line) => line.trimEnd().replaceAll("*/", "*\\/").slice(0, MAX_LENGTH));
  if (lines.length === 1) return [`/** ${lines[0]} */`];
  return ["/**", ...lines.slice(0, MAX_LINES).map((line) => ` * ${line}`.trimEnd()), " */"];
}

/** Words that cannot name a variable or a type. */
const RESERVED = new Set(
  (
    "break case catch class const continue debugger default delete do else enum export extends false finally for function " +
    "if import in instanceof new null return super switch this throw true try typeof var void while with yield let static " +
    "implements interface package private protected public await async of any unknown never object string number boolean " +
    "symbol bigint undefined constructor prototype"
  ).split(" "),
);

/** `listOpen-orders` → `list`, `Open`, `orders`. */
export const wordsOf = (text: string): string[] =>
  text
    .normalize("NFKD")
    .replace(/([a-z0-9])([A-Z])/g, "$1 $2")
    .split(/[^A-Za-z0-9]+/)
    .filter((word) => word !== "");

const capital = (word: string): string => `${word[0]!.toUpperCase()}${word.slice(1)}`;

const startingWell = (name: string): string => (/^[A-Za-z]/.test(name) ? name : `n${name}`);

/** `get-sum` → `GetSum`. */
export function typeName(...texts: readonly string[]): string {
  return startingWell(texts.flatMap(wordsOf).map(capital).join("")).replace(/^n(?=\d|$)/, "N");
}

/** `get-sum` → `getSum`. */
export function memberName(text: string): string {
  const [first = "", ...rest] = wordsOf(text);
  const start =
    first === first.toUpperCase()
      ? first.toLowerCase()
      : `${first.slice(0, 1).toLowerCase()}${first.slice(1)}`;
  const name = startingWell([start, ...rest.map(capital)].join(""));
  return RESERVED.has(name) ? `${name}_` : name;
}

/** Returns each name only once; adds a number to a name that is taken. */
export class NameSet {
  readonly #taken = new Set<string>();

  constructor(taken: readonly string[] = []) {
    for (const name of taken) this.#taken.add(name);
  }

  take(wanted: string): string {
    for (let count = 1; ; count += 1) {
      const name = count === 1 ? wanted : `${wanted}${count}`;
      if (this.#taken.has(name)) continue;
      this.#taken.add(name);
      return name;
    }
  }
}

/** A property name for a type, quoted where necessary. */
export const propertyName = (name: string): string =>
  /^[A-Za-z_$][A-Za-z0-9_$]*$/.test(name) ? name : literal(name);

/** A value as an ASCII-only literal. */
export const literal = (value: unknown): string =>
  JSON.stringify(value).replace(
    /[\u007f-\uffff]/g,
    (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );
