/** Finds the tool behind a public name, or says why there is none. */
import type { CatalogEntry } from "../catalog/build-snapshot.js";
import type { WaitOptions } from "../connection/server-connection.js";
import { CatalogError } from "../errors/catalog-error.js";
import { suggest } from "../util/suggest.js";
import type { Port } from "./port.js";

/** Brings up what is needed to know the tool. */
export async function findTool(port: Port, name: string, wait: WaitOptions): Promise<CatalogEntry> {
  const { catalog, pool } = port;
  await port.bringUp(pool.all(), wait);
  const known = catalog.entry(name);
  if (known !== undefined) return known;
  const { withheld: refused, excluded } = catalog.snapshot();
  const withheld = [...refused, ...excluded].find(
    (tool) => tool.name === name || `${tool.server}__${tool.name}` === name,
  );
  if (withheld !== undefined) {
    throw new CatalogError({
      code: "TOOL_WITHHELD",
      server: withheld.server,
      tool: withheld.name,
      what: `The tool is withheld: ${withheld.reason}`,
      next: "Look at the filters, or at withheldTools in snapshot()",
      reason: withheld.reason,
    });
  }
  const found = (await lookAgain(port, name, wait)) ?? (await askOwner(port, name, wait));
  if (found !== undefined) return found;
  const suggestions = suggest(
    name,
    catalog.tools().map((tool) => tool.name),
  );
  throw new CatalogError({
    code: "TOOL_NOT_FOUND",
    tool: name,
    what: `There is no tool named ${JSON.stringify(name)}`,
    next:
      suggestions.length > 0
        ? `Did you mean ${suggestions.join(" or ")}`
        : "Look at tools() for what there is",
    suggestions,
  });
}

/**
 * A tool of a server whose lists were never read may well be there. By its name it is that server's: whoever calls it wants
 * the server, and gets to know why it is not there.
 */
async function askOwner(port: Port, name: string, wait: WaitOptions): Promise<CatalogEntry | undefined> {
  const { catalog, pool, parts } = port;
  const { additionalToolNamePrefix, prefix, timeoutMs } = parts.settings;
  if (!prefix) return undefined;
  const start = additionalToolNamePrefix === "" ? "" : `${additionalToolNamePrefix}__`;
  const owner = pool
    .all()
    .find((connection) => name.startsWith(`${start}${connection.name}__`) && !catalog.knows(connection.name));
  if (owner === undefined) return undefined;
  await owner.acquire({ timeoutMs, ...wait });
  return catalog.entry(name);
}

/** Lists from an export or a store may be older than the tool: those who were never asked are asked now. */
async function lookAgain(
  { catalog, pool }: Port,
  name: string,
  wait: WaitOptions,
): Promise<CatalogEntry | undefined> {
  const unasked = pool.all().filter(({ state }) => state.status === "idle");
  if (unasked.length === 0) return undefined;
  await pool.connect(unasked, wait);
  if (wait.signal?.aborted) throw wait.signal.reason;
  return catalog.entry(name);
}
