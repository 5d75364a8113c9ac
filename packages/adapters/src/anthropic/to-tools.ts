/** Converts tools to the format of Anthropic's messages API: plain JSON for `tools` of a request. */

import { definedFields } from "@toolport/base";
import { deriveSchema } from "@toolport/schemas";
import type { OfferedTool } from "@toolport/schemas/internal";
import {
  type AllowedCallers,
  callersOf,
  type DeferredOptions,
  type OfferOptions,
  offerTools,
  type SearchDefinition,
} from "../offered-tools.js";
import type { ToolSource } from "../tool-source.js";

/** A tool of the messages API. */
export interface AnthropicTool {
  name: string;
  description?: string;
  input_schema: { type: "object"; [key: string]: unknown };
  /** The definition is left out of the prompt until a search refers to it. */
  defer_loading?: true;
  /** Absent: only the model itself. */
  allowed_callers?: AnthropicCaller[];
}

/** Who may call a tool: the model itself, or the code that it runs. */
export type AnthropicCaller =
  | "direct"
  | "code_execution_20250825"
  | "code_execution_20260120"
  | "code_execution_20260521";

/** The search for deferred tools that Anthropic runs. */
export interface AnthropicToolSearchTool {
  type: "tool_search_tool_bm25_20251119";
  name: "tool_search_tool_bm25";
}

/** What `tools` of a request contains with `deferred: "native"`. */
export type AnthropicDeferredTool = AnthropicTool | AnthropicToolSearchTool;

/** Options of `toAnthropicTools()`. */
export interface AnthropicToolsOptions extends OfferOptions, DeferredOptions {
  /**
   * Who may call a tool, for all tools or chosen for each. For code add Anthropic's code execution tool to the tools of the request.
   * @default only the model itself
   * @example
   * ```ts
   * { allowedCallers: (tool) => (tool.annotations?.readOnlyHint ? ["code_execution_20260120"] : undefined) }
   * ```
   */
  readonly allowedCallers?: AllowedCallers<AnthropicCaller> | undefined;
}

/**
 * Returns the tools for a request to Anthropic.
 *
 * @example
 * ```ts
 * const tools = await toAnthropicTools(toolport);
 * const message = await anthropic.messages.create({ model, max_tokens: 1024, messages, tools });
 * messages.push({ role: "assistant", content: message.content });
 * messages.push(...(await runAnthropicToolCalls(toolport, message, { tools })));
 * ```
 * @example Tools that the model loads when it needs them
 * ```ts
 * const toolport = createToolport({ mcpServers, deferTools: { mode: "auto" } });
 * const tools = await toAnthropicTools(toolport, { deferred: "native" });
 * ```
 */
export function toAnthropicTools(
  toolport: ToolSource,
  options?: AnthropicToolsOptions & { deferred?: "own" | "client" | undefined },
): Promise<AnthropicTool[]>;
export function toAnthropicTools(
  toolport: ToolSource,
  options: AnthropicToolsOptions,
): Promise<AnthropicDeferredTool[]>;
export async function toAnthropicTools(
  toolport: ToolSource,
  options: AnthropicToolsOptions = {},
): Promise<AnthropicDeferredTool[]> {
  const { shown, hidden, search } = await offerTools(toolport, options, "anthropic");
  const define = (offered: OfferedTool) => toTool(offered, options.allowedCallers);
  const native = { type: "tool_search_tool_bm25_20251119", name: "tool_search_tool_bm25" } as const;
  const searches = search ? [toSearchTool(search)] : hidden.length > 0 ? [native] : [];
  return [
    // First, because programs set cache_control on the last tool, which the API rejects for a deferred one.
    ...hidden.map((offered): AnthropicTool => ({ ...define(offered), defer_loading: true })),
    ...searches,
    ...shown.map(define),
  ];
}

const toSearchTool = ({ name, description, inputSchema }: SearchDefinition): AnthropicTool => ({
  name,
  description,
  input_schema: deriveSchema(inputSchema, "anthropic").schema as AnthropicTool["input_schema"],
});

function toTool(
  { tool, derived, description }: OfferedTool,
  allowed: AllowedCallers<AnthropicCaller> | undefined,
): AnthropicTool {
  const input_schema = derived.schema as AnthropicTool["input_schema"];
  const allowed_callers = callersOf(tool, allowed);
  return definedFields({ name: tool.name, description, input_schema, allowed_callers });
}
