/** `tools/list`, `prompts/list`, `resources/list` and `resources/templates/list` over all servers. */
import { offersOwnTool } from "../calls/own-tools.js";
import { badCursor } from "../faults.js";
import { isFields } from "../message.js";
import type { RequestContext } from "../request-context.js";
import { listText } from "../results.js";
import { listCache } from "./list-cache.js";
import { entriesOf, type ListEntry, type ListKey } from "./list-entries.js";

const MAX_PAGE_ENTRIES = 200;
const MAX_PAGE_CHARS = 1_000_000;
/** Entries that filters and the policy decide about at once: a page, and one more that tells whether another page follows. */
const CHUNK = MAX_PAGE_ENTRIES + 1;

/** One page of a list. */
export async function listPage(context: RequestContext, list: ListKey): Promise<string> {
  const { parts, user, client, request } = context;
  const { cursor } = request.params;
  const opened = cursor === undefined ? undefined : await openCursor(context, list, cursor);
  await user.port.need(list, { signal: context.exchange.signal });
  if (list === "tools") parts.review.listed(user.port);
  const programTools = list === "tools" ? await parts.code?.open(context).tools() : undefined;
  const entries = await entriesOf(user.port, list, programTools);
  if (list !== "resourceTemplates") parts.feeds.served(user, list);
  const page: ListEntry[] = [];
  let chars = 0;
  let hasMore = false;
  // Only as many entries as the page needs are decided about: a list may have a hundred thousand.
  for (let from = firstAfter(entries, opened?.key); from < entries.length && !hasMore; from += CHUNK) {
    for (const entry of await visibleEntries(context, list, entries.slice(from, from + CHUNK))) {
      const { text } = entry;
      hasMore = page.length === MAX_PAGE_ENTRIES || (page.length > 0 && chars + text.length > MAX_PAGE_CHARS);
      if (hasMore) break;
      page.push(entry);
      chars += text.length;
    }
  }
  // All pages have the scope of the first one, unless the list has become private since.
  const cache = listCache(user.port, list, parts.isSameForAll && opened?.isPublic !== false);
  const nextCursor = hasMore
    ? parts.seal.seal("cursor", {
        l: list,
        p: client.principal,
        k: page.at(-1)!.key,
        ...(cache.cacheScope === "public" && { s: true }),
      })
    : undefined;
  return listText(client, { key: list, entries: page.map(({ text }) => text), nextCursor, cache });
}

/** The index of the first entry whose key comes after another one. */
function firstAfter(entries: readonly ListEntry[], after: string | undefined): number {
  if (after === undefined) return 0;
  let low = 0;
  let high = entries.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (entries[middle]!.key > after) high = middle;
    else low = middle + 1;
  }
  return low;
}

/** The entries that filters and the policy leave. */
async function visibleEntries(
  { parts, user, client, request }: RequestContext,
  list: ListKey,
  entries: readonly ListEntry[],
): Promise<readonly ListEntry[]> {
  const { principal, scopes } = client;
  const offered =
    list === "tools"
      ? entries.filter(({ server, source, name }) => {
          if (server === "") return parts.code !== undefined || offersOwnTool({ parts, user }, name);
          const info = user.port.catalog.entry(name)?.info;
          // The tool that begins a login is no tool of the server.
          return parts.offers(principal, info ?? { server, name, sourceName: source, inputSchema: {} });
        })
      : entries;
  if (parts.policy === undefined) return offered;
  const deciding = parts.policy.decideAll(
    offered.map(({ server, source, name }) => ({
      principal,
      scopes,
      method: request.method,
      server,
      [FIELDS[list]]: source,
      publicName: name,
    })),
  );
  const decisions = deciding instanceof Promise ? await deciding : deciding;
  return offered.filter(({ server }, index) => server === "" || decisions[index]!.effect !== "deny");
}

/** How the policy calls what a list contains. */
const FIELDS = { tools: "tool", prompts: "prompt", resources: "uri", resourceTemplates: "uri" } as const;

interface Cursor {
  /** Of the last entry before the page. */
  readonly key: string;
  /** All pages before were public. */
  readonly isPublic: boolean;
}

async function openCursor(
  { parts, client }: RequestContext,
  list: ListKey,
  cursor: unknown,
): Promise<Cursor> {
  const opened = typeof cursor === "string" ? await parts.seal.openFresh("cursor", cursor) : undefined;
  if (!isFields(opened) || opened["l"] !== list || opened["p"] !== client.principal) throw badCursor();
  return { key: opened["k"] as string, isPublic: opened["s"] === true };
}
