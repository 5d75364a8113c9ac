/** Finds a tool by its public name with as few requests to servers as possible, for a port that reads lists when they are needed. */

import { withDeadline } from "@toolport/base";
import type { CatalogEntry } from "../catalog/build-snapshot.js";
import type { WaitOptions } from "../connection/server-connection.js";
import { ownerNames, throwMissing } from "./find-tool.js";
import type { ListedPort } from "./list-reader.js";
import type { NeededLists } from "./needed-lists.js";

type NeedingPort = ListedPort & { readonly needs: NeededLists };

/** Beyond this number all hints are forgotten. */
const MAX_HINTS = 10_000;

/** Lists the server that probably has the tool, then all others. */
export async function findListed(port: NeedingPort, name: string, wait: WaitOptions): Promise<CatalogEntry> {
  const { catalog, pool, parts } = port;
  const { toolHints: hints } = parts;
  wait.signal?.throwIfAborted();
  const hint = hints.get(name);
  const owners = ownerNames(port, name);
  const likely = hint !== undefined && pool.configOf(hint) !== undefined ? [hint] : owners;
  const found = likely.length > 0 ? await provide(port, { name, servers: likely }, wait) : undefined;
  const entry = found ?? catalog.entry(name) ?? (await inSavedLists(port, name, wait)) ?? (await anywhere());
  if (entry === undefined) return missing();
  if (hints.size >= MAX_HINTS) hints.clear();
  hints.set(name, entry.info.server);
  return entry;

  /** Without a likely server, all are asked. */
  async function anywhere(): Promise<CatalogEntry | undefined> {
    const others = pool.names.filter((server) => !likely.includes(server));
    await port.needs.need("tools", { servers: others, signal: wait.signal });
    return catalog.entry(name);
  }

  async function missing(): Promise<CatalogEntry> {
    // The owner may have the tool although its list was never read: throws the reason why it cannot be read.
    const owner = owners.find((server) => !catalog.knows(server));
    if (owner !== undefined) {
      const timeoutMs = wait.timeoutMs ?? parts.settings.timeoutMs;
      await pool.require(owner).acquire({ timeoutMs, ...wait });
      await port.needs.provide(owner, "tools");
    }
    return catalog.entry(name) ?? throwMissing(catalog, name);
  }
}

/** Lists these servers until one of them has the tool. */
async function provide(
  { needs, catalog, parts }: NeedingPort,
  { name, servers }: { name: string; servers: readonly string[] },
  wait: WaitOptions,
): Promise<CatalogEntry | undefined> {
  const timeoutMs = wait.timeoutMs ?? parts.settings.timeoutMs;
  const onTimeout = () => new Error("The list is late");
  for (const server of servers) {
    const providing = needs.provide(server, "tools");
    if (providing !== undefined)
      await withDeadline(providing, { signal: wait.signal, timeoutMs, onTimeout }).catch(() =>
        wait.signal?.throwIfAborted(),
      );
    const entry = catalog.entry(name);
    if (entry !== undefined) return entry;
  }
  return undefined;
}

/** Saved lists may name the server. Its own list decides. */
async function inSavedLists(
  port: NeedingPort,
  name: string,
  wait: WaitOptions,
): Promise<CatalogEntry | undefined> {
  const { catalog, pool, saved } = port;
  const unknown = pool.configs().filter((config) => !catalog.knows(config.name));
  if (saved === undefined || unknown.length === 0) return undefined;
  await (await saved.state)?.restoreLists(unknown);
  await catalog.restored();
  const hint = catalog.entry(name)?.info.server;
  return hint === undefined ? undefined : provide(port, { name, servers: [hint] }, wait);
}
