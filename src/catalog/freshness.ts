/** How long a list may be used without asking again. */
import type { CacheOption } from "../config/server-entry.js";

/** Whether a list read at `readAt` has to be read again. The shorter of both promises counts. */
export function isStale(
  { readAt, ttlMs }: { readonly readAt: number; readonly ttlMs: number | undefined },
  cache: CacheOption,
  now: number = Date.now(),
): boolean {
  if (cache === false) return true;
  const ours = typeof cache === "object" ? cache.ttlMs : Number.POSITIVE_INFINITY;
  return now - readAt >= Math.min(ours, ttlMs ?? Number.POSITIVE_INFINITY);
}
