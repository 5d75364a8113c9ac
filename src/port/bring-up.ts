/** Connects the servers whose tools are needed. */
import type { Catalog } from "../catalog/catalog.js";
import type { ConnectionPool, ConnectOutcome } from "../connection/connection-pool.js";
import type { ServerConnection, WaitOptions } from "../connection/server-connection.js";

interface BringUpParts {
  readonly pool: ConnectionPool;
  readonly catalog: Catalog;
  readonly parts: { readonly warn: (server: string, message: string) => void };
  /** Waits until saved and exported lists are restored. */
  restored(): Promise<void>;
  /** True if the server came from the store and the program has not named it since. */
  isRestored(name: string): boolean;
}

/** States from which a server connects when it is needed. */
const COMING_UP = ["idle", "connecting", "connected", "discovering"];

/**
 * Connects servers that were never connected and whose lists are not known from an exported catalog. A failed server stays
 * disconnected until a caller names it. Stale lists are read again.
 */
export async function bringUp(
  port: BringUpParts,
  connections: readonly ServerConnection[],
  wait: WaitOptions,
): Promise<ConnectOutcome[]> {
  await port.restored();
  const wanted = connections.filter(
    ({ name, state }) => COMING_UP.includes(state.status) && !isListed(port, name),
  );
  const [outcomes] = await Promise.all([
    wanted.length === 0 ? [] : port.pool.connect(wanted, wait),
    port.catalog.checkDuePins(),
    ...connections.map((connection) => refreshStale(port, connection, wait)),
  ]);
  if (wait.signal?.aborted) throw wait.signal.reason;
  await bringUpFallbacks(port, connections, wait);
  return outcomes;
}

/** The tools of an unreachable server that was never listed are taken from its fallback servers, so these are connected. */
async function bringUpFallbacks(
  { pool, catalog }: BringUpParts,
  connections: readonly ServerConnection[],
  wait: WaitOptions,
): Promise<void> {
  const servers = connections
    .filter(({ config }) => catalog.needsStandIn(config))
    .flatMap(({ config }) => config.fallback!.servers);
  const others = [...new Set(servers)].flatMap((name) => pool.get(name) ?? []);
  const unlisted = others.filter(
    ({ name, state }) => COMING_UP.includes(state.status) && !catalog.knows(name),
  );
  if (unlisted.length === 0) return;
  await pool.connect(unlisted, wait);
  if (wait.signal?.aborted) throw wait.signal.reason;
}

/**
 * Servers that an earlier process added keep their saved lists until they are needed. Servers of the program are connected:
 * for them, saved lists only help to find the server of a tool.
 */
function isListed(port: BringUpParts, name: string): boolean {
  const { catalog } = port;
  return catalog.knows(name) && (port.isRestored(name) || !catalog.isFromStore(name));
}

async function refreshStale(
  { catalog, parts }: BringUpParts,
  { session, config, name }: ServerConnection,
  wait: WaitOptions,
): Promise<void> {
  if (session === undefined) return;
  try {
    await catalog.refreshStale(session, config, wait);
  } catch (error) {
    if (wait.signal?.aborted) throw error;
    parts.warn(name, `The lists of the server could not be read again: ${String(error)}`);
  }
}
