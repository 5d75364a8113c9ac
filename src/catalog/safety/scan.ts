/** A look of the user's at everything that a server would tell a model about itself. */
import type { ServerRef } from "../../model/listed-tool.js";
import type { ServerLists } from "../server-lists.js";
import type { SourceTool } from "../source-tool.js";
import { dataStrings, type ModelString, modelStrings } from "./model-strings.js";

/** What is looked at: a tool, an entry of another list (resources by URI), or what the server says on how to use it. */
export interface Scanned {
  readonly kind: "tool" | "prompt" | "resource" | "resourceTemplate" | "instructions";
  readonly name: string;
}

/**
 * Sees every text of a tool that a model will read; also those of prompts and resources in their lists, and a server's
 * instructions before `instructions()` gives them out. A reason returned withholds the tool, leaves the entry out of its
 * list, or the instructions out.
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

/** Why these tools are withheld, by name. A scan that throws withholds the tool it threw on. */
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

/** An entry of a list as it came. */
export type ListItem = Readonly<Record<string, unknown>>;

const LISTS = [
  { key: "prompts", kind: "prompt", id: "name" },
  { key: "resources", kind: "resource", id: "uri" },
  { key: "resourceTemplates", kind: "resourceTemplate", id: "uriTemplate" },
] as const;

/** The same for entries of the other lists, by the entry. */
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

/** Why a server's instructions are not given out; undefined: they are. */
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
