/** Offers the tools that `deferTools` hides through the tool search of a provider. */
import {
  CALL_TOOL_NAME,
  SEARCH_TOOLS_NAME,
  searchDefinition,
  type ToolDefinition,
} from "../catalog/search/deferred-tools.js";
import { ConfigError } from "../errors/config-error.js";
import type { ToolInfo } from "../model/tool-info.js";
import { type OfferedTool, type OfferOptions, offeredTools, type ToolSelection } from "./offered-tools.js";
import type { ToolSource } from "./tool-source.js";

/** How a model finds the tools that `deferTools` hides. */
export type DeferredTools = (typeof DEFERRED_TOOLS)[number];

/** What a model does with the tools that it finds. */
export const CALL_BY_NAME = "then call what you find by its name";

const DEFERRED_TOOLS = ["native", "client", "own"] as const;

export interface DeferredOptions {
  /**
   * How a model finds the tools that `deferTools` hides. `"native"`: the provider searches and loads them. `"client"`: the provider asks
   * Toolport to search, and loads what it finds. `"own"`: the tools `search_tools` and `call_tool`, which work with every model.
   * No effect unless `deferTools` or `defer` of a server hides tools. See docs/context.md.
   * @default "own"
   */
  readonly deferred?: DeferredTools | undefined;
}

/** The callers that may use a tool: the same for all tools, or chosen for each; undefined: only the model. */
export type AllowedCallers<Caller extends string> =
  | readonly Caller[]
  | ((tool: ToolInfo) => readonly Caller[] | undefined);

/** The tools of a request, before they get the format of a provider. */
export interface DeferredOffer {
  /** Defined from the start. */
  readonly shown: readonly OfferedTool[];
  /** Loaded by a search. */
  readonly hidden: readonly OfferedTool[];
  /** The search that Toolport answers. */
  readonly search: ToolDefinition | undefined;
}

/** Lists the tools for a request. `search_tools` and `call_tool` are left out if the provider has a search. */
export async function offerTools(
  toolport: ToolSource,
  selection: ToolSelection,
  { deferred = "own", ...offer }: OfferOptions & { readonly deferred: DeferredTools | undefined },
): Promise<DeferredOffer> {
  checkDeferred(deferred, DEFERRED_TOOLS);
  const all = await offeredTools(toolport, selection, offer);
  if (deferred === "own") return { shown: all, hidden: [], search: undefined };
  const hidden = await offeredTools(toolport, selection, { ...offer, deferred: true });
  const servers = [...new Set(hidden.map(({ tool }) => tool.server))];
  const isSearched = deferred === "client" && hidden.length > 0;
  return {
    shown: withoutSearch(all, hidden, ({ tool }) => tool.name),
    hidden,
    search: isSearched ? searchDefinition(servers, CALL_BY_NAME) : undefined,
  };
}

/** The tools that a model sees from the start, without Toolport's own search. */
export function withoutSearch<Tool>(
  all: readonly Tool[],
  hidden: readonly Tool[],
  nameOf: (tool: Tool) => string,
): Tool[] {
  // The two lists are requested one after the other. A tool that was deferred in between must not be offered twice.
  const left = new Set([SEARCH_TOOLS_NAME, CALL_TOOL_NAME, ...hidden.map(nameOf)]);
  return all.filter((tool) => !left.has(nameOf(tool)));
}

/** @throws ConfigError if `deferred` is not one of the values that an adapter knows */
export function checkDeferred(deferred: string, known: readonly string[]): void {
  if (known.includes(deferred)) return;
  throw new ConfigError({
    code: "INVALID_CONFIG",
    issues: [{ path: "deferred", message: `must be one of ${known.join(", ")}` }],
    next: "Correct the option named above",
  });
}

/** The callers of one tool; undefined if the option does not say. */
export function callersOf<Caller extends string>(
  tool: ToolInfo,
  allowed: AllowedCallers<Caller> | undefined,
): Caller[] | undefined {
  // A search finds tools for the model, so no program has a use for it.
  if (allowed === undefined || tool.name === SEARCH_TOOLS_NAME) return undefined;
  const callers: unknown = typeof allowed === "function" ? allowed(tool) : allowed;
  if (callers === undefined) return undefined;
  if (
    Array.isArray(callers) &&
    callers.length > 0 &&
    callers.every((name) => typeof name === "string" && name !== "")
  )
    return [...callers];
  throw new ConfigError({
    code: "INVALID_CONFIG",
    issues: [
      { path: "allowedCallers", message: `must name at least one caller for the tool ${tool.name}, or none` },
    ],
    next: "Correct the option named above",
  });
}
