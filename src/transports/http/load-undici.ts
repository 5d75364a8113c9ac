/**
 * The three parts of undici that are used. Its index also loads fetch, web sockets, caches and mocks, which costs three
 * times as much at the first connection. The paths are not part of its interface, so the index stands behind them.
 */
import type { Agent, buildConnector, Client } from "undici";

export interface UndiciParts {
  readonly Agent: typeof Agent;
  readonly Client: typeof Client;
  readonly buildConnector: typeof buildConnector;
}

let loading: Promise<UndiciParts> | undefined;

/** Loaded with the first request: a port without HTTP servers never pays for it. */
export function loadUndici(): Promise<UndiciParts> {
  loading ??= loadParts()
    .catch(() => import("undici"))
    .catch((error: unknown) => {
      // Out of file descriptors, say: the next request tries again.
      loading = undefined;
      throw error;
    });
  return loading;
}

async function loadParts(): Promise<UndiciParts> {
  const [agent, client, connect] = await Promise.all([
    // @ts-expect-error: it has no types of its own
    import("undici/lib/dispatcher/agent.js"),
    // @ts-expect-error: it has no types of its own
    import("undici/lib/dispatcher/client.js"),
    // @ts-expect-error: it has no types of its own
    import("undici/lib/core/connect.js"),
  ]);
  return { Agent: agent.default, Client: client.default, buildConnector: connect.default };
}
