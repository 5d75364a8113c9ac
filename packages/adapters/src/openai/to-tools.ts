/** Converts tools to the format of OpenAI's APIs: plain JSON for `tools` of a request. */
import { definedFields, type ToolInfo } from "@toolport/base";
import { deriveSchema } from "@toolport/schemas";
import type { OfferedTool } from "@toolport/schemas/internal";
import {
  type AllowedCallers,
  callersOf,
  type DeferredOffer,
  type DeferredOptions,
  groupTools,
  type OfferOptions,
  offerTools,
  wrongOptions,
} from "../offered-tools.js";
import type { ToolSource } from "../tool-source.js";
import type { OpenAIApi } from "./content.js";

/** A tool of the chat API. */
export interface OpenAIChatTool {
  type: "function";
  function: {
    name: string;
    description?: string;
    parameters: Record<string, unknown>;
    strict?: boolean;
  };
}

/** A tool of the responses API. */
export interface OpenAIResponsesTool {
  type: "function";
  name: string;
  description?: string;
  parameters: Record<string, unknown>;
  strict: boolean;
  /** The model loads the definition by a search. */
  defer_loading?: true;
  /** Absent: only the model itself. */
  allowed_callers?: OpenAICaller[];
  /** What a program gets, if programs may call the tool. */
  output_schema?: Record<string, unknown>;
}

/** Who may call a tool: the model itself, or a program that it wrote. */
export type OpenAICaller = "direct" | "programmatic";

/** Deferred tools of the responses API: at the start of a conversation the model sees only the name and the description. */
export interface OpenAINamespaceTool {
  type: "namespace";
  name: string;
  description: string;
  tools: OpenAIResponsesTool[];
}

/** The search for deferred tools, run by OpenAI, or with `execution: "client"` by `runOpenAIToolCalls`. */
export type OpenAIToolSearchTool =
  | { type: "tool_search" }
  | {
      type: "tool_search";
      execution: "client";
      description: string;
      parameters: Record<string, unknown>;
    };

/** What `tools` of a request contains with `deferred: "native"` or `"client"`. */
export type OpenAIDeferredTool = OpenAIResponsesTool | OpenAINamespaceTool | OpenAIToolSearchTool;

/** Options of `toOpenAITools()`. */
export interface OpenAIToolsOptions extends OfferOptions, DeferredOptions {
  /** Which API the tools are for. @default "chat" */
  readonly api?: OpenAIApi | undefined;
  /**
   * Strict mode: the model follows the schemas exactly. A tool whose schema strict mode cannot express is sent without it, and
   * reported to `onChange`.
   * @default false
   */
  readonly strict?: boolean | undefined;
  /**
   * Responses API only: who may call a tool, for all tools or chosen for each. With `"programmatic"` add
   * `{ type: "programmatic_tool_calling" }` to the tools of the request.
   * @default only the model itself
   * @example
   * ```ts
   * { allowedCallers: (tool) => (tool.annotations?.readOnlyHint ? ["direct", "programmatic"] : undefined) }
   * ```
   */
  readonly allowedCallers?: AllowedCallers<OpenAICaller> | undefined;
}

/** Options of the chat API, which has no search for tools and no programs. */
interface ChatOnly {
  readonly api?: "chat";
  readonly deferred?: "own" | undefined;
  readonly allowedCallers?: undefined;
}

/** The form of the schema of every tool in the list of a request, by name. */
export function offeredForms(tools: readonly object[]): Map<string, OpenAISchemaTarget> {
  const forms = new Map<string, OpenAISchemaTarget>();
  for (const entry of tools as readonly Partial<OpenAIChatTool | OpenAINamespaceTool>[]) {
    const inside = "tools" in entry ? entry.tools : [("function" in entry && entry.function) || entry];
    for (const { name, strict } of inside as readonly { name?: string; strict?: boolean | null }[])
      if (name !== undefined) forms.set(name, schemaTarget(strict));
  }
  return forms;
}

type OpenAISchemaTarget = "openai" | "openai-strict";

/** A tool that strict mode cannot express has the other form. */
export const schemaTarget = (strict: boolean | null | undefined): OpenAISchemaTarget =>
  strict === true ? "openai-strict" : "openai";

/**
 * Returns the tools for a request to OpenAI.
 *
 * @example
 * ```ts
 * const tools = await toOpenAITools(toolport);
 * const completion = await openai.chat.completions.create({ model, messages, tools });
 * messages.push(completion.choices[0].message);
 * messages.push(...(await runOpenAIToolCalls(toolport, completion.choices[0].message, { tools })));
 * ```
 * @example Tools that the model loads when it needs them
 * ```ts
 * const toolport = createToolport({ mcpServers, deferTools: { mode: "auto" } });
 * const tools = await toOpenAITools(toolport, { api: "responses", deferred: "native" });
 * const response = await openai.responses.create({ model, input, tools });
 * ```
 */
export function toOpenAITools(
  toolport: ToolSource,
  options: OpenAIToolsOptions & { api: "responses"; deferred?: "own" | undefined },
): Promise<OpenAIResponsesTool[]>;
export function toOpenAITools(
  toolport: ToolSource,
  options: OpenAIToolsOptions & { api: "responses" },
): Promise<OpenAIDeferredTool[]>;
export function toOpenAITools(
  toolport: ToolSource,
  options?: OpenAIToolsOptions & ChatOnly,
): Promise<OpenAIChatTool[]>;
export async function toOpenAITools(
  toolport: ToolSource,
  options: OpenAIToolsOptions = {},
): Promise<OpenAIChatTool[] | OpenAIDeferredTool[]> {
  const { api = "chat", allowedCallers } = options;
  if (api === "chat") assertChat(options);
  const offer = await offerTools(toolport, options, schemaTarget(options.strict));
  if (api === "chat") return offer.shown.map(toChatTool);
  const shown = offer.shown.map((tool) => toResponsesTool(tool, allowedCallers));
  const searched = await searchedTools(toolport, offer, allowedCallers);
  return [...shown, ...searched];
}

/** Neither exists in the chat API, whose requests are rejected with them. */
function assertChat({ deferred = "own", allowedCallers }: OpenAIToolsOptions): void {
  const message = 'works in the responses API only; pass api: "responses", or leave it out';
  const issues = [
    ...(deferred === "native" || deferred === "client" ? [{ path: "deferred", message }] : []),
    ...(allowedCallers === undefined ? [] : [{ path: "allowedCallers", message }]),
  ];
  if (issues.length > 0) throw wrongOptions(...issues);
}

/** The search and what it finds, if there is anything to find. */
async function searchedTools(
  toolport: ToolSource,
  { hidden, search }: DeferredOffer,
  allowed: AllowedCallers<OpenAICaller> | undefined,
): Promise<OpenAIDeferredTool[]> {
  if (hidden.length === 0) return [];
  if (search !== undefined) {
    const { description, inputSchema } = search;
    const parameters = deriveSchema(inputSchema, "openai").schema;
    return [{ type: "tool_search", execution: "client", description, parameters }];
  }
  const byTool = new Map<ToolInfo, OfferedTool>(hidden.map((offered) => [offered.tool, offered]));
  const groups = await groupTools(toolport, [...byTool.keys()]);
  const namespaces = groups.map((group): OpenAINamespaceTool => {
    const tools = group.tools.map((tool) => toDeferredTool(byTool.get(tool)!, allowed));
    return { type: "namespace", name: group.name, description: group.description, tools };
  });
  return [{ type: "tool_search" }, ...namespaces];
}

function toChatTool({ tool: { name }, derived, description }: OfferedTool): OpenAIChatTool {
  const strict = derived.strict || undefined;
  return {
    type: "function",
    function: definedFields({ name, description, parameters: derived.schema, strict }),
  };
}

/** In this API strict mode is the default, so it must be disabled explicitly. */
function toResponsesTool(
  { tool, derived, description }: OfferedTool,
  allowed: AllowedCallers<OpenAICaller> | undefined,
): OpenAIResponsesTool {
  const { name, outputSchema } = tool;
  const callers = callersOf(tool, allowed);
  return definedFields({
    type: "function" as const,
    name,
    description,
    parameters: derived.schema,
    strict: derived.strict,
    allowed_callers: callers,
    output_schema: callers?.includes("programmatic") ? outputSchema : undefined,
  });
}

/** A tool that the model loads by a search. */
export const toDeferredTool = (
  offered: OfferedTool,
  allowed: AllowedCallers<OpenAICaller> | undefined,
): OpenAIResponsesTool => ({ ...toResponsesTool(offered, allowed), defer_loading: true });
