/** Decides when a list has to be read again. */
import type { CacheOption } from "../config/server-entry.js";

/** True if a list read at `readAt` is stale. The shorter time to live counts. */
export function isStale(
  { readAt, ttlMs }: { readonly readAt: number; readonly ttlMs: number | undefined },
  cache: CacheOption,
  now: number = Date.now(),
): boolean {
  if (cache === false) return true;
  const ours = typeof cache === "object" ? cache.ttlMs : Number.POSITIVE_INFINITY;
  return now - readAt >= Math.min(ours, ttlMs ?? Number.POSITIVE_INFINITY);
}
