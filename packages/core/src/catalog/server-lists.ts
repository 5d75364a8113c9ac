/** The lists of one server, and how one of them is read, page by page. One invalid entry does not affect the others. */

import { isSameJson, ToolCallError } from "@toolport/base";
import type { CacheOption } from "../config/server-entry.js";
import { type ListKey, listNameOf } from "../protocol/change-watch.js";
import { isPublic } from "../protocol/era.js";
import type { Session } from "../protocol/session.js";
import { readTools, type ToolList } from "./source-tool.js";

/** Limit for servers whose pages never end. */
const MAX_PAGES = 64;
/** A few megabytes can contain a million entries; no model can use that many. */
const MAX_ITEMS = 10_000;
const METHOD_NOT_FOUND = -32601;

export type { ListKey };

type Fields = Readonly<Record<string, unknown>>;

export interface ServerLists {
  readonly tools: ToolList;
  readonly resources: readonly Fields[];
  readonly resourceTemplates: readonly Fields[];
  readonly prompts: readonly Fields[];
}

/** The lists of a server about which nothing is known. */
export const NO_LISTS: ServerLists = {
  tools: { tools: [], withheld: [] },
  resources: [],
  resourceTemplates: [],
  prompts: [],
};

/** True if a list is too old. The shorter time to live counts. */
export function isStale({ readAt, ttlMs }: Pick<ListFacts, "readAt" | "ttlMs">, cache: CacheOption): boolean {
  if (cache === false) return true;
  const ours = typeof cache === "object" ? cache.ttlMs : Number.POSITIVE_INFINITY;
  return Date.now() - readAt >= Math.min(ours, ttlMs ?? Number.POSITIVE_INFINITY);
}

/** How old a list is, and who may have it. */
export interface ListFacts {
  /** When it was requested (epoch milliseconds). */
  readonly readAt: number;
  /** The server's time to live. */
  readonly ttlMs?: number | undefined;
  /**
   * How long a client may keep it without asking again: the shortest time of all pages, 0 if a page has none. Undefined if that
   * is not known, or the server has no such list.
   */
  readonly keepMs?: number | undefined;
  /** The server marks it, with every page, as the same for all its users. */
  readonly isPublic: boolean;
}

/** A list as the server sent it. */
export interface PagedList extends ListFacts {
  readonly items: readonly unknown[];
  /** Why the list is incomplete. */
  readonly cut?: string | undefined;
}

/** One list of a server. */
export interface OneList extends ListFacts {
  readonly key: ListKey;
  readonly list: ServerLists[ListKey];
  /** As the server sent it. Undefined if it was not asked. */
  readonly paged?: PagedList | undefined;
  /** The list was read for another user. @default false */
  readonly isShared?: boolean | undefined;
}

/** The method for a list, and the required field of its entries. */
const KINDS: Readonly<Record<ListKey, { readonly method: string; readonly id: string }>> = {
  tools: { method: "tools/list", id: "name" },
  resources: { method: "resources/list", id: "uri" },
  resourceTemplates: { method: "resources/templates/list", id: "uriTemplate" },
  prompts: { method: "prompts/list", id: "name" },
};

export interface ReadOptions {
  /** Time limit for all pages together. */
  readonly timeoutMs: number;
  readonly signal?: AbortSignal | undefined;
  /** Returns an equal array that other users have as well, so that it is kept once. @default not shared */
  readonly intern?: ((key: ListKey, items: readonly unknown[]) => readonly unknown[]) | undefined;
  readonly onWarning: (message: string) => void;
}

/** A list that the server does not have. */
export const emptyList = (key: ListKey): OneList => ({
  key,
  list: NO_LISTS[key],
  readAt: Date.now(),
  isPublic: false,
});

/** Reads one list. A server without the capability is not asked. Rejects if the list cannot be read. */
export async function readList(session: Session, key: ListKey, options: ReadOptions): Promise<OneList> {
  const { intern, onWarning } = options;
  if (session.capabilities[listNameOf(key)] === undefined) return emptyList(key);
  const read = await readPages(session, key, options);
  const paged = intern === undefined ? read : { ...read, items: intern(key, read.items) };
  if (paged.cut !== undefined) onWarning(`The list of ${key} is incomplete: ${paged.cut}`);
  const one = toOneList(key, paged, session);
  if (key !== "tools") {
    const unusable = paged.items.length - (one.list as readonly Fields[]).length;
    if (unusable > 0) onWarning(`${unusable} of its ${key} have no ${KINDS[key].id}`);
  }
  return one;
}

/** A list as its server, or another user, sent it. */
export function toOneList(
  key: ListKey,
  paged: PagedList,
  session: Pick<Session, "era" | "transport">,
): OneList {
  const { items, cut, readAt, ttlMs, keepMs, isPublic } = paged;
  const facts = { readAt, ttlMs, keepMs, isPublic };
  if (key !== "tools") return { key, list: usable(items, KINDS[key].id), ...facts, paged };
  const tools = readTools(items, session);
  return { key, list: cut === undefined ? tools : { ...tools, cut }, ...facts, paged };
}

/** Reads all items. An error on the first page is thrown; a list that never ends is truncated. */
async function readPages(
  session: Session,
  key: ListKey,
  { timeoutMs, signal }: ReadOptions,
): Promise<PagedList> {
  const { method } = KINDS[key];
  const items: unknown[] = [];
  const cursors = new Set<string>();
  const deadline = performance.now() + timeoutMs;
  const readAt = Date.now();
  let ttlMs: number | undefined;
  let cursor: string | undefined;
  let isShared = session.era === "modern";
  let keepMs = session.era === "modern" ? Number.POSITIVE_INFINITY : 0;
  const cutBecause = (cut: string): PagedList => ({ items, ttlMs, readAt, isPublic: false, keepMs: 0, cut });
  for (let page = 0; page < MAX_PAGES; page += 1) {
    const restMs = Math.max(1, deadline - performance.now());
    const params = cursor === undefined ? {} : { cursor };
    const limits = { timeoutMs: restMs, maxTimeoutMs: restMs, signal };
    const result = await session.request(method, params, limits).catch((error: unknown) => {
      const isMissing = error instanceof ToolCallError && error.rpcCode === METHOD_NOT_FOUND;
      if (!isMissing || session.unproven) throw error;
    });
    // The capability covers resources only: many servers do not support the method for templates.
    if (result === undefined && key === "resourceTemplates" && page === 0)
      return { items, ttlMs, readAt, isPublic: false };
    if (result === undefined)
      return cutBecause(`The server declares the capability but does not support ${method}`);
    const entries = result[key];
    ttlMs = shorter(ttlMs, result["ttlMs"]);
    isShared &&= isPublic(result);
    keepMs = Math.min(keepMs, shorter(undefined, result["ttlMs"]) ?? 0);
    if (!Array.isArray(entries)) return cutBecause(`The server sent a page without its list of ${key}`);
    // One by one: spreading a very long page would overflow the stack.
    for (const item of entries) {
      if (items.length === MAX_ITEMS) return cutBecause(`The list has more than ${MAX_ITEMS} entries`);
      items.push(item);
    }
    const next = result["nextCursor"];
    if (next === undefined || next === null) return { items, ttlMs, readAt, isPublic: isShared, keepMs };
    if (typeof next !== "string") return cutBecause("The server sent a cursor that is not text");
    if (cursors.has(next)) return cutBecause("The server sent the same cursor twice");
    cursors.add(next);
    cursor = next;
  }
  return cutBecause(`The list has more than ${MAX_PAGES} pages`);
}

/** Zero and negative values mean no time to live: the list stays valid until the server reports a change. */
function shorter(first: number | undefined, second: unknown): number | undefined {
  if (typeof second !== "number" || !(second > 0)) return first;
  return Math.min(first ?? second, second);
}

/** Whether the server sent the same list again. Interned lists that are equal are the same array. */
export const isSameList = (key: ListKey, before: ServerLists, now: ServerLists): boolean =>
  before[key] === now[key] || isSameJson(sentPart(before[key]), sentPart(now[key]));

const sentPart = (list: ServerLists[ListKey]): unknown =>
  "tools" in list ? { ...list, tools: list.tools.map(({ raw }) => raw) } : list;

const usableItems = new WeakMap<readonly unknown[], readonly Fields[]>();

/** Entries with the required field. One result for all users of the same array, which belongs to one kind of list only. */
export function usable(items: readonly unknown[], id: string): readonly Fields[] {
  const entries =
    usableItems.get(items) ??
    items.filter(
      (item): item is Fields =>
        typeof item === "object" && item !== null && typeof (item as Fields)[id] === "string",
    );
  usableItems.set(items, entries);
  return entries;
}
