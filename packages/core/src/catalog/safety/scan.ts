/** Calls the user's scan for every text of a server that a model may read. */
import type { ServerRef, ToolInfo } from "@toolport/base";
import { escapeToken } from "@toolport/schemas/internal";
import type { ServerLists } from "../server-lists.js";
import type { SourceTool } from "../source-tool.js";

/** What is scanned: a tool, an entry of another list (resources by URI), or the instructions of the server. */
export interface Scanned {
  readonly kind: "tool" | "prompt" | "resource" | "resourceTemplate" | "instructions";
  readonly name: string;
}

/**
 * Receives every text of a tool that a model may read, the texts of listed prompts and resources, and the instructions of a
 * server. If it returns a reason, Toolport withholds the tool, the entry or the instructions.
 *
 * @example
 * ```ts
 * const scan: ScanHook = (_server, _tool, strings) =>
 *   strings.some(({ text }) => text.includes("<IMPORTANT>")) ? "It speaks to the model" : undefined;
 * ```
 */
export type ScanHook = (
  server: ServerRef,
  tool: Scanned,
  strings: readonly ModelString[],
) => string | undefined | Promise<string | undefined>;

/** Why tools are withheld, by name. A scan that throws withholds the tool. */
export async function scanTools(
  scan: ScanHook | undefined,
  server: ServerRef,
  tools: readonly SourceTool[],
): Promise<ReadonlyMap<string, string>> {
  const refused = new Map<string, string>();
  if (scan === undefined) return refused;
  for (const tool of tools) {
    const scanned: Scanned = { kind: "tool", name: tool.sourceName };
    const reason = await refusalOf(scan, { server, scanned, strings: () => modelStrings(tool) });
    if (reason !== undefined) refused.set(tool.sourceName, reason);
  }
  return refused;
}

/** An entry of a list as the server sent it. */
export type ListItem = Readonly<Record<string, unknown>>;

const LISTS = [
  { key: "prompts", kind: "prompt", id: "name" },
  { key: "resources", kind: "resource", id: "uri" },
  { key: "resourceTemplates", kind: "resourceTemplate", id: "uriTemplate" },
] as const;

/** The same for entries of the other lists, by entry. */
export async function scanItems(
  scan: ScanHook | undefined,
  server: ServerRef,
  lists: Pick<ServerLists, "prompts" | "resources" | "resourceTemplates">,
): Promise<ReadonlyMap<ListItem, string>> {
  const refused = new Map<ListItem, string>();
  if (scan === undefined) return refused;
  for (const { key, kind, id } of LISTS) {
    for (const item of lists[key]) {
      const scanned: Scanned = { kind, name: String(item[id]) };
      const reason = await refusalOf(scan, { server, scanned, strings: () => dataStrings(item) });
      if (reason !== undefined) refused.set(item, reason);
    }
  }
  return refused;
}

/** Why the instructions of a server are withheld. */
export async function scanInstructions(
  scan: ScanHook | undefined,
  server: ServerRef,
  text: string,
): Promise<string | undefined> {
  if (scan === undefined || text === "") return undefined;
  const scanned: Scanned = { kind: "instructions", name: server.name };
  return refusalOf(scan, { server, scanned, strings: () => [{ path: "/instructions", text }] });
}

async function refusalOf(
  scan: ScanHook,
  { server, scanned, strings }: { server: ServerRef; scanned: Scanned; strings: () => ModelString[] },
): Promise<string | undefined> {
  try {
    const reason = await scan(server, scanned, strings());
    return typeof reason === "string" ? `Refused by the scan: ${reason}` : undefined;
  } catch (error) {
    return `The scan failed: ${String(error)}`;
  }
}

/** One string and its location. */
export interface ModelString {
  /** JSON Pointer into the tool; for a name, to the named value. */
  readonly path: string;
  readonly text: string;
}

/** The part of a tool that models may see. */
type ModelVisibleTool = Partial<
  Pick<ToolInfo, "name" | "sourceName" | "title" | "description" | "annotations">
> &
  Pick<ToolInfo, "inputSchema" | "outputSchema">;

const MAX_DEPTH = 128;
const MAX_STRINGS = 20_000;
const MAX_CHARACTERS = 2_000_000;

/** Keywords whose keys are names that the server chose. */
const NAMED = new Set(
  "properties patternProperties $defs definitions dependentSchemas dependentRequired dependencies".split(" "),
);
/** Keywords with arbitrary values. */
const DATA = new Set(["enum", "const", "default", "example", "examples"]);
/** Keywords that contain schemas or settings. Any other key is invented by the server and counts as a string. */
const KNOWN = new Set(
  (
    "$schema $id $ref $anchor $dynamicRef $dynamicAnchor $comment $vocabulary type title description format pattern " +
    "required items prefixItems additionalItems unevaluatedItems additionalProperties unevaluatedProperties " +
    "propertyNames contains minContains maxContains minItems maxItems uniqueItems minLength maxLength minimum maximum " +
    "exclusiveMinimum exclusiveMaximum multipleOf minProperties maxProperties allOf anyOf oneOf not if then else " +
    "contentEncoding contentMediaType contentSchema deprecated readOnly writeOnly nullable"
  ).split(" "),
);
const TYPES = new Set(["string", "number", "integer", "boolean", "object", "array", "null"]);

/** `schema`: keys are keywords. `names`: keys are names, values are schemas. `data`: both are arbitrary. */
type Mode = "schema" | "names" | "data";

/**
 * Lists names, titles, descriptions, parameter names, and every string in the schemas (enum, const, default, examples,
 * `$comment`, unknown keywords), because providers send whole schemas to the model.
 *
 * @throws RangeError if the definition is too deep or too large to be scanned completely
 */
export function modelStrings(tool: ModelVisibleTool): ModelString[] {
  const { name, sourceName, title, description, annotations } = tool;
  const plain = { name, sourceName, title, description, "annotations/title": annotations?.title };
  return collect((add) => {
    for (const [path, text] of Object.entries(plain)) if (typeof text === "string") add(text, `/${path}`);
    visit(tool.inputSchema, { path: "/inputSchema", mode: "schema", depth: 0 }, add);
    visit(tool.outputSchema, { path: "/outputSchema", mode: "schema", depth: 0 }, add);
  });
}

/**
 * Lists every string and every key of plain data, such as a listed prompt or resource.
 *
 * @throws RangeError as {@link modelStrings} does
 */
const dataStrings = (value: unknown): ModelString[] =>
  collect((add) => visit(value, { path: "", mode: "data", depth: 0 }, add));

type Add = (text: string, path: string) => void;

function collect(read: (add: Add) => void): ModelString[] {
  const strings: ModelString[] = [];
  let characters = 0;
  read((text, path) => {
    characters += text.length;
    if (strings.length >= MAX_STRINGS || characters > MAX_CHARACTERS)
      throw new RangeError("The definition has too much text to be scanned");
    strings.push({ path, text });
  });
  return strings;
}

/** Adds the names in a value, then what is inside it. */
function visit(
  value: unknown,
  { path, mode, depth }: { path: string; mode: Mode; depth: number },
  add: Add,
): void {
  if (typeof value === "string") return add(value, path);
  if (typeof value !== "object" || value === null) return;
  if (depth >= MAX_DEPTH) throw new RangeError("The definition is nested too deep to be scanned");
  const isArray = Array.isArray(value);
  const isType = (key: string, child: unknown) =>
    mode === "schema" && key === "type" && typeof child === "string" && TYPES.has(child);
  const children = Object.entries(value).filter(([key, child]) => !isType(key, child));
  const pathOf = (key: string) => `${path}/${escapeToken(key)}`;
  if (!isArray) for (const [key] of children) if (isName(key, mode)) add(key, pathOf(key));
  for (const [key, child] of children)
    visit(child, { path: pathOf(key), mode: isArray ? mode : modeBelow(key, mode), depth: depth + 1 }, add);
}

const isName = (key: string, mode: Mode): boolean =>
  mode !== "schema" || !(NAMED.has(key) || DATA.has(key) || KNOWN.has(key));

function modeBelow(key: string, mode: Mode): Mode {
  if (mode === "names") return "schema";
  if (mode === "data" || DATA.has(key)) return "data";
  if (NAMED.has(key)) return "names";
  return KNOWN.has(key) ? "schema" : "data";
}
