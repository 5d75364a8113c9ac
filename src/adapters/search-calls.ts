/** Answers the search of a provider from the index of the port. */
import { readSearchArguments } from "../catalog/search/deferred-tools.js";
import type { ToolInfo } from "../model/tool-info.js";
import type { ToolSelection } from "./offered-tools.js";
import type { ToolSource } from "./tool-source.js";

/** Finds deferred tools of the selection, best first. A tool that the query names exactly is never cut off. */
export async function searchDeferred(
  toolport: ToolSource,
  args: Readonly<Record<string, unknown>>,
  selection: ToolSelection & { readonly signal?: AbortSignal | undefined },
): Promise<ToolInfo[]> {
  const hidden = await hiddenTools(toolport, selection);
  return searchAmong(toolport, args, { tools: hidden, signal: selection.signal });
}

/** The same for deferred tools that are known already. */
export async function searchAmong(
  toolport: ToolSource,
  args: Readonly<Record<string, unknown>>,
  { tools, signal }: { readonly tools: Iterable<ToolInfo>; readonly signal?: AbortSignal | undefined },
): Promise<ToolInfo[]> {
  if (toolport.searchTools === undefined) return [];
  const { query, limit } = readSearchArguments(args);
  const hidden = new Map([...tools].map((tool) => [tool.name, tool]));
  const wait = signal && { signal };
  // Filters apply after the search, so a limit would count tools that are left out.
  const ranked = await toolport.searchTools(query, { limit: Number.MAX_SAFE_INTEGER, ...wait });
  const { length } = await toolport.searchTools(query, { limit, ...wait });
  return ranked.flatMap(({ name }) => hidden.get(name) ?? []).slice(0, Math.max(limit, length));
}

/** The deferred tools that a model may find. */
export const hiddenTools = (
  toolport: ToolSource,
  { servers, only, except, filter, signal }: ToolSelection & { readonly signal?: AbortSignal | undefined },
): Promise<ToolInfo[]> =>
  toolport.tools({
    ...(servers && { servers }),
    ...(signal && { signal }),
    ...{ only, except, filter, deferred: true },
  });
