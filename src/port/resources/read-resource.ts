/** Reads a resource, from the cache while the server's time to live lasts. */
import { ToolCallError } from "../../errors/tool-call-error.js";
import type { ResourceContents } from "../../model/resource-info.js";
import { dependsOnInput } from "../../protocol/session-result.js";
import type { PortCore } from "../port-core.js";
import type { ReadResourceOptions } from "../server-access.js";
import {
  resourceAddress,
  resourceMissing,
  resourceWithheld,
  type TemplateReference,
} from "./resource-address.js";

const isContents = (value: unknown): value is ResourceContents =>
  typeof value === "object" && value !== null && typeof (value as { uri?: unknown }).uri === "string";

/** Two codes are in use for a resource that does not exist. */
const NOT_FOUND = [-32002, -32602];

export async function readResource(
  port: PortCore,
  { server, resource }: { server: string; resource: string | TemplateReference },
  { context, cache, ...wait }: ReadResourceOptions,
): Promise<ResourceContents[]> {
  const uri = resourceAddress(server, resource);
  const event = {
    kind: "resource" as const,
    server,
    uri,
    message: { uri },
    context,
    principal: port.principal?.name,
  };
  return port.parts.observe(event, async () => {
    const connection = port.pool.require(server);
    const kept = cache ?? connection.config.cache ?? port.parts.settings.cache;
    const known = kept === false ? undefined : port.resourceCache.get(server, uri);
    if (known !== undefined) return known;
    // A new connection clears the cache, so connect before the read begins.
    if (connection.session === undefined)
      await connection.acquire({ timeoutMs: port.parts.settings.timeoutMs, ...wait });
    const reason = port.catalog.refusalOf(server, "resources", uri);
    if (reason !== undefined) throw resourceWithheld(server, uri, reason);
    const begun = port.resourceCache.begin();
    try {
      const result = await port.ask(connection, { method: "resources/read", params: { uri }, uri }, wait);
      const contents = Array.isArray(result["contents"]) ? result["contents"].filter(isContents) : [];
      // A result that depends on the user's input must not be cached.
      if (kept !== false && !dependsOnInput(result)) {
        const ttlMs = Math.min(promised(result), typeof kept === "object" ? kept.ttlMs : promised(result));
        port.resourceCache.keep({ server, uri, ttlMs }, contents, begun);
      }
      return contents;
    } catch (error) {
      if (!(error instanceof ToolCallError) || !NOT_FOUND.includes(error.rpcCode ?? 0)) throw error;
      const listed = port.catalog.resources().filter((info) => info.server === server);
      throw resourceMissing(
        { server, uri, why: error.what },
        listed.map((info) => info.uri),
        error,
      );
    }
  });
}

/** The server's time to live; 0 if it gives none. */
const promised = ({ ttlMs }: Record<string, unknown>): number => (typeof ttlMs === "number" ? ttlMs : 0);
