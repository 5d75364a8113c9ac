/** The network where the runtime has only `fetch`: Workers, browsers, or a fetch of the user's own. */
import { toNetworkError } from "./network-error.js";
import { openByFetch, type WireClient } from "./wire.js";

/**
 * A network client over a `fetch`. Host names cannot be resolved here, so only literal addresses can be checked.
 *
 * @param fetch @default the runtime's own
 */
export function createFetchClient(fetch: typeof globalThis.fetch = globalThis.fetch): WireClient {
  const guarded: typeof globalThis.fetch = async (input, init) => {
    try {
      // Called as a plain function: browsers insist on the right `this`.
      return await fetch(input, init);
    } catch (error) {
      const signal = init?.signal;
      if (signal?.aborted) throw signal.reason;
      throw toNetworkError(error, { host: hostOf(input), sent: undefined });
    }
  };
  return {
    fetch: guarded,
    open: (request) => openByFetch(guarded, request),
    // The runtime owns its sockets.
    close: async () => {},
  };
}

function hostOf(input: Parameters<typeof globalThis.fetch>[0]): string {
  try {
    return new URL(input instanceof Request ? input.url : String(input)).host;
  } catch {
    return "the server";
  }
}
