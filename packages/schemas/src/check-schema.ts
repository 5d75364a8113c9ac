/** Decides whether Toolport can handle the schema of a tool, in bounded time, and lists what of it cannot be checked. */
import {
  baseOf,
  draftOf,
  escapeToken,
  hasMeaning,
  isRecord,
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

/** A key to look for during the walk, which saves a second walk through the schema. */
interface WatchedKey {
  readonly key: string;
  isThere: boolean;
}

/** The schemas of a tool. An `outputSchema` that is not an object is ignored. */
interface ToolSchemas {
  readonly inputSchema?: unknown;
  readonly outputSchema?: unknown;
}

/** Why no client can use one of the schemas; undefined if both are usable. */
export function toolProblem(
  { inputSchema, outputSchema }: ToolSchemas,
  watched?: WatchedKey,
): string | undefined {
  const problem = schemaProblem(inputSchema, "input", watched);
  return problem ?? (isRecord(outputSchema) ? schemaProblem(outputSchema, "output") : undefined);
}

/** Why no client can use the schema; undefined if it is usable. */
export function schemaProblem(
  schema: unknown,
  role: "input" | "output",
  watched?: WatchedKey,
): string | undefined {
  if (!isRecord(schema)) return `${role}Schema is not an object`;
  const totals: Totals = { schemas: 0, size: 0, watched };
  const problem =
    (role === "input" ? rootProblem(schema) : undefined) ?? limitProblem(schema, "schema", 1, totals);
  return problem && `${role}Schema ${problem}`;
}

/** Arguments are an object. A type that does not exist says nothing. */
function rootProblem({ type }: JsonSchema): string | undefined {
  const isOther = type !== undefined && isType(type) && ![type].flat().includes("object");
  return isOther ? `does not describe an object (type ${quote(String(type))})` : undefined;
}

/** Totals of one schema so far. */
interface Totals {
  schemas: number;
  size: number;
  readonly watched: WatchedKey | undefined;
}

/** Visits every value once. The depth limit prevents a stack overflow. */
function limitProblem(value: object, kind: KeywordKind, depth: number, totals: Totals): string | undefined {
  if (depth > MAX_DEPTH) return `is nested deeper than ${MAX_DEPTH} levels`;
  const isList = Array.isArray(value);
  const isSchema = kind === "schema" && !isList;
  if (isSchema && ++totals.schemas > MAX_SUBSCHEMAS) return `has more than ${MAX_SUBSCHEMAS} subschemas`;
  for (const key in value) {
    const child = (value as Record<string, unknown>)[key];
    if (key === totals.watched?.key) totals.watched.isThere = true;
    // Approximately its size as JSON.
    totals.size += (isList ? 0 : key.length + 3) + (typeof child === "string" ? child.length + 3 : 4);
    if (totals.size > MAX_SIZE) return "is larger than 1 MiB";
    if (typeof child !== "object" || child === null) continue;
    if (isSchema && key === "enum" && Array.isArray(child) && child.length > MAX_ENUM)
      return `has an enum of ${child.length} entries, more than ${MAX_ENUM}`;
    const inside = isSchema ? keywordKind(key, child) : kind === "list" || kind === "map" ? "schema" : "data";
    // Lists and maps of schemas belong to their keyword and do not count as a level.
    const isPart = inside === "list" || inside === "map";
    const problem = limitProblem(child, inside, isPart ? depth : depth + 1, totals);
    if (problem !== undefined) return problem;
  }
  return undefined;
}

/**
 * What of usable schemas cannot be checked, and why: patterns that JavaScript does not know, references that lead nowhere,
 * malformed keywords, an unknown dialect. Values are accepted without these checks.
 */
export function uncheckedParts({ inputSchema, outputSchema }: ToolSchemas): string[] {
  const input = isRecord(inputSchema) ? uncheckedIn(inputSchema) : [];
  if (outputSchema === undefined || outputSchema === null) return input;
  if (!isRecord(outputSchema)) return [...input, "outputSchema, which is not an object"];
  return [...input, ...uncheckedIn(outputSchema).map((what) => `${what} of the outputSchema`)];
}

function uncheckedIn(root: JsonSchema): string[] {
  const draft = draftOf(root);
  const found: string[] = [];
  const visit = (schema: JsonSchema, path: string, outer: JsonSchema): void => {
    const base = baseOf(schema, outer, draft);
    for (const [keyword, value] of Object.entries(schema)) {
      const at = `${path}/${escapeToken(keyword)}`;
      for (const what of uncheckable(keyword, value, { base, root }))
        if (found.length < MAX_UNCHECKED) found.push(`${what} at ${at}`);
      const kind = keywordKind(keyword, value);
      if (kind === "schema") visit(value as JsonSchema, at, base);
      else if (kind !== "data")
        for (const [key, part] of Object.entries(value as object))
          if (isRecord(part)) visit(part, `${at}/${escapeToken(key)}`, base);
    }
  };
  visit(root, "", root);
  if (draft === undefined)
    found.push(`the dialect ${quoteValue(root["$schema"])}, read as 2020-12, at /$schema`);
  return found;
}

const REFERENCES = new Set(["$ref", "$dynamicRef", "$recursiveRef"]);

/** What of a keyword cannot be checked. */
function uncheckable(
  keyword: string,
  value: unknown,
  documents: { readonly base: JsonSchema; readonly root: JsonSchema },
): string[] {
  if (!hasMeaning(keyword, value)) return [`${keyword} ${quoteValue(value)}`];
  if (keyword === "pattern" && readPattern(value as string) === undefined)
    return [`the pattern ${quote(value as string)}`];
  if (REFERENCES.has(keyword) && resolveRef(value as string, documents) === undefined)
    return [`the reference ${quote((value as string).split("?", 1)[0]!)}`];
  if (keyword !== "patternProperties") return [];
  const patterns = Object.keys(value as object).filter((pattern) => readPattern(pattern) === undefined);
  return patterns.map((pattern) => `the pattern ${quote(pattern)} of names`);
}

const MAX_SHOWN = 5;

/** The first few of the parts that cannot be checked, in words. */
export function sayUnchecked(unchecked: readonly string[]): string {
  const more = unchecked.length - MAX_SHOWN;
  return `${unchecked.slice(0, MAX_SHOWN).join("; ")}${more > 0 ? ` and ${more} more` : ""}`;
}

const quote = (text: string): string =>
  JSON.stringify(text.length > MAX_QUOTED ? `${text.slice(0, MAX_QUOTED)}…` : text);

/** The kind of a value that is an object, because it may be large. */
const quoteValue = (value: unknown): string => {
  if (typeof value !== "object" || value === null) return quote(String(value));
  return Array.isArray(value) ? "(a list)" : "(an object)";
};
