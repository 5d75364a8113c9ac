/** Reads all pages of one of a server's lists. */
import { ToolCallError } from "../errors/tool-call-error.js";
import { isPublic } from "../protocol/era.js";
import type { Session } from "../protocol/session.js";

/** More pages than any honest server has. */
const MAX_PAGES = 64;
/** More entries than any model could be told of; a few megabytes can hold a million. */
const MAX_ITEMS = 10_000;
const METHOD_NOT_FOUND = -32601;

export interface ListOptions {
  /** For all pages together. */
  timeoutMs: number;
  signal?: AbortSignal | undefined;
  /** A list that need not be asked for: another user was given it, and it is for all. */
  known?: ((key: string) => PagedList | undefined) | undefined;
  /** A list was read from the server. */
  onRead?: ((key: string, list: PagedList) => void) | undefined;
}

/** A list as it was sent, and what is known about it. */
export interface PagedList {
  readonly items: readonly unknown[];
  /** Why the list is not whole, if it is not. */
  readonly cut?: string | undefined;
  /** How long the server says the list holds. */
  readonly ttlMs?: number | undefined;
  /** When it was asked for (epoch milliseconds). */
  readonly readAt: number;
  /** The server says of every page that it may be given to any user. */
  readonly isPublic: boolean;
}

export interface ListKind {
  /** `tools/list`, … */
  method: string;
  /** Where the items stand in a page. */
  key: string;
  /** A server that does not know the method simply has none. @default false */
  isOptional?: boolean;
}

/** All items of a list. What goes wrong on the first page throws; a list that never ends is cut and says so. */
export async function listPages(session: Session, kind: ListKind, options: ListOptions): Promise<PagedList> {
  const known = options.known?.(kind.key);
  if (known !== undefined) return known;
  const list = await readPages(session, kind, options);
  options.onRead?.(kind.key, list);
  return list;
}

async function readPages(session: Session, kind: ListKind, options: ListOptions): Promise<PagedList> {
  const { method, key } = kind;
  const items: unknown[] = [];
  const cursors = new Set<string>();
  const deadline = performance.now() + options.timeoutMs;
  const readAt = Date.now();
  let ttlMs: number | undefined;
  let cursor: string | undefined;
  let isShared = session.era === "modern";
  const cutBecause = (cut: string): PagedList => ({ items, ttlMs, readAt, isPublic: false, cut });
  for (let page = 0; page < MAX_PAGES; page += 1) {
    const timeoutMs = Math.max(1, deadline - performance.now());
    const result = await fetchPage(session, { method, cursor }, { ...options, timeoutMs });
    if (result === undefined && kind.isOptional && page === 0)
      return { items, ttlMs, readAt, isPublic: false };
    if (result === undefined) return cutBecause(`The server declares it but does not know ${method}`);
    const found = result[key];
    ttlMs = shorter(ttlMs, result["ttlMs"]);
    isShared &&= isPublic(result);
    if (!Array.isArray(found)) return cutBecause(`The server sent a page without its list of ${key}`);
    // One by one: a spread of a very long page would overflow the stack.
    for (const item of found) {
      if (items.length === MAX_ITEMS) return cutBecause(`The list has more than ${MAX_ITEMS} entries`);
      items.push(item);
    }
    const next = result["nextCursor"];
    if (next === undefined || next === null) return { items, ttlMs, readAt, isPublic: isShared };
    if (typeof next !== "string") return cutBecause("The server sent a cursor that is not text");
    if (cursors.has(next)) return cutBecause("The server sent the same cursor twice");
    cursors.add(next);
    cursor = next;
  }
  return cutBecause(`The list has more than ${MAX_PAGES} pages`);
}

/** Zero and less mean "no promise": the list then holds until the server says that it changed. */
function shorter(known: number | undefined, given: unknown): number | undefined {
  if (typeof given !== "number" || !(given > 0)) return known;
  return known === undefined ? given : Math.min(known, given);
}

async function fetchPage(
  session: Session,
  { method, cursor }: { method: string; cursor: string | undefined },
  { timeoutMs, signal }: ListOptions,
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
