/** Reads the tools of a server. One invalid tool does not affect the others. */
import type { Session } from "../protocol/session.js";
import { type ListOptions, listPages } from "./list-pages.js";
import { readSourceTool, type SourceTool } from "./source-tool.js";

export interface ToolList {
  readonly tools: readonly SourceTool[];
  /** Tools that are listed but cannot be offered. */
  readonly withheld: readonly { name: string; reason: string }[];
  /** Why the list is incomplete. */
  readonly cut?: string | undefined;
  readonly ttlMs?: number | undefined;
  /** When the list was requested; undefined if the server has no such list. */
  readonly readAt?: number | undefined;
  readonly isPublic?: boolean | undefined;
  readonly keepMs?: number | undefined;
}

/** All tools of a server. A server without the capability is not asked. */
export async function listTools(session: Session, options: ListOptions): Promise<ToolList> {
  if (session.capabilities.tools === undefined) return { tools: [], withheld: [] };
  const { items, ...facts } = await listPages(session, { method: "tools/list", key: "tools" }, options);
  return { ...(options.intern === undefined ? readTools : readToolsOnce)(items, session), ...facts };
}

const parsed = new WeakMap<readonly unknown[], Map<string, Pick<ToolList, "tools" | "withheld">>>();

/** Like {@link readTools}, with one result for all users of the same array. */
export function readToolsOnce(
  items: readonly unknown[],
  session: Pick<Session, "era" | "transport">,
): Pick<ToolList, "tools" | "withheld"> {
  const results = parsed.get(items) ?? new Map<string, Pick<ToolList, "tools" | "withheld">>();
  parsed.set(items, results);
  const key = `${session.era} ${session.transport}`;
  const result = results.get(key) ?? readTools(items, session);
  results.set(key, result);
  return result;
}

/** Separates usable tools from withheld ones. */
export function readTools(
  items: readonly unknown[],
  { era, transport }: Pick<Session, "era" | "transport">,
): Pick<ToolList, "tools" | "withheld"> {
  const tools: SourceTool[] = [];
  const withheld: { name: string; reason: string }[] = [];
  const names = new Set<string>();
  // Only the modern era repeats arguments as headers.
  const withHeaders = era === "modern" && transport === "http";
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
