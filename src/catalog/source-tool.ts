/** A tool as its server lists it, read with tolerance: one bad tool costs only itself. */
import type { JsonSchema, ListedTool } from "../model/listed-tool.js";
import { PARAM_HEADER_KEY, type ParamHeader, readParamHeaders } from "../protocol/param-headers.js";
import { checkToolSchema, type WatchedKey } from "../schema/check-schema.js";
import { isNestedDeeper } from "../util/json.js";
import { sanitiseTexts } from "./safety/sanitise.js";

/** What is kept of a listed tool, before it gets its public name. */
export interface SourceTool extends ListedTool {
  /** Its name on the server, under the key that stays when `name` becomes the public one. */
  readonly sourceName: string;
  /** The definition as it was sent: pins are made of it. */
  readonly raw: Readonly<Record<string, unknown>>;
  /** Characters taken out of titles and description because nobody could see them. */
  readonly removedCharacters: number;
  /** Arguments that the modern wire repeats as HTTP headers. */
  readonly paramHeaders: readonly ParamHeader[];
  /** The fallback server whose definition this is. */
  readonly definedBy?: string | undefined;
}

export type ReadTool = { tool: SourceTool } | { withheld: { name: string; reason: string } };

const NO_HEADERS: readonly ParamHeader[] = [];
const MAX_SHOWN_NAME = 200;
/** Deeper than any definition, and no danger to the stack of whoever writes it as JSON. */
const MAX_LEVELS = 500;
/** Looked at more closely. What stands beside them is shown, saved and compared too. */
const SCHEMAS: ReadonlySet<string> = new Set(["inputSchema", "outputSchema"]);

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === "object" && value !== null && !Array.isArray(value);

const objectOf = (value: unknown): Record<string, unknown> | undefined =>
  isObject(value) ? value : undefined;

/** Reads one entry of `tools/list`. `withHeaders`: the wire repeats arguments as headers, so look for such. */
export function readSourceTool(raw: unknown, { withHeaders }: { withHeaders: boolean }): ReadTool {
  if (!isObject(raw)) return { withheld: { name: shown(raw), reason: "The entry is not an object" } };
  const { name } = raw;
  if (typeof name !== "string" || name === "") {
    return { withheld: { name: shown(name), reason: "The name is not a non-empty string" } };
  }
  const declared = withHeaders ? { key: PARAM_HEADER_KEY, isThere: false } : undefined;
  const fault = problemOf(raw, declared);
  if (fault !== undefined) return { withheld: { name: shown(name), reason: fault } };
  // Hardly any tool has one, and the look at its schema told whether it does.
  const headers = declared?.isThere ? readParamHeaders(raw["inputSchema"] as JsonSchema) : NO_HEADERS;
  if (typeof headers === "string") return { withheld: { name: shown(name), reason: headers } };
  const texts = sanitiseTexts({
    title: raw["title"] as string | undefined,
    description: raw["description"] as string | undefined,
    annotations: objectOf(raw["annotations"]),
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
      outputSchema: objectOf(raw["outputSchema"]),
      icons: Array.isArray(raw["icons"]) ? raw["icons"].filter(isObject) : undefined,
      execution: objectOf(raw["execution"]),
      _meta: objectOf(raw["_meta"]),
      raw,
      paramHeaders: headers,
    },
  };
}

function problemOf(raw: Record<string, unknown>, watched: WatchedKey | undefined): string | undefined {
  const { name, inputSchema, outputSchema } = raw;
  if ((name as string).length > 1_000) return "The name is longer than 1000 characters";
  const input = checkToolSchema(inputSchema, "input", watched);
  if (input !== undefined) return `inputSchema: ${input}`;
  const output = outputSchema === undefined ? undefined : checkToolSchema(outputSchema, "output");
  if (output !== undefined) return `outputSchema: ${output}`;
  return isNestedDeeper(raw, MAX_LEVELS + 1, SCHEMAS)
    ? `The definition is nested deeper than ${MAX_LEVELS} levels`
    : undefined;
}

/** What stands in place of a name, short enough for a log. */
function shown(value: unknown): string {
  if (isNestedDeeper(value, MAX_LEVELS)) return "(nested too deep to show)";
  return (typeof value === "string" ? value : (JSON.stringify(value) ?? String(value))).slice(
    0,
    MAX_SHOWN_NAME,
  );
}
