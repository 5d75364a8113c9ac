/** Reads a resource, from the cache while the server's time to live lasts. */

import { CatalogError, didYouMean, type ResourceContents, suggest, ToolCallError } from "@toolport/base";
import { parseUriTemplate, type TemplateArguments } from "../../catalog/uri-template.js";
import { dependsOnInput } from "../../protocol/session.js";
import type { PortCore } from "../port-core.js";
import type { ReadResourceOptions } from "../server-access.js";

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
  return port.observe({ kind: "resource", server, uri, message: { uri }, context }, async () => {
    const connection = port.pool.require(server);
    const kept = cache ?? connection.config.cache ?? port.parts.settings.cache;
    const known = kept === false ? undefined : port.resourceCache.get(server, uri);
    if (known !== undefined) return known;
    // A new connection clears the cache, so connect before the read begins.
    if (connection.session === undefined)
      await connection.acquire({ timeoutMs: port.parts.settings.timeoutMs, ...wait });
    port.assertOffered(server, "resources", uri);
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

/** A resource template and its variables. */
export interface TemplateReference {
  /** The `uriTemplate` of {@link Toolport.resourceTemplates}. */
  readonly template: string;
  /** A value for each variable; those of a query are optional. */
  readonly args: TemplateArguments;
}

/**
 * Expands a template to a URI.
 *
 * @throws ToolCallError INVALID_ARGUMENTS if variables are missing or unknown, or the template is invalid
 */
function resourceAddress(server: string, resource: string | TemplateReference): string {
  if (typeof resource === "string") return resource;
  const { template, args } = resource;
  const parsed = parseUriTemplate(template);
  const fail = (what: string, issues: { path: string; message: string }[] = []): never => {
    throw new ToolCallError({
      code: "INVALID_ARGUMENTS",
      server,
      what: `The template ${template} cannot be filled in: ${what}`,
      next: "See resourceTemplates() for its variables",
      outcome: "unsent",
      issues,
    });
  };
  if (parsed === undefined) return fail("it is not a URI template");
  const given = Object.keys(args ?? {}).filter((name) => args[name] !== undefined);
  const issues = [
    ...parsed.required
      .filter((name) => !given.includes(name))
      .map((name) => ({ path: `/${name}`, message: "is missing" })),
    ...given
      .filter((name) => !parsed.names.includes(name))
      .map((name) => ({ path: `/${name}`, message: `is not a variable${meant(name, parsed.names)}` })),
  ];
  if (issues.length > 0) fail(issues.map(({ path, message }) => `${path} ${message}`).join(", "), issues);
  return parsed.expand(args);
}

function meant(name: string, names: readonly string[]): string {
  const [close] = suggest(name, names);
  return close === undefined ? "" : `; did you mean ${close}?`;
}

/** The error for a URI or a template that the server does not have. */
export function resourceMissing(
  { server, uri, why = "" }: { server: string; uri: string; why?: string },
  known: readonly string[],
  cause?: unknown,
): CatalogError {
  const suggestions = suggest(uri, known);
  return new CatalogError({
    code: "RESOURCE_NOT_FOUND",
    server,
    what: `There is no resource ${uri}${why === "" ? "" : `: ${why}`}`,
    next: didYouMean(suggestions, "See resources() and resourceTemplates() for the available resources"),
    suggestions,
    cause,
  });
}
