/** Converts a result to content of OpenAI's APIs. */
import { type ContentOptions, mapParts } from "../content-options.js";
import { markedParts, type ResultContent } from "../result-parts.js";
import {
  type OpenAIApi,
  type OpenAIChatPart,
  type OpenAIResponsesPart,
  PROVIDER_NAMES,
  toChatAudio,
  toChatFile,
  toResponsesFile,
} from "./content.js";

export interface OpenAIContentOptions extends ContentOptions {
  /** Which API the content is for. @default "chat" */
  readonly api?: OpenAIApi | undefined;
  /**
   * Images and files: separate parts (`"content"`), or replaced by a note (`"note"`), for models without vision and
   * for tool messages of the chat API, which contain only text.
   * @default "content"
   */
  readonly media?: "content" | "note" | undefined;
}

/** A text part of the chat API, which a tool message may contain. */
export type OpenAIChatText = Extract<OpenAIChatPart, { type: "text" }>;

/**
 * Converts a result of `callTool` or `task.result()`. Chat API: for a user
 * message; with `media: "note"` for a tool message too. Responses API: for `output` of a `function_call_output`, or for a
 * message. A failure begins with `Error:`, since neither API has a field for it.
 *
 * @example
 * ```ts
 * const result = await toolport.callTool("files__read_image", { path: "a.png" });
 * const output = toOpenAIContent(result, { api: "responses" });
 * input.push({ type: "function_call_output", call_id, output });
 * ```
 */
export function toOpenAIContent(
  result: ResultContent,
  options: OpenAIContentOptions & { api: "responses" },
): OpenAIResponsesPart[];
export function toOpenAIContent(
  result: ResultContent,
  options: OpenAIContentOptions & { api?: "chat"; media: "note" },
): OpenAIChatText[];
export function toOpenAIContent(
  result: ResultContent,
  options?: OpenAIContentOptions & { api?: "chat" },
): OpenAIChatPart[];
export function toOpenAIContent(
  result: ResultContent,
  { api = "chat", media = "content", strictContent = false, audience, onLeftOut }: OpenAIContentOptions = {},
): OpenAIChatPart[] | OpenAIResponsesPart[] {
  const parts = markedParts(result, audience);
  const place = { provider: PROVIDER_NAMES[api], strict: strictContent, server: result.server, onLeftOut };
  const isNote = media === "note";
  if (api === "responses")
    return mapParts<OpenAIResponsesPart>(
      parts,
      {
        text: (text) => ({ type: "input_text", text }),
        file: (part) => (isNote ? undefined : toResponsesFile(part)),
      },
      place,
    );
  return mapParts<OpenAIChatPart>(
    parts,
    {
      text: (text) => ({ type: "text", text }),
      file: (part) => (isNote ? undefined : (toChatFile(part) ?? toChatAudio(part))),
    },
    place,
  );
}
