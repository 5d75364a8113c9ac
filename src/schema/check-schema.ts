/** Decides whether a tool's schema is one that Toolport can handle at all, in time that does not depend on how bad it is. */
import { draftOf } from "./dialect.js";
import { isObject, keywordKind } from "./json-schema.js";
import { isLocalRef } from "./local-ref.js";

const MAX_DEPTH = 64;
const MAX_SUBSCHEMAS = 5_000;
const MAX_SIZE = 1024 * 1024;
const MAX_ENUM = 10_000;
const MAX_QUOTED = 80;

/** One value still to be looked at. `kind`: how its parent means it. */
interface Open {
  value: unknown;
  kind: "schema" | "list" | "map" | "data";
  depth: number;
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
  const problem = walk(schema);
  return problem === undefined ? undefined : `${name} ${problem}`;
}

/** Iterative, because a schema of ten thousand levels would overflow the stack of a recursive walk. */
function walk(root: object): string | undefined {
  let count = 0;
  let size = 0;
  const open: Open[] = [{ value: root, kind: "schema", depth: 1 }];
  for (let item = open.pop(); item !== undefined; item = open.pop()) {
    const { value, kind, depth } = item;
    size += sizeOf(value);
    if (size > MAX_SIZE) return "is larger than 1 MiB";
    if (typeof value !== "object" || value === null) continue;
    if (depth > MAX_DEPTH) return `is nested deeper than ${MAX_DEPTH} levels`;
    const isSchema = kind === "schema" && !Array.isArray(value);
    if (isSchema && ++count > MAX_SUBSCHEMAS) return `has more than ${MAX_SUBSCHEMAS} subschemas`;
    const problem = isSchema ? checkKeywords(value as Record<string, unknown>) : undefined;
    if (problem !== undefined) return problem;
    for (const [key, child] of Object.entries(value)) {
      if (!Array.isArray(value)) size += key.length + 3;
      // Lists and maps of schemas are part of their keyword, not a level of their own.
      if (isSchema) {
        const next = keywordKind(key, child);
        open.push({ value: child, kind: next, depth: next === "list" || next === "map" ? depth : depth + 1 });
      } else {
        const holdsSchemas = kind === "list" || kind === "map";
        open.push({ value: child, kind: holdsSchemas ? "schema" : "data", depth: depth + 1 });
      }
    }
  }
  return undefined;
}

/** About as many bytes as it takes in JSON, without what is inside. */
const sizeOf = (value: unknown): number => (typeof value === "string" ? value.length + 3 : 4);

function checkKeywords(schema: Record<string, unknown>): string | undefined {
  const ref = schema["$ref"];
  if (typeof ref === "string" && !isLocalRef(ref))
    return `refers to another document (${quote(withoutQuery(ref))})`;
  const choices = schema["enum"];
  if (Array.isArray(choices) && choices.length > MAX_ENUM)
    return `has an enum of ${choices.length} entries, more than ${MAX_ENUM}`;
  const pattern = schema["pattern"];
  const keys = isObject(schema["patternProperties"]) ? Object.keys(schema["patternProperties"]) : [];
  const patterns = typeof pattern === "string" ? [pattern, ...keys] : keys;
  const broken = patterns.find((text) => !isRegularExpression(text));
  return broken === undefined
    ? undefined
    : `has a pattern that is not a regular expression (${quote(broken)})`;
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
