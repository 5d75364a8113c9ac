/** Reads all pages of a server's tool list. */
import { ToolCallError } from "../errors/tool-call-error.js";
import type { Session } from "../protocol/session.js";
import { readSourceTool, type SourceTool } from "./source-tool.js";

/** More pages than any honest server has. */
const MAX_PAGES = 64;

export interface ToolList {
  readonly tools: readonly SourceTool[];
  readonly withheld: readonly { name: string; reason: string }[];
  /** Why the list is not whole, if it is not. */
  readonly cut?: string | undefined;
}

export interface ListOptions {
  timeoutMs: number;
  signal?: AbortSignal | undefined;
}

const METHOD_NOT_FOUND = -32601;

/** All tools of a server. A server that offers none is not asked. */
export async function listTools(session: Session, { timeoutMs, signal }: ListOptions): Promise<ToolList> {
  const list: { tools: SourceTool[]; withheld: { name: string; reason: string }[] } = {
    tools: [],
    withheld: [],
  };
  if (session.capabilities.tools === undefined) return list;
  const names = new Set<string>();
  const cursors = new Set<string>();
  const withHeaders = session.era === "modern" && session.transport === "http";
  let cursor: string | undefined;
  const deadline = performance.now() + timeoutMs;
  for (let page = 0; page < MAX_PAGES; page += 1) {
    const left = Math.max(1, deadline - performance.now());
    const result = await fetchPage(session, cursor, { timeoutMs: left, signal });
    if (result === undefined)
      return { ...list, cut: "The server declares tools but does not know tools/list" };
    for (const raw of Array.isArray(result["tools"]) ? result["tools"] : []) {
      const read = readSourceTool(raw, { withHeaders });
      if (!("tool" in read)) list.withheld.push(read.withheld);
      else if (names.has(read.tool.sourceName))
        list.withheld.push({ name: read.tool.sourceName, reason: "Listed twice" });
      else list.tools.push(read.tool);
      if ("tool" in read) names.add(read.tool.sourceName);
    }
    const next = result["nextCursor"];
    if (next === undefined || next === null) return list;
    if (typeof next !== "string") return { ...list, cut: "The server sent a cursor that is not text" };
    if (cursors.has(next)) return { ...list, cut: "The server sent the same cursor twice" };
    cursors.add(next);
    cursor = next;
  }
  return { ...list, cut: `The list has more than ${MAX_PAGES} pages` };
}

async function fetchPage(
  session: Session,
  cursor: string | undefined,
  { timeoutMs, signal }: ListOptions,
): Promise<Record<string, unknown> | undefined> {
  try {
    const params = cursor === undefined ? {} : { cursor };
    return await session.request("tools/list", params, { timeoutMs, maxTimeoutMs: timeoutMs, signal });
  } catch (error) {
    if (error instanceof ToolCallError && error.rpcCode === METHOD_NOT_FOUND && !session.unproven)
      return undefined;
    throw error;
  }
}
