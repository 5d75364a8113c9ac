/** Decides whether a tool's schema is one that Toolport can handle at all, in time that does not depend on how bad it is. */
import { draftOf } from "./dialect.js";
import { isObject, type KeywordKind, keywordKind } from "./json-schema.js";
import { isLocalRef } from "./local-ref.js";

const MAX_DEPTH = 64;
const MAX_SUBSCHEMAS = 5_000;
const MAX_SIZE = 1024 * 1024;
const MAX_ENUM = 10_000;
const MAX_QUOTED = 80;
const TOO_LARGE = "is larger than 1 MiB";

/** What has been seen of one schema so far. */
interface Seen {
  schemas: number;
  size: number;
}

const quote = (text: string): string =>
  JSON.stringify(text.length > MAX_QUOTED ? `${text.slice(0, MAX_QUOTED)}…` : text);

/** Why a tool with this schema must be withheld; undefined: it is fine. */
export function checkToolSchema(schema: unknown, role: "input" | "output"): string | undefined {
  const name = `${role}Schema`;
  if (!isObject(schema)) return `${name} is not an object`;
  if (draftOf(schema) === undefined)
    return `${name} is written in a dialect that is not known ($schema ${quote(String(schema["$schema"]))})`;
  const type = schema["type"];
  if (role === "input" && type !== undefined && type !== "object")
    return `${name} does not describe an object (type ${quote(String(type))})`;
  const problem = visit(schema, "schema", 1, { schemas: 0, size: 0 });
  return problem === undefined ? undefined : `${name} ${problem}`;
}

/**
 * Looks at everything once. Every tool of every server comes through here, so nothing is made on the way: no pairs, no
 * lists of what is still to do. It goes no deeper than the limit, so it cannot overflow the stack.
 */
function visit(value: object, kind: KeywordKind, depth: number, seen: Seen): string | undefined {
  if (depth > MAX_DEPTH) return `is nested deeper than ${MAX_DEPTH} levels`;
  if (Array.isArray(value)) return visitList(value, kind, depth, seen);
  const isSchema = kind === "schema";
  if (isSchema && ++seen.schemas > MAX_SUBSCHEMAS) return `has more than ${MAX_SUBSCHEMAS} subschemas`;
  for (const key in value) {
    const child = (value as Record<string, unknown>)[key];
    seen.size += key.length + 3 + sizeOf(child);
    if (seen.size > MAX_SIZE) return TOO_LARGE;
    let problem = isSchema ? checkKeyword(key, child) : undefined;
    if (problem === undefined && typeof child === "object" && child !== null) {
      const below = isSchema ? keywordKind(key, child) : kindBelow(kind);
      // Lists and maps of schemas are part of their keyword, not a level of their own.
      const isLevel = !isSchema || below === "schema" || below === "data";
      problem = visit(child, below, isLevel ? depth + 1 : depth, seen);
    }
    if (problem !== undefined) return problem;
  }
  return undefined;
}

function visitList(
  values: readonly unknown[],
  kind: KeywordKind,
  depth: number,
  seen: Seen,
): string | undefined {
  const below = kindBelow(kind);
  for (const value of values) {
    seen.size += sizeOf(value);
    if (seen.size > MAX_SIZE) return TOO_LARGE;
    if (typeof value !== "object" || value === null) continue;
    const problem = visit(value, below, depth + 1, seen);
    if (problem !== undefined) return problem;
  }
  return undefined;
}

const kindBelow = (kind: KeywordKind): KeywordKind => (kind === "list" || kind === "map" ? "schema" : "data");

/** About as many bytes as it takes in JSON, without what is inside. */
const sizeOf = (value: unknown): number => (typeof value === "string" ? value.length + 3 : 4);

function checkKeyword(keyword: string, value: unknown): string | undefined {
  switch (keyword) {
    case "$ref":
      return typeof value === "string" && !isLocalRef(value)
        ? `refers to another document (${quote(withoutQuery(value))})`
        : undefined;
    case "enum":
      return Array.isArray(value) && value.length > MAX_ENUM
        ? `has an enum of ${value.length} entries, more than ${MAX_ENUM}`
        : undefined;
    case "pattern":
      return typeof value === "string" ? checkPattern(value) : undefined;
    case "patternProperties":
      return isObject(value)
        ? Object.keys(value)
            .map(checkPattern)
            .find((problem) => problem)
        : undefined;
    default:
      return undefined;
  }
}

function checkPattern(pattern: string): string | undefined {
  return isRegularExpression(pattern)
    ? undefined
    : `has a pattern that is not a regular expression (${quote(pattern)})`;
}

const withoutQuery = (ref: string): string => ref.split("?", 1)[0]!;

/** With the flag that the validator uses. */
function isRegularExpression(pattern: string): boolean {
  try {
    new RegExp(pattern, "u");
    return true;
  } catch {
    return false;
  }
}
