/** Answers the tool search of OpenAI's models with Toolport's index, through the AI SDK. */
import type { JSONValue } from "ai";
import { searchDefinition } from "../../catalog/search/deferred-tools.js";
import { ToolportError } from "../../errors/toolport-error.js";
import type { ToolInfo } from "../../model/tool-info.js";
import { readCompact, type WithCompact } from "../../schema/derive/compact-schema.js";
import { debugChannel } from "../../telemetry/logger.js";
import { parseJson } from "../../util/json.js";
import {
  CALL_BY_NAME,
  OfferedTool,
  type SchemaFormOptions,
  selectedTools,
  type ToolSelection,
  targetOf,
} from "../offered-tools.js";
import { searchAmong } from "../run-calls.js";
import { groupTools, type ToolGroup } from "../tool-groups.js";
import type { ToolSource } from "../tool-source.js";

/** Which tools the search finds, and the form of their schemas: the same as for `toAiSdkTools`. */
export interface AiSdkToolSearchOptions extends ToolSelection, SchemaFormOptions, WithCompact {}

/** The arguments of `openai.tools.toolSearch()`. */
export interface AiSdkToolSearch {
  execution: "client";
  description: string;
  parameters: Record<string, unknown>;
  execute(
    input: { arguments?: unknown },
    options?: { abortSignal?: AbortSignal | undefined },
  ): Promise<{ tools: { [key: string]: JSONValue | undefined }[] }>;
}

const debug = debugChannel("call");

/**
 * Returns the arguments of `openai.tools.toolSearch()` for a search that runs in your program: the model asks, Toolport's index
 * answers with the definitions of the tools. Give both functions the same selection.
 *
 * @example
 * ```ts
 * const tools = {
 *   ...(await toAiSdkTools(toolport, { deferred: "native" })),
 *   tool_search: openai.tools.toolSearch(await toAiSdkToolSearch(toolport)),
 * };
 * ```
 */
export async function toAiSdkToolSearch(
  toolport: ToolSource,
  { schema, compact, ...selection }: AiSdkToolSearchOptions = {},
): Promise<AiSdkToolSearch> {
  const target = targetOf(schema);
  const deferred = await selectedTools(toolport, selection, true);
  // The same groups as in the request: they depend on all tools, not only on those that were found.
  const groups = await groupTools(toolport, deferred);
  const servers = [...new Set(deferred.map(({ server }) => server))];
  const { description, inputSchema } = searchDefinition(servers, CALL_BY_NAME);
  const steps = readCompact(compact);
  const toFunction = (tool: ToolInfo) => {
    const { derived, description: text } = new OfferedTool(tool, target, steps);
    return {
      type: "function",
      name: tool.name,
      ...(text !== undefined && { description: text }),
      parameters: derived.schema as JSONValue,
      defer_loading: true,
    };
  };
  return {
    execution: "client",
    description,
    parameters: { ...inputSchema },
    async execute({ arguments: given }, { abortSignal } = {}) {
      try {
        const found = await searchAmong(toolport, asObject(given), { tools: deferred, signal: abortSignal });
        return { tools: byGroup(groups, found).map((group) => toNamespace(group, toFunction)) };
      } catch (error) {
        // The API has no form for a failed search: the AI SDK would send an output that OpenAI rejects.
        if (!ToolportError.isInstance(error)) throw error;
        debug(`search failed: ${error.message}`);
        return { tools: [] };
      }
    },
  };
}

const toNamespace = (
  { name, description, tools }: ToolGroup,
  toFunction: (tool: ToolInfo) => { [key: string]: JSONValue },
) => ({ type: "namespace", name, description, tools: tools.map(toFunction) });

/** The groups of these tools, the group of the best match first. */
function byGroup(groups: readonly ToolGroup[], found: readonly ToolInfo[]): ToolGroup[] {
  const chosen = new Map<ToolGroup, ToolInfo[]>();
  for (const tool of found) {
    const group = groups.find(({ tools }) => tools.some(({ name }) => name === tool.name));
    if (group !== undefined) chosen.set(group, [...(chosen.get(group) ?? []), tool]);
  }
  return [...chosen].map(([group, tools]) => ({ ...group, tools }));
}

/** Some models send JSON text instead of an object. */
function asObject(given: unknown): Record<string, unknown> {
  if (typeof given === "object" && given !== null) return given as Record<string, unknown>;
  if (typeof given !== "string") return {};
  const parsed = parseJson(given);
  return parsed === undefined ? { query: given } : asObject(parsed);
}
