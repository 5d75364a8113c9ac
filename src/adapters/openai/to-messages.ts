/** Converts a prompt to messages of OpenAI's APIs. */
import type { PromptResult } from "../../port/get-prompt.js";
import type { ContentOptions } from "../content-options.js";
import { promptTurns } from "../prompt-turns.js";
import {
  type OpenAIApi,
  type OpenAIChatPart,
  type OpenAIResponsesPart,
  PROVIDER_NAMES,
  toChatAudio,
  toChatFile,
  toResponsesFile,
} from "./content.js";

export type OpenAIPromptMessage<Part> =
  | { role: "user"; content: string | Part[] }
  | { role: "assistant"; content: string };

export interface OpenAIMessagesOptions extends ContentOptions {
  /** Which API the messages are for. @default "chat" */
  readonly api?: OpenAIApi | undefined;
}

/**
 * Converts a prompt, for `messages` of the chat API or `input` of the responses API.
 *
 * @example
 * ```ts
 * const messages = toOpenAIMessages(await toolport.getPrompt("docs", "review", { file: "a.ts" }));
 * ```
 */
export function toOpenAIMessages(
  prompt: PromptResult,
  options: OpenAIMessagesOptions & { api: "responses" },
): OpenAIPromptMessage<OpenAIResponsesPart>[];
export function toOpenAIMessages(
  prompt: PromptResult,
  options?: OpenAIMessagesOptions & { api?: "chat" },
): OpenAIPromptMessage<OpenAIChatPart>[];
export function toOpenAIMessages(
  prompt: PromptResult,
  { api = "chat", ...options }: OpenAIMessagesOptions = {},
): OpenAIPromptMessage<OpenAIChatPart>[] | OpenAIPromptMessage<OpenAIResponsesPart>[] {
  const provider = PROVIDER_NAMES[api];
  if (api === "chat")
    return toMessages(
      promptTurns<OpenAIChatPart>(
        prompt,
        {
          provider,
          text: (text) => ({ type: "text", text }),
          file: (part) => toChatFile(part) ?? toChatAudio(part),
        },
        options,
      ),
    );
  return toMessages(
    promptTurns<OpenAIResponsesPart>(
      prompt,
      { provider, text: (text) => ({ type: "input_text", text }), file: toResponsesFile },
      options,
    ),
  );
}

/** Messages of the assistant are always text. */
const toMessages = <Part>(
  turns: readonly { role: "user" | "assistant"; parts: Part[]; text: string | undefined }[],
): OpenAIPromptMessage<Part>[] =>
  turns.map(({ role, parts, text }) =>
    role === "assistant" ? { role, content: text ?? "" } : { role, content: text ?? parts },
  );
