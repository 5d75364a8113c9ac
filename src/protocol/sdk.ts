/** The protocol engine, loaded at the first connection: its import costs more than all of Toolport. */
import type * as Sdk from "@modelcontextprotocol/client";

let loading: Promise<typeof Sdk> | undefined;

/** The SDK's module. */
export function loadSdk(): Promise<typeof Sdk> {
  loading ??= import("@modelcontextprotocol/client").catch((error: unknown) => {
    // Out of file descriptors, say: the next connection tries again.
    loading = undefined;
    throw error;
  });
  return loading;
}
