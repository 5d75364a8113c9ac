/** Converts a prompt to messages of Anthropic's API. */
import type { PromptResult } from "../../port/get-prompt.js";
import type { ContentOptions } from "../content-options.js";
import { promptTurns } from "../prompt-turns.js";
import { type AnthropicFileBlock, type AnthropicTextBlock, PROVIDER_NAME, toFileBlock } from "./content.js";

export interface AnthropicPromptMessage {
  role: "user" | "assistant";
  content: string | (AnthropicTextBlock | AnthropicFileBlock)[];
}

/**
 * Converts a prompt, for `messages` of a request.
 *
 * @example
 * ```ts
 * const messages = toAnthropicMessages(await toolport.getPrompt("docs", "review", { file: "a.ts" }));
 * ```
 */
export function toAnthropicMessages(
  prompt: PromptResult,
  options: ContentOptions = {},
): AnthropicPromptMessage[] {
  const format = {
    provider: PROVIDER_NAME,
    text: (text: string): AnthropicTextBlock | AnthropicFileBlock => ({ type: "text", text }),
    file: toFileBlock,
  };
  return promptTurns(prompt, format, options).map(({ role, parts, text }) => ({
    role,
    content: text ?? parts,
  }));
}
