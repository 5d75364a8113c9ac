/**
 * Finds the tool that a client names. The error for an unknown name suggests only tools that a list would show to the client, and
 * names no server that is hidden from it.
 */
import type { CatalogEntry } from "../../catalog/build-snapshot.js";
import { CatalogError } from "../../errors/catalog-error.js";
import { ToolportError } from "../../errors/toolport-error.js";
import { missingTool } from "../../port/find-tool.js";
import { suggest } from "../../util/suggest.js";
import type { RequestContext } from "../request-context.js";
import { visibleTools } from "./own-tools.js";

/** Some of them may be hidden. */
const MAX_CANDIDATES = 20;
const MAX_SUGGESTIONS = 3;

export async function findForCall(
  context: RequestContext,
  name: string,
  signal: AbortSignal,
): Promise<CatalogEntry> {
  try {
    return await context.user.port.findForCall(name, { signal });
  } catch (error) {
    if (!ToolportError.isInstance(error)) throw error;
    const { server } = error;
    // The reason why such a server has no tools would name it, and a login would begin.
    const isHidden = server !== undefined && !context.parts.showsServer(context.client, server);
    const suggests = error instanceof CatalogError && error.suggestions.length > 0;
    if (!isHidden && !suggests) throw error;
    throw missingTool(name, await suggestionsFor(context, name));
  }
}

async function suggestionsFor(context: RequestContext, name: string): Promise<readonly string[]> {
  const { catalog } = context.user.port;
  const names = catalog.tools().map((tool) => tool.name);
  const candidates = suggest(name, names, MAX_CANDIDATES).flatMap((each) => catalog.entry(each)?.info ?? []);
  const isShown = await visibleTools(context, candidates);
  return candidates
    .filter((_, index) => isShown[index])
    .slice(0, MAX_SUGGESTIONS)
    .map((tool) => tool.name);
}
