/** Decides which tools are offered: `only`, `except` and `filter`, for each server and for all. A tool must pass all of them. */
import {
  compileNames,
  type ListedTool,
  type ServerRef,
  type ToolFilter,
  type WithheldTool,
} from "@toolport/base";

export type { ToolFilter } from "@toolport/base";

/** Rules that a tool must pass. */
export interface ToolFilters {
  /**
   * Offer only these tools: exact names or globs (`*`, `?`). In rules for all servers, `server__tool` and `server.tool` name a
   * tool of one server.
   * @default all
   * @example ["read_*", "github__list_issues"]
   */
  readonly only?: readonly string[] | undefined;
  /** Do not offer these tools. @default none */
  readonly except?: readonly string[] | undefined;
  /** Called last. @default every tool passes */
  readonly filter?: ToolFilter | undefined;
}

/** Why a tool is not offered. */
interface FilterRefusal {
  readonly reason: string;
  /** The filter itself failed, so a warning is needed. */
  readonly broken: boolean;
}

/** Undefined if the tool passes. */
export type CompiledFilter = (server: ServerRef, tool: FilterableTool) => FilterRefusal | undefined;

/** A tool as listed, or with its public name as `tools()` returns it. */
type FilterableTool = ListedTool & { readonly sourceName: string };

type NameTest = (server: ServerRef, tool: FilterableTool) => boolean;

const SEPARATORS = /__|\./g;

/**
 * Splits a qualified pattern at its separator and matches both parts separately. Matched as one text, `read*` would accept
 * every tool of a server named "readme".
 */
function compileQualified(patterns: readonly string[]): NameTest {
  const own = compileNames(patterns);
  const exact = new Set(patterns);
  const pairs = patterns.flatMap((pattern) =>
    [...pattern.matchAll(SEPARATORS)].map(({ 0: separator, index }) => ({
      server: compileNames([pattern.slice(0, index)]),
      tool: compileNames([pattern.slice(index + separator.length)]),
    })),
  );
  return ({ name: server }, { sourceName, name }) =>
    own(sourceName) || exact.has(name) || pairs.some((pair) => pair.server(server) && pair.tool(sourceName));
}

function compileOwn(patterns: readonly string[]): NameTest {
  const own = compileNames(patterns);
  return (_server, { sourceName }) => own(sourceName);
}

const refuse = (reason: string, broken = false): FilterRefusal => ({ reason, broken });

function ask(filter: ToolFilter, server: ServerRef, tool: FilterableTool): FilterRefusal | undefined {
  try {
    const verdict: unknown = filter(server, tool);
    // A promise is truthy, so an asynchronous filter would accept everything.
    if (verdict instanceof Promise) {
      verdict.catch(() => {});
      return refuse("The filter is asynchronous; filters must be synchronous", true);
    }
    return verdict ? undefined : refuse("Excluded by a filter");
  } catch (error) {
    return refuse(`The filter threw: ${error instanceof Error ? error.message : String(error)}`, true);
  }
}

/** No rules: every tool passes. Comparing with this constant saves the calls: the first `tools()` of `npm run bench:growth`. */
export const passAll: CompiledFilter = () => undefined;

/** Compiles one set of rules. `scope`: rules for all servers may name a tool of one of them (`server__tool`). */
export function compileFilter(
  { only, except, filter }: ToolFilters,
  scope: "server" | "all" = "all",
): CompiledFilter {
  if (only === undefined && except === undefined && filter === undefined) return passAll;
  const compile = scope === "all" ? compileQualified : compileOwn;
  const isWanted = only && compile(only);
  const isUnwanted = except && compile(except);
  return (server, tool) => {
    if (isWanted && !isWanted(server, tool)) return refuse("Not named in only");
    if (isUnwanted?.(server, tool)) return refuse("Named in except");
    return filter && ask(filter, server, tool);
  };
}

/** Keeps the tools that pass every filter, and leaves out the others: `excluded` by the rules, `withheld` because a filter failed. */
export function filterTools<Entry extends { server: ServerRef; tool: FilterableTool }>(
  entries: readonly Entry[],
  filters: (server: ServerRef) => readonly CompiledFilter[],
) {
  const tools: Entry[] = [];
  const excluded: WithheldTool[] = [];
  const withheld: WithheldTool[] = [];
  for (const entry of entries) {
    const { server, tool } = entry;
    const refusal = firstRefusal(filters(server), server, tool);
    if (refusal === undefined) tools.push(entry);
    else {
      const list = refusal.broken ? withheld : excluded;
      list.push({ server: server.name, name: tool.sourceName, reason: refusal.reason });
    }
  }
  return { tools, excluded, withheld };
}

function firstRefusal(filters: readonly CompiledFilter[], server: ServerRef, tool: FilterableTool) {
  for (const filter of filters) {
    const refusal = filter(server, tool);
    if (refusal !== undefined) return refusal;
  }
  return undefined;
}

/** Accepted by `addFilter` and `setFilters`. */
export type FilterInput = ToolFilters | ToolFilter;
