/** Two tools in place of hundreds: the model searches for tools, then calls them by name. */
import type { JsonSchema } from "../../model/listed-tool.js";

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

/**
 * The definition of `search_tools`.
 *
 * @param servers names of the servers, so that the model knows what kind of tools it can find
 * @param next what the model does with the tools that it finds
 */
export function searchDefinition(
  servers: readonly string[] = [],
  next = `call what you find with ${CALL_TOOL_NAME}`,
): ToolDefinition {
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

/** The definitions of `search_tools` and `call_tool`. @param servers names of the servers */
export function deferredTools(servers: readonly string[] = []): readonly [ToolDefinition, ToolDefinition] {
  return [
    searchDefinition(servers),
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

export type CallToolArguments =
  | { readonly name: string; readonly args: Readonly<Record<string, unknown>> }
  | { readonly problem: string };

/** Reads the arguments of `call_tool`. Some models write `arguments` as JSON text, or leave them out. */
export function readCallArguments(args: Readonly<Record<string, unknown>>): CallToolArguments {
  const { name } = args;
  if (typeof name !== "string" || name === "") return { problem: "name must be the name of a tool" };
  const given = typeof args["arguments"] === "string" ? parse(args["arguments"]) : (args["arguments"] ?? {});
  if (typeof given !== "object" || given === null || Array.isArray(given))
    return { problem: "arguments must be an object" };
  return { name, args: given as Record<string, unknown> };
}

function parse(text: string): unknown {
  try {
    return text.trim() === "" ? {} : JSON.parse(text);
  } catch {
    return undefined;
  }
}
