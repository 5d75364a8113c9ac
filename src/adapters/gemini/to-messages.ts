/** Converts a prompt to contents of Gemini's API. */
import type { PromptResult } from "../../port/get-prompt.js";
import type { ContentOptions } from "../content-options.js";
import { promptTurns } from "../prompt-turns.js";
import { type GeminiInlineData, type GeminiTextPart, PROVIDER_NAME, toMessageData } from "./content.js";

export interface GeminiPromptContent {
  role: "user" | "model";
  parts: (GeminiTextPart | GeminiInlineData)[];
}

/**
 * Converts a prompt, for `contents` of a request.
 *
 * @example
 * ```ts
 * const contents = toGeminiMessages(await toolport.getPrompt("docs", "review", { file: "a.ts" }));
 * ```
 */
export function toGeminiMessages(prompt: PromptResult, options: ContentOptions = {}): GeminiPromptContent[] {
  const format = {
    provider: PROVIDER_NAME,
    text: (text: string): GeminiTextPart | GeminiInlineData => ({ text }),
    file: toMessageData,
  };
  return promptTurns(prompt, format, options).map(({ role, parts }) => ({
    role: role === "user" ? "user" : "model",
    parts,
  }));
}
