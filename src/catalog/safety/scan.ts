/** Calls the user's scan for every text of a server that a model may read. */
import type { ServerRef } from "../../model/listed-tool.js";
import type { ServerLists } from "../server-lists.js";
import type { SourceTool } from "../source-tool.js";
import { dataStrings, type ModelString, modelStrings } from "./model-strings.js";

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
