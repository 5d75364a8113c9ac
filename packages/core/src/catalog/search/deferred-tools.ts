/** Two tools in place of hundreds: the model searches for tools, then calls them by name. Also decides which tools are deferred, so that models do not see them before. */

import {
  definitionBytes,
  isForModel,
  isRecord,
  type JsonSchema,
  parseJson,
  type ToolInfo,
  tokensOfBytes,
} from "@toolport/base";
import type { ServerConfig } from "../../config/server-config.js";

/** The definition of a tool, as models see it. */
export interface ToolDefinition {
  readonly name: string;
  readonly description: string;
  readonly inputSchema: JsonSchema;
}

export const SEARCH_TOOLS_NAME = "search_tools";
export const CALL_TOOL_NAME = "call_tool";

/** Default number of matches. */
const DEFAULT_SEARCH_LIMIT = 5;
const MAX_SEARCH_LIMIT = 20;
const MAX_SERVERS_NAMED = 50;

function searchDefinition(servers: readonly string[], next: string): ToolDefinition {
  const named = servers.slice(0, MAX_SERVERS_NAMED).join(", ");
  const more = servers.length > MAX_SERVERS_NAMED ? " and others" : "";
  const of = named === "" ? "" : ` The tools come from: ${named}${more}.`;
  return {
    name: SEARCH_TOOLS_NAME,
    description:
      `Find tools by what they do. Returns their names, descriptions and input schemas.${of} ` +
      `Search before you say that something cannot be done; ${next}.`,
    inputSchema: {
      type: "object",
      properties: {
        query: {
          type: "string",
          description: "What the tool should do, or names of tools",
        },
        limit: {
          type: "integer",
          minimum: 1,
          maximum: MAX_SEARCH_LIMIT,
          description: `Default ${DEFAULT_SEARCH_LIMIT}`,
        },
      },
      required: ["query"],
      additionalProperties: false,
    },
  };
}

/**
 * The definitions of `search_tools` and `call_tool`.
 *
 * @param servers names of the servers, so that the model knows what kind of tools it can find
 * @param next what the model does with the tools that it finds
 */
export function deferredTools(
  servers: readonly string[] = [],
  next = `call what you find with ${CALL_TOOL_NAME}`,
): readonly [ToolDefinition, ToolDefinition] {
  return [
    searchDefinition(servers, next),
    {
      name: CALL_TOOL_NAME,
      description: `Call a tool that ${SEARCH_TOOLS_NAME} found.`,
      inputSchema: {
        type: "object",
        properties: {
          name: { type: "string", description: "The exact name" },
          arguments: { type: "object", description: "As its inputSchema asks" },
        },
        required: ["name", "arguments"],
        additionalProperties: false,
      },
    },
  ];
}

/** Reads the arguments of `search_tools`. An invalid limit is corrected. */
export function readSearchArguments(args: Readonly<Record<string, unknown>>): {
  query: string;
  limit: number;
} {
  const { query, limit } = args;
  const wished =
    typeof limit === "number" && Number.isFinite(limit) ? Math.floor(limit) : DEFAULT_SEARCH_LIMIT;
  return {
    query: typeof query === "string" ? query : "",
    limit: Math.min(MAX_SEARCH_LIMIT, Math.max(1, wished)),
  };
}

/** Reads the arguments of `call_tool`. Some models write `arguments` as JSON text, or leave them out. */
export function readCallArguments(
  args: Readonly<Record<string, unknown>>,
): { name: string; args: Readonly<Record<string, unknown>> } | { problem: string } {
  const { name } = args;
  if (typeof name !== "string" || name === "") return { problem: "name must be the name of a tool" };
  const { arguments: written = {} } = args;
  const given = typeof written === "string" ? parseJson(written.trim() || "{}") : (written ?? {});
  return isRecord(given) ? { name, args: given } : { problem: "arguments must be an object" };
}

export interface DeferralRules {
  readonly mode: "auto" | "always" | "never";
  /** `"auto"` defers tools that take more tokens than this. */
  readonly above: number;
  isAlwaysVisible(tool: ToolInfo): boolean;
  serverOf(name: string): Pick<ServerConfig, "defer" | "trustAnnotations"> | undefined;
}

/** `"auto"` defers no fewer tools: a search costs a turn, and models choose well among a few tools. */
const FEWEST_TOOLS = 10;

/** Servers mark tools with it that a model should always see. */
const ALWAYS_LOAD_KEY = "anthropic/alwaysLoad";

/** The deferred tools of one catalog. */
export function chooseDeferred(tools: readonly ToolInfo[], rules: DeferralRules): ReadonlySet<ToolInfo> {
  const deferred = new Set<ToolInfo>();
  const undecided: ToolInfo[] = [];
  for (const tool of tools) {
    if (!isForModel(tool)) continue;
    const choice = choiceFor(tool, rules);
    if (choice === undefined) undecided.push(tool);
    else if (choice) deferred.add(tool);
  }
  if (isTooMuch(undecided, rules.above)) for (const tool of undecided) deferred.add(tool);
  return deferred;
}

/** Undefined: it depends on the other tools. */
function choiceFor(tool: ToolInfo, { mode, isAlwaysVisible, serverOf }: DeferralRules): boolean | undefined {
  if (isAlwaysVisible(tool)) return false;
  const server = serverOf(tool.server);
  if (server?.defer !== undefined) return server.defer;
  if (mode === "never") return false;
  if (server?.trustAnnotations === true && tool._meta?.[ALWAYS_LOAD_KEY] === true) return false;
  return mode === "always" ? true : undefined;
}

function isTooMuch(tools: readonly ToolInfo[], above: number): boolean {
  if (tools.length < FEWEST_TOOLS) return false;
  return tokensOfBytes(tools.reduce((sum, tool) => sum + definitionBytes(tool), 0)) > above;
}
