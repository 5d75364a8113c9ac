/** What a catalog keeps of one server, and its export format. */
import { LIST_KEYS } from "../protocol/change-watch.js";
import type { Session } from "../protocol/session.js";
import type { ExportedServer } from "./exported-catalog.js";
import { type Examined, NOT_EXAMINED } from "./safety/examine-lists.js";
import {
  isSameList,
  type ListFacts,
  type ListKey,
  NO_LISTS,
  type OneList,
  readTools,
  type ServerLists,
  usable,
} from "./server-lists.js";

export interface Kept extends Examined {
  readonly lists: ServerLists;
  /** How the server's own lists were read. A list that it was not asked for is missing. */
  readonly reads: Readonly<Partial<Record<ListKey, KeptRead>>>;
  readonly session: Pick<Session, "era" | "transport"> | undefined;
  /** The source of the lists: the server, an export, or the store of an earlier process. */
  readonly origin: "server" | "export" | "store";
}

export interface KeptRead extends ListFacts {
  /** Position in the order of reads and changes. */
  readonly order: number;
  /** The list was read for another user. */
  readonly isShared: boolean;
}

/** Lists of one server that were requested together. */
export interface ReadLists {
  readonly session: Pick<Session, "era" | "transport">;
  readonly lists: readonly OneList[];
  readonly order: number;
}

/** The lists of a server after a read. A slow read that began earlier does not replace the result of a later one. */
export function mergeLists(before: Kept | undefined, read: ReadLists, examined: Examined): Kept {
  const { order } = read;
  const { era, transport } = read.session;
  const newest = read.lists.filter(({ key }) => (before?.reads[key]?.order ?? 0) <= order);
  const isNewest = (key: ListKey) => newest.some((one) => one.key === key);
  const lists = { ...(before?.lists ?? NO_LISTS), ...listsOf(newest) };
  const reads = newest.map(({ key, readAt, ttlMs, keepMs, isPublic, isShared = false }) => [
    key,
    { readAt, ttlMs, keepMs, isPublic, isShared, order },
  ]);
  const { refused, changed, scanned, isPinCheckDue } = isNewest("tools") ? examined : (before ?? examined);
  return {
    lists,
    reads: { ...before?.reads, ...Object.fromEntries(reads) },
    refused,
    changed,
    scanned,
    isPinCheckDue,
    refusedItems: refusedIn(lists, [before?.refusedItems, examined.refusedItems]),
    session: { era, transport },
    origin: "server",
  };
}

/** Several lists under their keys. */
export const listsOf = (lists: readonly OneList[]): Partial<ServerLists> =>
  Object.fromEntries(lists.map(({ key, list }) => [key, list]));

/** The refused entries that are still listed. */
function refusedIn(
  lists: ServerLists,
  refusals: readonly (Examined["refusedItems"] | undefined)[],
): Examined["refusedItems"] {
  const all = refusals.flatMap((refused) => [...(refused ?? [])]);
  if (all.length === 0) return NOT_EXAMINED.refusedItems;
  const listed = new Set([...lists.resources, ...lists.resourceTemplates, ...lists.prompts]);
  return new Map(all.filter(([item]) => listed.has(item)));
}

/** Whether a list, and what is withheld of it, is the same as before. */
export function isSameKept(key: ListKey, before: Kept | undefined, now: Kept): boolean {
  if (before?.origin !== "server" || before.reads[key]?.isPublic !== now.reads[key]?.isPublic) return false;
  if (before.isPinCheckDue !== now.isPinCheckDue) return false;
  return (
    isSameList(key, before.lists, now.lists) &&
    isSameMap(before.refused, now.refused) &&
    isSameMap(before.refusedItems, now.refusedItems)
  );
}

const isSameMap = <Key>(one: ReadonlyMap<Key, string>, other: ReadonlyMap<Key, string>): boolean =>
  one.size === other.size && [...one].every(([key, reason]) => other.get(key) === reason);

/** Lists that may be given to any user. */
export const publicKeysOf = ({ reads }: Kept): ListKey[] =>
  LIST_KEYS.filter((key) => reads[key]?.isPublic === true);

export function exportServer({ lists, session }: Kept): ExportedServer {
  return {
    tools: lists.tools.tools.map((tool) => tool.raw),
    resources: lists.resources,
    resourceTemplates: lists.resourceTemplates,
    prompts: lists.prompts,
    era: session?.era,
    transport: session?.transport,
  };
}

/** Only the lists that the server was asked for. */
export function exportRead(kept: Kept): Partial<ExportedServer> {
  const { era, transport, ...lists } = exportServer(kept);
  const read = Object.entries(lists).filter(([key]) => kept.reads[key as ListKey] !== undefined);
  return { ...Object.fromEntries(read), era, transport };
}

export function restoreServer(exported: ExportedServer, origin: Kept["origin"]): Kept {
  const session = {
    era: exported.era ?? "legacy",
    transport: (exported.transport ?? "custom") as Session["transport"],
  };
  const lists: ServerLists = {
    tools: readTools(exported.tools ?? [], session),
    resources: usable(exported.resources ?? [], "uri"),
    resourceTemplates: usable(exported.resourceTemplates ?? [], "uriTemplate"),
    prompts: usable(exported.prompts ?? [], "name"),
  };
  return { lists, reads: {}, ...NOT_EXAMINED, session, origin };
}

/** One line for debug output. */
export function describeKept({ lists: { tools, resources, prompts }, refused }: Kept): string {
  const withheld = tools.withheld.length + refused.size;
  return `${tools.tools.length} tools, ${withheld} withheld, ${resources.length} resources, ${prompts.length} prompts`;
}
