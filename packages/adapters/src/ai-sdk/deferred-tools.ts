/** Deferred tools of the AI SDK: the fields that hide them from a model, and the tool that finds them. */

import {
  ConfigError,
  debugChannel,
  definedFields,
  parseJson,
  pushTo,
  type ToolInfo,
  ToolportError,
} from "@toolport/base";
import type { ToolResult } from "@toolport/core";
import { SEARCH_TOOLS_NAME, toToolResult } from "@toolport/core/internal";
import {
  OfferedTool,
  readCompact,
  type SchemaFormOptions,
  targetOf,
  type WithCompact,
} from "@toolport/schemas/internal";
import type { JSONValue } from "ai";
import {
  callersOf,
  type DeferredOffer,
  groupTools,
  type SearchDefinition,
  searchDefinition,
  selectedTools,
  type ToolGroup,
  type ToolSelection,
} from "../offered-tools.js";
import { searchAmong } from "../run-calls.js";
import type { ToolSource } from "../tool-source.js";
import type { ExecutionOptions, ToolSetParts } from "./execute-tool.js";

/** Maximum number of tools that one search returns; only exact names in the query reach it. */
const MAX_FOUND = 20;

/** What the tools of a set need to be deferred. */
export interface Deferral {
  /** Further fields of a tool. */
  fieldsOf(tool: ToolInfo): Record<string, unknown>;
  /** The tool that finds the others; undefined if the caller adds one, or nothing is deferred. */
  readonly search?: Record<string, unknown> | undefined;
}

/** Undefined if the tools need no further fields. */
export async function createDeferral(
  { hidden: offered, search: definition }: DeferredOffer,
  parts: ToolSetParts,
): Promise<Deferral | undefined> {
  const { toolport, options } = parts;
  const { deferred: mode = "own", allowedCallers } = options;
  if (mode === "own" && allowedCallers === undefined) return undefined;
  const hidden = new Map(offered.map(({ tool }) => [tool.name, tool]));
  const groups = mode === "native" ? await groupTools(toolport, [...hidden.values()]) : [];
  const namespaces = new Map(
    groups.flatMap(({ name, description, tools }) =>
      tools.map((tool) => [tool.name, { name, description }] as const),
    ),
  );
  return {
    fieldsOf(tool) {
      const isHidden = hidden.has(tool.name);
      const callers = callersOf(tool, allowedCallers) ?? [];
      // Each provider rejects the names of the other.
      const forOpenAI = callers.filter((caller) => !caller.startsWith("code_execution_"));
      const forAnthropic = callers.filter((caller) => caller !== "programmatic");
      const openai = definedFields({
        deferLoading: (isHidden && mode === "native") || undefined,
        namespace: namespaces.get(tool.name),
        allowedCallers: forOpenAI.length > 0 ? forOpenAI : undefined,
        outputSchema: forOpenAI.includes("programmatic") ? tool.outputSchema : undefined,
      });
      const anthropic = definedFields({
        deferLoading: (isHidden && (mode === "native" || mode === "client")) || undefined,
        allowedCallers: forAnthropic.length > 0 ? forAnthropic : undefined,
      });
      const providers = Object.entries({ openai, anthropic });
      const chosen = providers.filter(([, fields]) => Object.keys(fields).length > 0);
      return {
        ...(chosen.length > 0 && { providerOptions: Object.fromEntries(chosen) }),
        // The AI SDK itself leaves such a tool out of every request until its own search has found it.
        ...(mode === "sdk" && isHidden && { deferLoading: true }),
      };
    },
    search:
      hidden.size === 0 || definition === undefined
        ? undefined
        : mode === "sdk"
          ? sdkSearch(definition, hidden, parts)
          : referenceSearch(definition, hidden, parts),
  };
}

type Hidden = ReadonlyMap<string, ToolInfo>;

/** A search whose result names tools of the same request; Anthropic shows the model their definitions. */
function referenceSearch(
  { description, inputSchema }: SearchDefinition,
  hidden: Hidden,
  { toolport, ai }: ToolSetParts,
): Record<string, unknown> {
  return {
    type: "dynamic",
    description,
    metadata: { server: "toolport", tool: SEARCH_TOOLS_NAME },
    inputSchema: ai.jsonSchema(inputSchema),
    async execute(input: unknown, { abortSignal }: ExecutionOptions): Promise<ToolResult> {
      const args = (input ?? {}) as Record<string, unknown>;
      const matches = await searchAmong(toolport, args, { tools: hidden.values(), signal: abortSignal });
      const tools = matches.map(({ name, description }) => ({ name, description }));
      const text = JSON.stringify({ tools: tools.map(({ name }) => name) });
      return toToolResult({ content: [{ type: "text", text }], structuredContent: { tools } }, "toolport");
    },
    toModelOutput: ({ output }: { output: unknown }) => toReferences(output, hidden),
  };
}

/** Only of tools that are still offered: Anthropic rejects a request with any other, and messages may be older than the tools. */
function toReferences(output: unknown, hidden: Hidden) {
  const { structuredContent } = (output ?? {}) as { structuredContent?: { tools?: unknown } };
  const tools: unknown[] = Array.isArray(structuredContent?.tools) ? structuredContent.tools : [];
  const names = tools.map((tool) => (tool as { name?: unknown } | null)?.name);
  const value = names.flatMap((toolName) =>
    typeof toolName === "string" && hidden.has(toolName)
      ? [{ type: "custom", providerOptions: { anthropic: { type: "tool-reference", toolName } } }]
      : [],
  );
  if (value.length > 0) return { type: "content", value };
  const nothing =
    names.length === 0 ? "Nothing found. Try other words." : "These tools are not offered any more.";
  return { type: "text", value: nothing };
}

type ToolSearch = (options: {
  search(found: { query: string; tools: { name: string }[] }): Promise<string[]>;
  maxResults: number;
}) => object;

/** The search of `ai` 7, with the index of the port. It adds what it finds to the tools of the next step. */
function sdkSearch(
  { description }: SearchDefinition,
  hidden: Hidden,
  { toolport, ai }: ToolSetParts,
): Record<string, unknown> {
  const { toolSearch } = ai as { toolSearch?: ToolSearch };
  if (toolSearch === undefined)
    throw new ConfigError({
      code: "INVALID_CONFIG",
      what: 'deferred: "sdk" needs `toolSearch`, which this version of the package `ai` does not have',
      next: 'Install ai 7.0.104 or later, or use deferred: "own"',
    });
  const search = toolSearch({
    maxResults: MAX_FOUND,
    async search({ query, tools }) {
      // Only those that are active in this step.
      const active = tools.flatMap(({ name }) => hidden.get(name) ?? []);
      const matches = await searchAmong(toolport, { query }, { tools: active });
      return matches.map(({ name }) => name);
    },
  });
  return { ...search, description };
}

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
  const { description, inputSchema } = searchDefinition(servers);
  const steps = readCompact(compact);
  const toFunction = (tool: ToolInfo) => {
    const { derived, description: text } = new OfferedTool(tool, target, steps);
    const parameters = derived.schema as JSONValue;
    const fields = { name: tool.name, description: text, parameters, defer_loading: true };
    return definedFields({ type: "function", ...fields });
  };
  const toNamespace = ({ name, description, tools }: ToolGroup) => ({
    type: "namespace",
    name,
    description,
    tools: tools.map(toFunction),
  });
  return {
    execution: "client",
    description,
    parameters: { ...inputSchema },
    async execute({ arguments: given }, { abortSignal } = {}) {
      try {
        const among = { tools: deferred, signal: abortSignal };
        const matches = await searchAmong(toolport, asObject(given), among);
        return { tools: byGroup(groups, matches).map(toNamespace) };
      } catch (error) {
        // The API has no form for a failed search: the AI SDK would send an output that OpenAI rejects.
        if (!ToolportError.isInstance(error)) throw error;
        debug(`search failed: ${error.message}`);
        return { tools: [] };
      }
    },
  };
}

/** The groups of these tools, the group of the best match first. */
function byGroup(groups: readonly ToolGroup[], matches: readonly ToolInfo[]): ToolGroup[] {
  const chosen = new Map<ToolGroup, ToolInfo[]>();
  for (const tool of matches) {
    const group = groups.find(({ tools }) => tools.some(({ name }) => name === tool.name));
    if (group !== undefined) pushTo(chosen, group, tool);
  }
  return [...chosen].map(([group, tools]) => ({ ...group, tools }));
}

/** Some models send JSON text instead of an object. */
function asObject(input: unknown): Record<string, unknown> {
  if (typeof input === "object" && input !== null) return input as Record<string, unknown>;
  if (typeof input !== "string") return {};
  const parsed = parseJson(input);
  return parsed === undefined ? { query: input } : asObject(parsed);
}
