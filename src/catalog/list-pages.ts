/** Reads all pages of a list. */
import { ToolCallError } from "../errors/toolport-error.js";
import type { ListKey } from "../protocol/change-watch.js";
import { isPublic } from "../protocol/era.js";
import type { Session } from "../protocol/session.js";

/** Limit for servers whose pages never end. */
const MAX_PAGES = 64;
/** A few megabytes can contain a million entries; no model can use that many. */
const MAX_ITEMS = 10_000;
const METHOD_NOT_FOUND = -32601;

export interface ListLimits {
  /** Time limit for all pages together. */
  readonly timeoutMs: number;
  readonly signal?: AbortSignal | undefined;
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
  /** The server does not have the method. */
  readonly isMissing?: boolean | undefined;
}

export interface ListKind {
  /** `tools/list`, … */
  method: string;
  /** Key of the items in a page. */
  key: ListKey;
  /** A server without the method has an empty list. @default false */
  isOptional?: boolean;
}

/** Reads all items. An error on the first page is thrown; a list that never ends is truncated. */
export async function listPages(session: Session, kind: ListKind, limits: ListLimits): Promise<PagedList> {
  const { method, key } = kind;
  const items: unknown[] = [];
  const cursors = new Set<string>();
  const deadline = performance.now() + limits.timeoutMs;
  const readAt = Date.now();
  let ttlMs: number | undefined;
  let cursor: string | undefined;
  let isShared = session.era === "modern";
  let keepMs = session.era === "modern" ? Number.POSITIVE_INFINITY : 0;
  const cutBecause = (cut: string): PagedList => ({ items, ttlMs, readAt, isPublic: false, cut });
  for (let page = 0; page < MAX_PAGES; page += 1) {
    const timeoutMs = Math.max(1, deadline - performance.now());
    const result = await fetchPage(session, { method, cursor }, { ...limits, timeoutMs });
    if (result === undefined && kind.isOptional && page === 0)
      return { items, ttlMs, readAt, isPublic: false, isMissing: true };
    if (result === undefined)
      return cutBecause(`The server declares the capability but does not support ${method}`);
    const found = result[key];
    ttlMs = shorter(ttlMs, result["ttlMs"]);
    isShared &&= isPublic(result);
    keepMs = Math.min(keepMs, shorter(undefined, result["ttlMs"]) ?? 0);
    if (!Array.isArray(found)) return cutBecause(`The server sent a page without its list of ${key}`);
    // One by one: spreading a very long page would overflow the stack.
    for (const item of found) {
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
function shorter(known: number | undefined, given: unknown): number | undefined {
  if (typeof given !== "number" || !(given > 0)) return known;
  return known === undefined ? given : Math.min(known, given);
}

async function fetchPage(
  session: Session,
  { method, cursor }: { method: string; cursor: string | undefined },
  { timeoutMs, signal }: ListLimits,
): Promise<Record<string, unknown> | undefined> {
  try {
    const params = cursor === undefined ? {} : { cursor };
    return await session.request(method, params, { timeoutMs, maxTimeoutMs: timeoutMs, signal });
  } catch (error) {
    if (error instanceof ToolCallError && error.rpcCode === METHOD_NOT_FOUND && !session.unproven)
      return undefined;
    throw error;
  }
}
