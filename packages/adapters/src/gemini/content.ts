/** Content as parts of Gemini's API: results and prompts. */
import type { ContentPart, PromptResult } from "@toolport/core";
import {
  type ContentOptions,
  convertResult,
  fileOf,
  type PartFormat,
  promptTurns,
  type ResultContent,
} from "../model-content.js";

export const PROVIDER_NAME = "Gemini's API";

/** A part with text. */
export interface GeminiTextPart {
  text: string;
}

/** A part with a file in base64. */
export interface GeminiInlineData {
  inlineData: { mimeType: string; data: string };
}

/** Types that a function response may contain; see https://ai.google.dev/gemini-api/docs/function-calling#multimodal. */
const IN_RESPONSES = new Set(["image/png", "image/jpeg", "image/webp", "application/pdf"]);

const typesOf = (family: string, names: string): string[] =>
  names.split(" ").map((name) => `${family}/${name}`);

/** The parts that a user content may have. */
const IN_MESSAGES = new Set([
  // https://ai.google.dev/gemini-api/docs/image-understanding#supported-formats
  ...typesOf("image", "png jpeg webp heic heif"),
  // https://ai.google.dev/gemini-api/docs/audio#supported-formats
  ...typesOf("audio", "wav mp3 aiff aac ogg flac"),
  // https://ai.google.dev/gemini-api/docs/video-understanding#supported-formats
  ...typesOf("video", "mp4 mpeg mov avi x-flv mpg webm wmv 3gpp"),
  // https://ai.google.dev/gemini-api/docs/document-processing
  "application/pdf",
]);

/** The API's names for types that servers name differently. */
const API_NAMES: Readonly<Record<string, string>> = {
  "audio/mpeg": "audio/mp3",
  "audio/x-wav": "audio/wav",
  "audio/wave": "audio/wav",
  "audio/vnd.wave": "audio/wav",
  "audio/x-aiff": "audio/aiff",
  "audio/x-aac": "audio/aac",
  "audio/x-flac": "audio/flac",
  "video/quicktime": "video/mov",
  "video/x-msvideo": "video/avi",
  "video/x-ms-wmv": "video/wmv",
};

/** Bytes for the `parts` of a function's response. */
export function toResponseData(part: ContentPart): GeminiInlineData | undefined {
  const data = toInlineData(part);
  return data && IN_RESPONSES.has(data.inlineData.mimeType) ? data : undefined;
}

/** Bytes as a part of a user content. */
export function toMessageData(part: ContentPart): GeminiInlineData | undefined {
  const data = toInlineData(part);
  return data && IN_MESSAGES.has(data.inlineData.mimeType) ? data : undefined;
}

function toInlineData(part: ContentPart): GeminiInlineData | undefined {
  const file = fileOf(part);
  return file && { inlineData: { mimeType: API_NAMES[file.mimeType] ?? file.mimeType, data: file.data } };
}

/** Options of `toGeminiContent()`. */
export interface GeminiContentOptions extends ContentOptions {
  /** Images, audio, video and PDF files: separate parts (`"content"`), or replaced by a note (`"note"`). @default "content" */
  readonly media?: "content" | "note" | undefined;
}

/**
 * Converts a result of `callTool` or `task.result()` to parts for a user
 * content. A failure begins with `Error:`.
 *
 * @example
 * ```ts
 * const result = await toolport.callTool("radio__record", { seconds: 5 });
 * contents.push({ role: "user", parts: [{ text: "What is said here?" }, ...toGeminiContent(result)] });
 * ```
 */
export function toGeminiContent(
  result: ResultContent,
  options: GeminiContentOptions = {},
): (GeminiTextPart | GeminiInlineData)[] {
  return convertResult(result, FORMAT, options);
}

const FORMAT: PartFormat<GeminiTextPart | GeminiInlineData> = {
  provider: PROVIDER_NAME,
  text: (text) => ({ text }),
  file: toMessageData,
};

/** A message of a prompt, for `contents` of a request. */
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
  return promptTurns(prompt, FORMAT, options).map(({ role, parts }) => ({
    role: role === "user" ? "user" : "model",
    parts,
  }));
}
