/** Decides whether Toolport can handle the schema of a tool, in bounded time, and lists what of it cannot be checked. */
import {
  baseOf,
  type Draft,
  draftOf,
  hasMeaning,
  isObject,
  isType,
  type JsonSchema,
  type KeywordKind,
  keywordKind,
  resolveRef,
} from "./json-schema.js";
import { readPattern } from "./read-pattern.js";

const MAX_DEPTH = 64;
const MAX_SUBSCHEMAS = 5_000;
const MAX_SIZE = 1024 * 1024;
const MAX_ENUM = 10_000;
const MAX_QUOTED = 80;
/** Further parts that cannot be checked are not listed. */
const MAX_UNCHECKED = 20;
const TOO_LARGE = "is larger than 1 MiB";

/** A key to look for during the walk, which saves a second walk through the schema. */
export interface WatchedKey {
  readonly key: string;
  isThere: boolean;
}

/** What was found about a schema. */
export interface SchemaFindings {
  /** Why no client can use the schema; undefined if it is usable. */
  readonly problem?: string | undefined;
  /**
   * What cannot be checked, and why: patterns that JavaScript does not know, references that lead nowhere, malformed
   * keywords, an unknown dialect. Values are accepted without these checks.
   */
  readonly unchecked: readonly string[];
}

interface Unchecked {
  readonly what: string;
  /** A JSON pointer to the keyword. */
  path: string;
}

/** Totals of one schema so far. */
interface Seen {
  schemas: number;
  size: number;
  base: JsonSchema;
  readonly draft: Draft | undefined;
  readonly root: JsonSchema;
  readonly unchecked: Unchecked[];
  readonly watched: WatchedKey | undefined;
}

const quote = (text: string): string =>
  JSON.stringify(text.length > MAX_QUOTED ? `${text.slice(0, MAX_QUOTED)}…` : text);

const NOTHING: readonly string[] = Object.freeze([]);

const MAX_SHOWN = 5;

/** The first few of the parts that cannot be checked, in words. */
export function sayUnchecked(unchecked: readonly string[]): string {
  const more = unchecked.length - MAX_SHOWN;
  return `${unchecked.slice(0, MAX_SHOWN).join("; ")}${more > 0 ? ` and ${more} more` : ""}`;
}

/** The schemas of a tool. */
interface ToolSchemas {
  readonly inputSchema?: unknown;
  readonly outputSchema?: unknown;
}

/** Checks both schemas of a tool. An `outputSchema` that is not an object is ignored. */
export function checkToolSchemas(
  { inputSchema, outputSchema }: ToolSchemas,
  watched?: WatchedKey,
): SchemaFindings {
  const input = checkToolSchema(inputSchema, "input", watched);
  if (input.problem !== undefined || outputSchema === undefined || outputSchema === null) return input;
  if (!isObject(outputSchema))
    return { unchecked: [...input.unchecked, "outputSchema, which is not an object"] };
  const output = checkToolSchema(outputSchema, "output");
  if (output.problem !== undefined) return output;
  if (output.unchecked.length === 0) return input;
  return {
    unchecked: [...input.unchecked, ...output.unchecked.map((what) => `${what} of the outputSchema`)],
  };
}

/** Checks the limits of a schema, and collects what cannot be checked. */
export function checkToolSchema(
  schema: unknown,
  role: "input" | "output",
  watched?: WatchedKey,
): SchemaFindings {
  if (!isObject(schema)) return { problem: `${role}Schema is not an object`, unchecked: NOTHING };
  const draft = draftOf(schema);
  const seen: Seen = { schemas: 0, size: 0, base: schema, root: schema, draft, unchecked: [], watched };
  const problem = (role === "input" ? rootProblem(schema) : undefined) ?? visit(schema, "schema", 1, seen);
  if (problem !== undefined) return { problem: `${role}Schema ${problem}`, unchecked: NOTHING };
  if (draft === undefined)
    seen.unchecked.push({
      what: `the dialect ${quoteValue(schema["$schema"])}, read as 2020-12,`,
      path: "/$schema",
    });
  if (seen.unchecked.length === 0) return { unchecked: NOTHING };
  return { unchecked: seen.unchecked.map(({ what, path }) => `${what} at ${path}`) };
}

/** Arguments are an object. A type that does not exist says nothing. */
function rootProblem({ type }: JsonSchema): string | undefined {
  const isOther = type !== undefined && isType(type) && ![type].flat().includes("object");
  return isOther ? `does not describe an object (type ${quote(String(type))})` : undefined;
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
      const before = seen.unchecked.length;
      const problem = visit(item, below, depth + 1, seen);
      if (problem !== undefined) return problem;
      prefixPaths(seen, before, index);
    }
    return undefined;
  }
  const isSchema = kind === "schema";
  if (isSchema && ++seen.schemas > MAX_SUBSCHEMAS) return `has more than ${MAX_SUBSCHEMAS} subschemas`;
  const outer = seen.base;
  if (isSchema) seen.base = baseOf(value as JsonSchema, outer, seen.draft);
  for (const key in value) {
    const child = (value as Record<string, unknown>)[key];
    if (key === seen.watched?.key) seen.watched.isThere = true;
    let problem: string | undefined;
    const before = seen.unchecked.length;
    // Approximately its size as JSON.
    seen.size += typeof child === "string" ? key.length + child.length + 6 : key.length + 7;
    if (seen.size > MAX_SIZE) return TOO_LARGE;
    if (isSchema) noteUnchecked(key, child, seen);
    if (typeof child === "object" && child !== null) {
      if (isSchema && key === "enum" && Array.isArray(child) && child.length > MAX_ENUM)
        return `has an enum of ${child.length} entries, more than ${MAX_ENUM}`;
      const inside = isSchema ? keywordKind(key, child) : below;
      // Lists and maps of schemas belong to their keyword and do not count as a level.
      const isPart = isSchema && (inside === "list" || inside === "map");
      problem = visit(child, inside, isPart ? depth : depth + 1, seen);
    }
    if (problem !== undefined) return problem;
    prefixPaths(seen, before, key);
  }
  seen.base = outer;
  return undefined;
}

/** Paths are written on the way back, because hardly any schema needs one. */
function prefixPaths({ unchecked }: Seen, from: number, key: string | number): void {
  for (let index = from; index < unchecked.length; index += 1)
    unchecked[index]!.path =
      `/${String(key).replaceAll("~", "~0").replaceAll("/", "~1")}${unchecked[index]!.path}`;
}

/** Notes a keyword that cannot be checked. */
function noteUnchecked(keyword: string, value: unknown, seen: Seen): void {
  const note = (what: string) => {
    if (seen.unchecked.length < MAX_UNCHECKED) seen.unchecked.push({ what, path: "" });
  };
  if (!hasMeaning(keyword, value)) note(`${keyword} ${quoteValue(value)}`);
  else if (keyword === "pattern" && readPattern(value as string) === undefined)
    note(`the pattern ${quote(value as string)}`);
  else if (REFERENCES.has(keyword) && resolveRef(value as string, seen) === undefined)
    note(`the reference ${quote(withoutQuery(value as string))}`);
  else if (keyword === "patternProperties")
    for (const pattern in value as object)
      if (readPattern(pattern) === undefined) note(`the pattern ${quote(pattern)} of names`);
}

const REFERENCES = new Set(["$ref", "$dynamicRef", "$recursiveRef"]);

const withoutQuery = (ref: string): string => ref.split("?", 1)[0]!;

/** The kind of a value that is an object, because it may be large. */
const quoteValue = (value: unknown): string => {
  if (typeof value !== "object" || value === null) return quote(String(value));
  return Array.isArray(value) ? "(a list)" : "(an object)";
};
