/** How long clients of a gateway may keep a list of one server, and whether they may share it. */
import type { ListKey } from "../../catalog/server-lists.js";
import type { Port } from "../../port/port.js";
import { listNameOf } from "../../protocol/change-watch.js";

/** What a client may do with a list. */
export interface ListHint {
  /** When the list was read (epoch milliseconds). */
  readonly readAt: number;
  /** How long the list may be kept from then on. */
  readonly keepMs: number;
  /** Other users may have it. */
  readonly isPublic: boolean;
}

const NOT_KEPT: ListHint = { readAt: 0, keepMs: 0, isPublic: false };

/** Undefined if the server has no such list. */
export function listHint(
  { catalog, lists: { onDemand } }: Pick<Port, "catalog" | "lists">,
  server: string,
  list: ListKey,
): ListHint | undefined {
  const kept = catalog.keptOf(server);
  if (kept?.origin !== "server") return NOT_KEPT;
  const { lists, parts } = kept;
  const part = parts?.[list];
  if (parts !== undefined && part === undefined) return NOT_KEPT;
  const { readAt, keepMs } = part ?? lists.times[list] ?? {};
  if (readAt === undefined || keepMs === undefined) return undefined;
  const isPublic = lists.publicKeys.includes(list);
  const isChanged =
    part === undefined
      ? catalog.isOutdated(server, listNameOf(list))
      : onDemand.isOutdated(server, list, part.turn);
  return isChanged ? { ...NOT_KEPT, isPublic } : { readAt, keepMs, isPublic };
}
