/** Content in OpenAI's two formats, parts of the chat API and items of the responses API: results and prompts. */
import type { ContentPart, PromptResult } from "@toolport/core";
import {
  type ContentOptions,
  convertResult,
  dataUri,
  type FilePart,
  fileOf,
  type PartFormat,
  promptMessages,
  type ResultContent,
} from "../model-content.js";

/** One of OpenAI's APIs. */
export type OpenAIApi = "chat" | "responses";

export const PROVIDER_NAMES: Readonly<Record<OpenAIApi, string>> = {
  chat: "OpenAI's chat API",
  responses: "OpenAI's responses API",
};

/** A part of a message of the chat API. */
export type OpenAIChatPart =
  | { type: "text"; text: string }
  | { type: "image_url"; image_url: { url: string } }
  | { type: "input_audio"; input_audio: { data: string; format: "wav" | "mp3" } }
  | { type: "file"; file: { filename: string; file_data: string } };

/** A part of a message of the responses API. */
export type OpenAIResponsesPart =
  | { type: "input_text"; text: string }
  | { type: "input_image"; image_url: string; detail: "auto" }
  | { type: "input_file"; filename: string; file_data: string };

/** https://platform.openai.com/docs/guides/images-vision#image-input-requirements */
const IMAGES = ["image/png", "image/jpeg", "image/webp", "image/gif"];
/** https://platform.openai.com/docs/guides/pdf-files */
const PDF = "application/pdf";

/** Images and PDF files, which every vision model accepts, in the format of the chat API. */
export function toChatFile(part: ContentPart): OpenAIChatPart | undefined {
  const file = fileOf(part);
  if (file === undefined) return undefined;
  if (IMAGES.includes(file.mimeType)) return { type: "image_url", image_url: { url: dataUri(file) } };
  if (file.mimeType !== PDF) return undefined;
  return { type: "file", file: { filename: file.filename, file_data: dataUri(file) } };
}

/**
 * Audio is accepted in user messages only, and only by audio models (`gpt-audio` …); tool messages contain text, and
 * outputs of the responses API text, images and files. https://platform.openai.com/docs/guides/audio
 */
export function toChatAudio(part: ContentPart): OpenAIChatPart | undefined {
  const file = fileOf(part);
  const format = file && audioFormat(file);
  return file && format && { type: "input_audio", input_audio: { data: file.data, format } };
}

export function toResponsesFile(part: ContentPart): OpenAIResponsesPart | undefined {
  const file = fileOf(part);
  if (file === undefined) return undefined;
  if (IMAGES.includes(file.mimeType))
    return { type: "input_image", image_url: dataUri(file), detail: "auto" };
  if (file.mimeType !== PDF) return undefined;
  return { type: "input_file", filename: file.filename, file_data: dataUri(file) };
}

function audioFormat({ mimeType }: FilePart): "wav" | "mp3" | undefined {
  if (["audio/wav", "audio/x-wav", "audio/wave"].includes(mimeType)) return "wav";
  return ["audio/mpeg", "audio/mp3"].includes(mimeType) ? "mp3" : undefined;
}

/** Options of `toOpenAIContent()`. */
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
  { api = "chat", ...options }: OpenAIContentOptions = {},
): OpenAIChatPart[] | OpenAIResponsesPart[] {
  return api === "chat" ? convertResult(result, CHAT, options) : convertResult(result, RESPONSES, options);
}

const CHAT: PartFormat<OpenAIChatPart> = {
  provider: PROVIDER_NAMES.chat,
  text: (text) => ({ type: "text", text }),
  file: (part) => toChatFile(part) ?? toChatAudio(part),
};

export const RESPONSES: PartFormat<OpenAIResponsesPart> = {
  provider: PROVIDER_NAMES.responses,
  text: (text) => ({ type: "input_text", text }),
  file: toResponsesFile,
};

/** A message of a prompt. */
export type OpenAIPromptMessage<Part> =
  | { role: "user"; content: string | Part[] }
  | { role: "assistant"; content: string };

/** Options of `toOpenAIMessages()`. */
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
  return api === "chat" ? promptMessages(prompt, CHAT, options) : promptMessages(prompt, RESPONSES, options);
}
