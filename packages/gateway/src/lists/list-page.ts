/** `tools/list`, `prompts/list`, `resources/list` and `resources/templates/list` over all servers. */

import { isRecord } from "@toolport/base";
import type { Port } from "@toolport/core/internal";
import { areShown } from "../calls/check-read.js";
import { offersOwnTool } from "../calls/own-tools.js";
import { badCursor } from "../faults.js";
import type { RequestContext } from "../request-context.js";
import { type CachePolicy, type Json, listJson, NOT_CACHED } from "../results.js";
import { entriesOf, type ListEntry, type ListKey } from "./list-entries.js";

const MAX_PAGE_ENTRIES = 200;
const MAX_PAGE_CHARS = 1_000_000;
/** Entries that filters and the policy decide about at once: a page, and one more that tells whether another page follows. */
const CHUNK = MAX_PAGE_ENTRIES + 1;

/** One page of a list. */
export async function listPage(context: RequestContext, list: ListKey): Promise<Json> {
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
  return listJson(client, list, pageJson(page), { nextCursor, cache });
}

/** Pages by their first entry. To encode a page for each client triples "tools/list of 1,000 tools, all pages". */
const pages = new WeakMap<ListEntry, { readonly page: readonly ListEntry[]; readonly json: Json }>();

/** The entries of a page. Users who see the same entries share it. */
function pageJson(page: readonly ListEntry[]): Json {
  const [first] = page;
  if (first === undefined) return "";
  const known = pages.get(first);
  if (known?.page.length === page.length && known.page.every((entry, index) => entry === page[index]))
    return known.json;
  const json = Buffer.from(page.map(({ text }) => text).join(","));
  pages.set(first, { page, json });
  return json;
}

/** The index of the first entry whose key comes after another one. Entries are sorted by their keys. */
function firstAfter(entries: readonly ListEntry[], after: string | undefined): number {
  let low = 0;
  let high = after === undefined ? 0 : entries.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (entries[middle]!.key > after!) high = middle;
    else low = middle + 1;
  }
  return low;
}

/** The entries that filters and the policy leave. */
async function visibleEntries(
  context: RequestContext,
  list: ListKey,
  entries: readonly ListEntry[],
): Promise<readonly ListEntry[]> {
  const { parts, user, client, request } = context;
  const isOffered = ({ server, source, name }: ListEntry): boolean => {
    if (list !== "tools") return true;
    if (server === "") return parts.code !== undefined || offersOwnTool(context, name);
    const info = user.port.catalog.entry(name)?.info;
    // The tool that begins a login is no tool of the server.
    return parts.offers(client.principal, info ?? { server, name, sourceName: source, inputSchema: {} });
  };
  const offered = entries.filter(isOffered);
  if (parts.policy === undefined) return offered;
  const requests = offered.map(({ server, source, name }) => ({
    method: request.method,
    server,
    [FIELDS[list]]: source,
    publicName: name,
  }));
  const isShown = await areShown(context, requests);
  return offered.filter(({ server }, index) => server === "" || isShown[index]);
}

/** How the policy calls what a list contains. */
const FIELDS = { tools: "tool", prompts: "prompt", resources: "uri", resourceTemplates: "uri" } as const;

/** The key of the last entry before the page, and whether all pages before were public. */
async function openCursor({ parts, client }: RequestContext, list: ListKey, cursor: unknown) {
  const opened = typeof cursor === "string" ? await parts.seal.openFresh("cursor", cursor) : undefined;
  if (!isRecord(opened) || opened["l"] !== list || opened["p"] !== client.principal) throw badCursor();
  return { key: opened["k"] as string, isPublic: opened["s"] === true };
}

/**
 * The shortest time of the servers in the list, and the strictest scope. A server that says nothing about its list, or is not
 * available now, makes the time 0.
 *
 * @param isShared all clients see the same lists
 */
function listCache(port: Port, list: ListKey, isShared: boolean): CachePolicy {
  let ttlMs = Number.POSITIVE_INFINITY;
  let isPublic = isShared;
  for (const { name, enabled, blocked, cache = port.parts.settings.cache } of port.configs()) {
    if (!enabled || blocked !== undefined) continue;
    const isAway = isUnavailable(port, name);
    const hint = listHint(port, name, list);
    if (hint === undefined && !isAway) continue;
    const keepMs = isAway || hint === undefined ? 0 : Math.min(hint.keepMs, limitOf(cache));
    const ageMs = Math.max(0, Date.now() - (hint?.readAt ?? 0));
    ttlMs = Math.min(ttlMs, Math.max(0, Math.floor(keepMs - ageMs)));
    isPublic &&= hint?.isPublic ?? true;
  }
  if (ttlMs === Number.POSITIVE_INFINITY) return NOT_CACHED;
  return { ttlMs, cacheScope: isPublic ? "public" : "private" };
}

const limitOf = (cache: Port["parts"]["settings"]["cache"]): number =>
  cache === false ? 0 : cache === true ? Number.POSITIVE_INFINITY : cache.ttlMs;

/** The server is down, is starting, or waits for a login. One that was closed because no client used it is none of these. */
function isUnavailable(port: Port, server: string): boolean {
  const state = port.pool.peek(server)?.state;
  if (state === undefined || state.status === "idle" || state.status === "ready") return false;
  return state.status !== "closed" || state.by !== "idleness";
}

/** When the list was read (epoch milliseconds), how long it may be kept from then on, and whether other users may have it. */
type ListHint = Readonly<Record<"readAt" | "keepMs", number>> & { readonly isPublic: boolean };

const NOT_KEPT: ListHint = { readAt: 0, keepMs: 0, isPublic: false };

/** Undefined if the server has no such list. */
function listHint({ catalog, lists }: Port, server: string, list: ListKey): ListHint | undefined {
  const read = catalog.keptOf(server)?.reads[list];
  if (read === undefined) return NOT_KEPT;
  const { readAt, keepMs, isPublic } = read;
  if (keepMs === undefined) return undefined;
  return lists.isChanged(server, list) ? { ...NOT_KEPT, isPublic } : { readAt, keepMs, isPublic };
}
