/** Decides whether Toolport can handle the schema of a tool, in bounded time. */
import { draftOf, isObject, type JsonSchema, type KeywordKind, keywordKind } from "./json-schema.js";
import { isLocalRef } from "./local-ref.js";

const MAX_DEPTH = 64;
const MAX_SUBSCHEMAS = 5_000;
const MAX_SIZE = 1024 * 1024;
const MAX_ENUM = 10_000;
const MAX_QUOTED = 80;
const TOO_LARGE = "is larger than 1 MiB";

/** A key to look for during the walk, which saves a second walk through the schema. */
export interface WatchedKey {
  readonly key: string;
  isThere: boolean;
}

/** Totals of one schema so far. */
interface Seen {
  schemas: number;
  size: number;
  readonly watched: WatchedKey | undefined;
}

const quote = (text: string): string =>
  JSON.stringify(text.length > MAX_QUOTED ? `${text.slice(0, MAX_QUOTED)}…` : text);

/** Why a tool with this schema must be withheld; undefined if the schema is usable. */
export function checkToolSchema(
  schema: unknown,
  role: "input" | "output",
  watched?: WatchedKey,
): string | undefined {
  const problem = isObject(schema)
    ? (rootProblem(schema, role) ?? visit(schema, "schema", 1, { schemas: 0, size: 0, watched }))
    : "is not an object";
  return problem === undefined ? undefined : `${role}Schema ${problem}`;
}

function rootProblem(schema: JsonSchema, role: "input" | "output"): string | undefined {
  const { $schema, type } = schema;
  if ($schema !== undefined && draftOf(schema) === undefined)
    return `is written in an unknown dialect ($schema ${quote(String($schema))})`;
  return role === "output" || type === undefined || type === "object"
    ? undefined
    : `does not describe an object (type ${quote(String(type))})`;
}

/**
 * Visits every value once. It runs for every tool of every server, so it allocates no pairs and no
 * queue. The depth limit prevents a stack overflow.
 *
 * It is one function on purpose: smaller functions would be inlined into each other and into
 * all callers, and compiling that takes longer than visiting a thousand schemas.
 */
function visit(value: object, kind: KeywordKind, depth: number, seen: Seen): string | undefined {
  if (depth > MAX_DEPTH) return `is nested deeper than ${MAX_DEPTH} levels`;
  const below: KeywordKind = kind === "list" || kind === "map" ? "schema" : "data";
  if (Array.isArray(value)) {
    for (let index = 0; index < value.length; index += 1) {
      const item: unknown = value[index];
      seen.size += typeof item === "string" ? item.length + 3 : 4;
      if (seen.size > MAX_SIZE) return TOO_LARGE;
      if (typeof item !== "object" || item === null) continue;
      const problem = visit(item, below, depth + 1, seen);
      if (problem !== undefined) return problem;
    }
    return undefined;
  }
  const isSchema = kind === "schema";
  if (isSchema && ++seen.schemas > MAX_SUBSCHEMAS) return `has more than ${MAX_SUBSCHEMAS} subschemas`;
  for (const key in value) {
    const child = (value as Record<string, unknown>)[key];
    if (key === seen.watched?.key) seen.watched.isThere = true;
    let problem: string | undefined;
    if (typeof child === "string") {
      // Approximately its size as JSON.
      seen.size += key.length + child.length + 6;
      if (isSchema && (key === "pattern" || key === "$ref")) problem = checkText(key, child);
    } else {
      seen.size += key.length + 7;
      if (typeof child === "object" && child !== null) {
        if (isSchema && (key === "enum" || key === "patternProperties")) problem = checkParts(key, child);
        const inside = isSchema ? keywordKind(key, child) : below;
        // Lists and maps of schemas belong to their keyword and do not count as a level.
        const isPart = isSchema && (inside === "list" || inside === "map");
        if (seen.size <= MAX_SIZE) problem ??= visit(child, inside, isPart ? depth : depth + 1, seen);
      }
    }
    if (seen.size > MAX_SIZE) return TOO_LARGE;
    if (problem !== undefined) return problem;
  }
  return undefined;
}

/** A keyword whose value is text. */
function checkText(keyword: string, text: string): string | undefined {
  if (keyword === "pattern") return checkPattern(text);
  return isLocalRef(text) ? undefined : `refers to another document (${quote(withoutQuery(text))})`;
}

/** A keyword whose value is a list or an object. */
function checkParts(keyword: string, parts: object): string | undefined {
  if (keyword === "enum")
    return Array.isArray(parts) && parts.length > MAX_ENUM
      ? `has an enum of ${parts.length} entries, more than ${MAX_ENUM}`
      : undefined;
  if (Array.isArray(parts)) return undefined;
  return Object.keys(parts)
    .map(checkPattern)
    .find((problem) => problem);
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
