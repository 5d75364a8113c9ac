/** Reads tools as their server lists them. An invalid tool does not affect the others. */
import {
  getOrMake,
  isNestedDeeper,
  isRecord,
  type JsonSchema,
  type ListedTool,
  toRecord,
} from "@toolport/base";
import { toolProblem } from "@toolport/schemas/internal";
import { PARAM_HEADER_KEY, type ParamHeader, readParamHeaders } from "../protocol/param-headers.js";
import type { Session } from "../protocol/session.js";
import { sanitiseTexts } from "./safety/sanitise.js";

/** A listed tool before it gets its public name. */
export interface SourceTool extends ListedTool {
  /** Name on the server. Stays when `name` becomes the public name. */
  readonly sourceName: string;
  /** The definition as sent, for pins. */
  readonly raw: Readonly<Record<string, unknown>>;
  /** Number of invisible characters removed from titles and description. */
  readonly removedCharacters: number;
  /** Arguments that the modern era repeats as HTTP headers. */
  readonly paramHeaders: readonly ParamHeader[];
  /** The fallback server that defined the tool. */
  readonly definedBy?: string | undefined;
}

export interface ToolList {
  readonly tools: readonly SourceTool[];
  /** Tools that are listed but cannot be offered. */
  readonly withheld: readonly { name: string; reason: string }[];
  /** Why the list is incomplete. */
  readonly cut?: string | undefined;
}

type ReadTool = { tool: SourceTool } | { withheld: { name: string; reason: string } };

const NO_HEADERS: readonly ParamHeader[] = [];
const MAX_SHOWN_NAME = 200;
/** Deeper than any real definition, and shallow enough to be serialised without a stack overflow. */
const MAX_LEVELS = 500;
/** Checked separately, with stricter limits. */
const SCHEMAS: ReadonlySet<string> = new Set(["inputSchema", "outputSchema"]);

/** Reads one entry of `tools/list`. `withHeaders`: also read which arguments are repeated as headers. */
export function readSourceTool(raw: unknown, { withHeaders }: { withHeaders: boolean }): ReadTool {
  if (!isRecord(raw)) return { withheld: { name: shown(raw), reason: "The entry is not an object" } };
  const { name } = raw;
  if (typeof name !== "string" || name === "") {
    return { withheld: { name: shown(name), reason: "The name is not a non-empty string" } };
  }
  const declared = withHeaders ? { key: PARAM_HEADER_KEY, isThere: false } : undefined;
  const problem = problemOf(name, raw) ?? toolProblem(raw, declared);
  if (problem !== undefined) return { withheld: { name: shown(name), reason: problem } };
  // Hardly any tool has one, and the check of the schema already shows whether it does.
  const headers = declared?.isThere ? readParamHeaders(raw["inputSchema"] as JsonSchema) : NO_HEADERS;
  if (typeof headers === "string") return { withheld: { name: shown(name), reason: headers } };
  const texts = sanitiseTexts({
    title: raw["title"] as string | undefined,
    description: raw["description"] as string | undefined,
    annotations: toRecord(raw["annotations"]),
  });
  return {
    tool: {
      name,
      sourceName: name,
      title: texts.title,
      description: texts.description,
      annotations: texts.annotations,
      removedCharacters: texts.removedCharacters,
      inputSchema: raw["inputSchema"] as Record<string, unknown>,
      outputSchema: toRecord(raw["outputSchema"]),
      icons: Array.isArray(raw["icons"]) ? raw["icons"].filter(isRecord) : undefined,
      execution: toRecord(raw["execution"]),
      _meta: toRecord(raw["_meta"]),
      raw,
      paramHeaders: headers,
    },
  };
}

function problemOf(name: string, raw: Record<string, unknown>): string | undefined {
  if (name.length > 1_000) return "The name is longer than 1000 characters";
  if (isNestedDeeper(raw, MAX_LEVELS + 1, SCHEMAS))
    return `The definition is nested deeper than ${MAX_LEVELS} levels`;
  return undefined;
}

/** A short text in place of a missing name, for logs. */
function shown(value: unknown): string {
  if (isNestedDeeper(value, MAX_LEVELS)) return "(nested too deep to show)";
  return (typeof value === "string" ? value : (JSON.stringify(value) ?? String(value))).slice(
    0,
    MAX_SHOWN_NAME,
  );
}

const parsedTools = new WeakMap<readonly unknown[], Map<string, ToolList>>();

/** Separates usable tools from withheld ones. One result for all users of the same array. */
export function readTools(
  items: readonly unknown[],
  { era, transport }: Pick<Session, "era" | "transport">,
): ToolList {
  // Only the modern era repeats arguments as headers.
  const withHeaders = era === "modern" && transport === "http";
  const results = getOrMake(parsedTools, items, () => new Map<string, ToolList>());
  return getOrMake(results, `${era} ${transport}`, () => parseTools(items, withHeaders));
}

function parseTools(items: readonly unknown[], withHeaders: boolean): ToolList {
  const tools: SourceTool[] = [];
  const withheld: { name: string; reason: string }[] = [];
  const names = new Set<string>();
  for (const raw of items) {
    const read = readSourceTool(raw, { withHeaders });
    if (!("tool" in read)) withheld.push(read.withheld);
    else if (names.has(read.tool.name)) withheld.push({ name: read.tool.name, reason: "Listed twice" });
    else {
      names.add(read.tool.name);
      tools.push(read.tool);
    }
  }
  return { tools, withheld };
}
