/** Content as blocks of Anthropic's messages API: results and prompts. */
import type { ContentPart, PromptResult } from "@toolport/core";
import {
  type ContentOptions,
  convertResult,
  fileOf,
  leaveOut,
  type PartFormat,
  promptMessages,
  type ResultContent,
  resultParts,
} from "../model-content.js";

export const PROVIDER_NAME = "Anthropic's API";

/** https://docs.claude.com/en/docs/build-with-claude/vision; documents are PDF files, and there is no audio. */
const IMAGES = ["image/jpeg", "image/png", "image/gif", "image/webp"] as const;
type ImageType = (typeof IMAGES)[number];

/** A text of a message or a result. */
export interface AnthropicTextBlock {
  type: "text";
  text: string;
}

export interface AnthropicImageBlock {
  type: "image";
  source: { type: "base64"; media_type: ImageType; data: string };
}

export interface AnthropicDocumentBlock {
  type: "document";
  source: { type: "base64"; media_type: "application/pdf"; data: string };
  title: string;
}

/** An image, or a PDF file. */
export type AnthropicFileBlock = AnthropicImageBlock | AnthropicDocumentBlock;

/** The API rejects data URIs: the media type is a field of its own. */
export function toFileBlock(part: ContentPart): AnthropicFileBlock | undefined {
  const file = fileOf(part);
  if (file === undefined) return undefined;
  const { data, mimeType, filename } = file;
  const image = IMAGES.find((type) => type === mimeType);
  if (image !== undefined) return { type: "image", source: { type: "base64", media_type: image, data } };
  if (mimeType !== "application/pdf") return undefined;
  return { type: "document", source: { type: "base64", media_type: mimeType, data }, title: filename };
}

/** Options of `toAnthropicContent()`. */
export interface AnthropicContentOptions extends ContentOptions {
  /** Images and PDF files: separate blocks (`"content"`), or replaced by a note (`"note"`). @default "content" */
  readonly media?: "content" | "note" | undefined;
}

/**
 * Converts a result of `callTool` or `task.result()`: for `content` of a `tool_result`,
 * or of a user message. A result with `isError` is text only, because the API rejects other content beside `is_error`.
 *
 * @example
 * ```ts
 * const result = await task.result();
 * const block = { type: "tool_result", tool_use_id, is_error: result.isError, content: toAnthropicContent(result) };
 * ```
 */
export function toAnthropicContent(
  result: ResultContent,
  options: AnthropicContentOptions = {},
): (AnthropicTextBlock | AnthropicFileBlock)[] {
  const { isError = false, server } = result;
  const file = (part: ContentPart) => {
    const block = toFileBlock(part);
    if (block === undefined || !isError) return block;
    return FORMAT.text(leaveOut(part, { provider: PROVIDER_NAME, server, onLeftOut: options.onLeftOut }));
  };
  return convertResult(result, { ...FORMAT, file }, options, resultParts);
}

const FORMAT: PartFormat<AnthropicTextBlock | AnthropicFileBlock> = {
  provider: PROVIDER_NAME,
  text: (text) => ({ type: "text", text }),
  file: toFileBlock,
};

/** A message of a prompt, for `messages` of a request. */
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
  return promptMessages(prompt, FORMAT, options);
}
