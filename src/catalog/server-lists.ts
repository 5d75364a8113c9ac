/** The lists of one server, and how one of them is read. One invalid entry does not affect the others. */
import type { ServerCapabilities } from "@modelcontextprotocol/client";
import type { CacheOption } from "../config/server-entry.js";
import type { ListKey } from "../protocol/change-watch.js";
import type { Session } from "../protocol/session.js";
import { isSameJson } from "../util/json.js";
import { type ListFacts, type ListKind, type ListLimits, listPages, type PagedList } from "./list-pages.js";
import { readTools, type ToolList } from "./source-tool.js";

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

/** One list of a server. */
export interface OneList extends ListFacts {
  readonly key: ListKey;
  readonly list: ServerLists[ListKey];
  /** As the server sent it. Undefined if it was not asked. */
  readonly paged?: PagedList | undefined;
  /** The list was read for another user. @default false */
  readonly isShared?: boolean | undefined;
}

interface Kind extends ListKind {
  readonly capability: keyof ServerCapabilities & ("tools" | "resources" | "prompts");
  /** The required field of an entry. */
  readonly id: string;
}

const KINDS: Readonly<Record<ListKey, Kind>> = {
  tools: { method: "tools/list", key: "tools", capability: "tools", id: "name" },
  resources: { method: "resources/list", key: "resources", capability: "resources", id: "uri" },
  resourceTemplates: {
    method: "resources/templates/list",
    key: "resourceTemplates",
    capability: "resources",
    id: "uriTemplate",
    // The capability covers resources only: many servers do not support the method for templates.
    isOptional: true,
  },
  prompts: { method: "prompts/list", key: "prompts", capability: "prompts", id: "name" },
};

export interface ReadOptions extends ListLimits {
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
export async function readList(
  session: Session,
  key: ListKey,
  { intern, onWarning, ...limits }: ReadOptions,
): Promise<OneList> {
  const kind = KINDS[key];
  if (session.capabilities[kind.capability] === undefined) return emptyList(key);
  const read = await listPages(session, kind, limits);
  const paged = intern === undefined ? read : { ...read, items: intern(key, read.items) };
  if (paged.cut !== undefined) onWarning(`The list of ${key} is incomplete: ${paged.cut}`);
  const one = toOneList(key, paged, session);
  if (key !== "tools") {
    const unusable = paged.items.length - (one.list as readonly Fields[]).length;
    if (unusable > 0) onWarning(`${unusable} of its ${key} have no ${kind.id}`);
  }
  return one;
}

/** A list as its server, or another user, sent it. */
export function toOneList(
  key: ListKey,
  paged: PagedList,
  session: Pick<Session, "era" | "transport">,
): OneList {
  const { items, cut, readAt, ttlMs, isMissing, isPublic } = paged;
  const { keepMs = 0 } = paged;
  const facts = { readAt, ttlMs, keepMs: isMissing ? undefined : keepMs, isPublic };
  if (key !== "tools") return { key, list: usable(items, KINDS[key].id), ...facts, paged };
  const tools = readTools(items, session);
  return { key, list: cut === undefined ? tools : { ...tools, cut }, ...facts, paged };
}

const PARTS: Readonly<Record<ListKey, (lists: ServerLists) => unknown>> = {
  tools: ({ tools: { tools, withheld, cut } }) => [tools.map(({ raw }) => raw), withheld, cut],
  resources: ({ resources }) => resources,
  resourceTemplates: ({ resourceTemplates }) => resourceTemplates,
  prompts: ({ prompts }) => prompts,
};

/** Whether the server sent the same list again. Interned lists that are equal are the same array. */
export const isSameList = (key: ListKey, before: ServerLists, now: ServerLists): boolean =>
  before[key] === now[key] || isSameJson(PARTS[key](before), PARTS[key](now));

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
