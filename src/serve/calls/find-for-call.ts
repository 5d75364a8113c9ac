/** Finds the tool that a client names. The error for an unknown name suggests only tools that a list would show to the client. */
import type { CatalogEntry } from "../../catalog/build-snapshot.js";
import { CatalogError } from "../../errors/catalog-error.js";
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
    if (!(error instanceof CatalogError) || error.suggestions.length === 0) throw error;
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
