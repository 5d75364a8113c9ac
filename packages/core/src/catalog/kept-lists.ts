/** What a catalog keeps of one server. */

import { isSameJson } from "@toolport/base";
import { LIST_KEYS } from "../protocol/change-watch.js";
import type { Session } from "../protocol/session.js";
import { type Examined, NOT_EXAMINED } from "./safety/examine-lists.js";
import {
  isSameList,
  type ListFacts,
  type ListKey,
  NO_LISTS,
  type OneList,
  type ServerLists,
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
  const facts: KeptRead[] = [];
  const reads = newest.map(({ key, readAt, ttlMs, keepMs, isPublic, isShared = false }) => {
    const read = { readAt, ttlMs, keepMs, isPublic, isShared, order };
    // Lists that were read together often have the same facts, and many idle users keep them.
    const equal = facts.find((other) => isSameJson(other, read));
    if (equal === undefined) facts.push(read);
    return [key, equal ?? read];
  });
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

/** One line for debug output. */
export function describeKept({ lists: { tools, resources, prompts }, refused }: Kept): string {
  const withheld = tools.withheld.length + refused.size;
  return `${tools.tools.length} tools, ${withheld} withheld, ${resources.length} resources, ${prompts.length} prompts`;
}
