/** What the definitions of the tools cost a model in tokens. */

import {
  ConfigError,
  definitionBytes,
  definitionText,
  isForModel,
  mapConcurrently,
  pushTo,
  type ToolInfo,
  tokensOfBytes,
} from "@toolport/base";
import type { WaitOptions } from "../connection/server-connection.js";
import type { Port } from "./port.js";

/**
 * Counts the tokens of one definition.
 *
 * @param definition compact JSON with `name`, `description` and `inputSchema`
 */
export type CountTokens = (definition: string, tool: ToolInfo) => number | Promise<number>;

/** Options of `cost()`. */
export interface CostOptions extends WaitOptions {
  /** Only the tools of these servers. Others are not connected. @default all */
  servers?: readonly string[] | undefined;
  /**
   * Counts exactly, for instance with the endpoint of a provider that counts tokens. Called for 8 tools at a time.
   * @default an estimate by size
   * @example
   * ```ts
   * await toolport.cost({ count: (definition) => encode(definition).length });
   * ```
   */
  count?: CountTokens | undefined;
}

/** The cost of one tool. */
export interface ToolCost {
  /** The public name. */
  readonly name: string;
  readonly server: string;
  readonly tokens: number;
  /** Size of the definition as compact JSON, in UTF-8. */
  readonly bytes: number;
  /** Models see the definition only after a search. */
  readonly deferred: boolean;
}

/** The cost of all tools of one server. */
export interface ServerCost {
  /** Number of tools. */
  readonly tools: number;
  readonly tokens: number;
  /** The tokens of the tools that are not deferred. */
  readonly shown: number;
}

/** What the tools that models may use cost. */
export interface ToolCosts {
  /** All definitions together, deferred or not. */
  readonly tokens: number;
  /** What a model gets before its first word: the definitions that are not deferred, Toolport's own tools included. */
  readonly shown: number;
  /** True if the tokens were estimated by size. */
  readonly estimated: boolean;
  /** The most expensive tool first. */
  readonly tools: readonly ToolCost[];
  /** By server; `toolport` for Toolport's own tools. */
  readonly servers: Readonly<Record<string, ServerCost>>;
}

/** How many tools are counted at a time. */
const CONCURRENT_COUNTS = 8;

export async function toolCosts(
  port: Port,
  { count, servers }: Pick<CostOptions, "count" | "servers">,
): Promise<ToolCosts> {
  if (count !== undefined && typeof count !== "function")
    throw new ConfigError({
      code: "INVALID_CONFIG",
      issues: [{ path: "count", message: "must be a function" }],
    });
  const own = port.own.shown({ servers, all: false, isWanted: () => true });
  const chosen = port.catalog
    .tools()
    .filter((tool) => isForModel(tool) && (servers?.includes(tool.server) ?? true));
  const listed = [...own, ...chosen];
  const tokens =
    count === undefined
      ? listed.map((tool) => tokensOfBytes(definitionBytes(tool)))
      : await mapConcurrently(listed, CONCURRENT_COUNTS, (tool) => counted(tool, count));
  const hidden = port.own.deferred();
  const tools = listed.map((tool, index): ToolCost => {
    const { name, server } = tool;
    const bytes = definitionBytes(tool);
    return { name, server, tokens: tokens[index]!, bytes, deferred: hidden.has(tool) };
  });
  return {
    tokens: sum(tools),
    shown: sum(tools.filter(({ deferred }) => !deferred)),
    estimated: count === undefined,
    servers: byServer(tools),
    tools: tools.sort((a, b) => b.tokens - a.tokens || (a.name < b.name ? -1 : 1)),
  };
}

const sum = (tools: readonly ToolCost[]): number => tools.reduce((total, { tokens }) => total + tokens, 0);

function byServer(tools: readonly ToolCost[]): Record<string, ServerCost> {
  const groups = new Map<string, ToolCost[]>();
  for (const tool of tools) pushTo(groups, tool.server, tool);
  return Object.fromEntries(
    [...groups].map(([server, group]) => {
      const shown = sum(group.filter(({ deferred }) => !deferred));
      return [server, { tools: group.length, tokens: sum(group), shown }];
    }),
  );
}

async function counted(tool: ToolInfo, count: CountTokens): Promise<number> {
  const tokens = await count(definitionText(tool), tool);
  if (typeof tokens === "number" && tokens >= 0 && Number.isFinite(tokens)) return tokens;
  throw new ConfigError({
    code: "INVALID_CONFIG",
    what: `count returned ${String(tokens)} for the tool ${JSON.stringify(tool.name)}`,
    next: "Return the number of tokens",
  });
}
