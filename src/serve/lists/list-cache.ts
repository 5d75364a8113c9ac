/** How long modern clients may keep a list of the gateway, and whether they may share it. */
import type { CacheOption } from "../../config/server-entry.js";
import type { ConnectionState } from "../../connection/connection-state.js";
import type { Port } from "../../port/port.js";
import { type CachePolicy, NOT_CACHED } from "../results.js";
import type { ListKey } from "./list-entries.js";
import { listHint } from "./list-hint.js";

/**
 * The shortest time of the servers in the list, and the strictest scope. A server that says nothing about its list, or is not
 * available now, makes the time 0.
 *
 * @param isShared all clients see the same lists
 */
export function listCache(port: Port, list: ListKey, isShared: boolean): CachePolicy {
  let ttlMs = Number.POSITIVE_INFINITY;
  let isPublic = isShared;
  for (const { name, enabled, blocked, cache = port.parts.settings.cache } of port.configs()) {
    if (!enabled || blocked !== undefined) continue;
    const isAway = isUnavailable(port.pool.peek(name)?.state);
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

const limitOf = (cache: CacheOption): number =>
  cache === false ? 0 : cache === true ? Number.POSITIVE_INFINITY : cache.ttlMs;

/** The server is down, is starting, or waits for a login. One that was closed because no client used it is none of these. */
function isUnavailable(state: ConnectionState | undefined): boolean {
  if (state === undefined || state.status === "idle" || state.status === "ready") return false;
  return state.status !== "closed" || state.by !== "idleness";
}
