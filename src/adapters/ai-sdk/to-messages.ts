/** Converts a prompt to messages of the AI SDK. */

import type { ContentPart } from "../../content/content-part.js";
import type { PromptResult } from "../../port/get-prompt.js";
import type { ContentOptions } from "../content-options.js";
import { promptTurns } from "../prompt-turns.js";
import { fileForModel, PROVIDER_NAME } from "./content.js";

export type AiSdkPromptPart =
  | { type: "text"; text: string }
  | { type: "file"; data: string; mediaType: string; filename: string };

export type AiSdkPromptMessage =
  | { role: "user"; content: string | AiSdkPromptPart[] }
  | { role: "assistant"; content: string };

/**
 * Converts a prompt, for `messages` of `generateText` and similar functions. The same for every version.
 *
 * @example
 * ```ts
 * const messages = toAiSdkMessages(await toolport.getPrompt("docs", "review", { file: "a.ts" }));
 * ```
 */
export function toAiSdkMessages(prompt: PromptResult, options: ContentOptions = {}): AiSdkPromptMessage[] {
  const format = {
    provider: PROVIDER_NAME,
    text: (text: string): AiSdkPromptPart => ({ type: "text", text }),
    file: (part: ContentPart): AiSdkPromptPart | undefined => {
      const file = fileForModel(part);
      return file && { type: "file", data: file.data, mediaType: file.mimeType, filename: file.filename };
    },
  };
  return promptTurns(prompt, format, options).map(({ role, parts, text }) =>
    role === "assistant" ? { role, content: text ?? "" } : { role, content: text ?? parts },
  );
}
