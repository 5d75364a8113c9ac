/** Connects the servers whose tools are needed, and finds a tool by its public name or explains why there is none. */

import { CatalogError, didYouMean, lookOf, onSharedAbort, suggest } from "@toolport/base";
import type { CatalogEntry } from "../catalog/build-snapshot.js";
import type { Catalog } from "../catalog/catalog.js";
import { withheldError } from "../catalog/safety/examine-lists.js";
import type { ConnectOutcome } from "../connection/connection-pool.js";
import type { ServerConnection, WaitOptions } from "../connection/server-connection.js";
import type { ListedPort } from "./list-reader.js";
import type { PortCore } from "./port-core.js";

/** Connects the servers that may have the tool. */
export async function findTool(port: PortCore, name: string, wait: WaitOptions): Promise<CatalogEntry> {
  const { catalog, pool } = port;
  const { signal } = wait;
  signal?.throwIfAborted();
  const owners = ownerNames(port, name).map((server) => pool.require(server));
  const failedBefore = owners.filter(({ state }) => state.status === "failed");
  const waiting = new AbortController();
  const stopListening = signal && onSharedAbort(signal, () => waiting.abort(signal.reason));
  try {
    const allServers = port.ensureLists(pool.all(), { ...wait, signal: signal && waiting.signal });
    if (owners.length > 0) {
      // Do not wait for other servers that are slow to connect.
      allServers.catch(() => {});
      await port.ensureLists(owners, wait);
      const early = catalog.entry(name);
      if (early !== undefined) return early;
    }
    await allServers;
  } finally {
    // After this call, an abort by its caller must not stop connections that other callers wait for.
    stopListening?.();
  }
  const known = catalog.entry(name);
  if (known !== undefined) return known;
  throwWithheld(catalog, name);
  const found = await lookAgain(port, name, wait);
  if (found !== undefined) return found;
  // The server that owns the prefix may have the tool although its lists were never read.
  const owner = owners.find((connection) => !catalog.knows(connection.name));
  // It was tried for this call: one call causes one attempt.
  if (owner?.state.status === "failed" && !failedBefore.includes(owner)) throw owner.state.error;
  await owner?.acquire({ timeoutMs: port.parts.settings.timeoutMs, ...wait });
  return catalog.entry(name) ?? throwMissing(catalog, name);
}

/** Throws if filters, pins or the scan withhold the tool. */
function throwWithheld(catalog: Catalog, name: string): void {
  const { withheld: refused, excluded } = catalog.snapshot();
  const withheld = [...refused, ...excluded].find(
    (tool) => tool.name === name || `${tool.server}__${tool.name}` === name,
  );
  if (withheld !== undefined) throw withheldError(withheld);
}

/** Throws why there is no such tool. */
export function throwMissing(catalog: Catalog, name: string): never {
  throwWithheld(catalog, name);
  const names = catalog.tools().map((tool) => tool.name);
  throw missingTool(name, suggest(name, names));
}

export const missingTool = (name: string, suggestions: readonly string[]): CatalogError =>
  new CatalogError({
    code: "TOOL_NOT_FOUND",
    tool: name,
    what: `There is no tool named ${JSON.stringify(name)}`,
    next: didYouMean(suggestions, "See tools() for the available tools"),
    suggestions,
  });

/** The servers that may own the name, by its prefix. Similar server names are included, because their prefixes may be changed. */
export function ownerNames({ pool, parts }: PortCore, name: string): string[] {
  const { additionalToolNamePrefix, prefix } = parts.settings;
  if (!prefix) return [];
  const start = additionalToolNamePrefix === "" ? "" : `${additionalToolNamePrefix}__`;
  const look = lookOf(name);
  return pool.names.filter((server) => look.startsWith(lookOf(`${start}${server}__`)));
}

/** Lists from an export or a store may be outdated: connects the servers that have not been connected yet. */
async function lookAgain(
  { catalog, pool }: PortCore,
  name: string,
  wait: WaitOptions,
): Promise<CatalogEntry | undefined> {
  const unasked = pool.all().filter(({ state }) => state.status === "idle");
  if (unasked.length === 0) return undefined;
  await pool.connect(unasked, wait);
  if (wait.signal?.aborted) throw wait.signal.reason;
  return catalog.entry(name);
}

/** States from which a server connects when it is needed. */
const COMING_UP = ["idle", "connecting", "connected", "discovering"];

/**
 * Connects servers that were never connected and whose lists are not known from an exported catalog. A failed server stays
 * disconnected until a caller names it. Stale lists are read again.
 */
export async function ensureLists(
  port: ListedPort,
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
  await ensureFallbackLists(port, connections, wait);
  return outcomes;
}

/** The tools of an unreachable server that was never listed are taken from its fallback servers, so these are connected. */
async function ensureFallbackLists(
  { pool, catalog }: PortCore,
  connections: readonly ServerConnection[],
  wait: WaitOptions,
): Promise<void> {
  const servers = connections
    .filter(({ config }) => catalog.needsFallbackTools(config))
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
function isListed(port: PortCore, name: string): boolean {
  const { catalog } = port;
  return catalog.knows(name) && (port.isRestored(name) || catalog.keptOf(name)?.origin !== "store");
}

async function refreshStale(
  { lists, parts }: ListedPort,
  { session, config, name }: ServerConnection,
  wait: WaitOptions,
): Promise<void> {
  if (session === undefined) return;
  try {
    await lists.refreshStale(session, config, wait);
  } catch (error) {
    if (wait.signal?.aborted) throw error;
    parts.warn(name, `The lists of the server could not be read again: ${String(error)}`);
  }
}
