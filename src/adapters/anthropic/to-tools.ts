/** Converts tools to the format of Anthropic's messages API: plain JSON for `tools` of a request. */
import type { Toolport } from "../../toolport.js";
import { type OnSchemaChange, offeredTools, type ToolSelection } from "../offered-tools.js";

/** A tool of the messages API. */
export interface AnthropicTool {
  name: string;
  description?: string;
  input_schema: { type: "object"; [key: string]: unknown };
}

export interface AnthropicToolsOptions extends ToolSelection {
  /** Called for every schema that had to be changed. */
  readonly onChange?: OnSchemaChange | undefined;
}

/**
 * Returns the tools for a request to Anthropic.
 *
 * @example
 * ```ts
 * const tools = await toAnthropicTools(toolport);
 * const message = await anthropic.messages.create({ model, max_tokens: 1024, messages, tools });
 * messages.push({ role: "assistant", content: message.content });
 * messages.push(...(await runAnthropicToolCalls(toolport, message)));
 * ```
 */
export async function toAnthropicTools(
  toolport: Toolport,
  { onChange, ...selection }: AnthropicToolsOptions = {},
): Promise<AnthropicTool[]> {
  const offered = await offeredTools(toolport, selection, { target: "anthropic", onChange });
  return offered.map(({ tool: { name, description }, derived }) => ({
    name,
    ...(description !== undefined && { description }),
    input_schema: derived.schema as AnthropicTool["input_schema"],
  }));
}
