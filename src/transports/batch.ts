/** Batches of JSON-RPC, which went out of the protocol with 2025-06-18: which requests one of them would have answered. */
import type { RequestId } from "@modelcontextprotocol/client";

/** Ids of the answers in a batch that is not taken, so that nobody waits for them. */
export function answeredIn(batch: readonly unknown[]): Set<RequestId> {
  const ids = new Set<RequestId>();
  for (const entry of batch) {
    if (typeof entry !== "object" || entry === null || "method" in entry) continue;
    const { id } = entry as { id?: unknown };
    if (typeof id === "string" || typeof id === "number") ids.add(id);
  }
  return ids;
}
