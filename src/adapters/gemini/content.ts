/** Content as parts of Gemini's API. */
import type { ContentPart } from "../../content/content-part.js";
import { fileOf } from "../content-options.js";

export const PROVIDER_NAME = "Gemini's API";

export interface GeminiTextPart {
  text: string;
}

export interface GeminiInlineData {
  inlineData: { mimeType: string; data: string };
}

/** What a function's response may hold; see https://ai.google.dev/gemini-api/docs/function-calling#multimodal. */
const IN_RESPONSES = ["image/png", "image/jpeg", "image/webp", "application/pdf"];
/** What a user may show. */
const IN_MESSAGES =
  /^(image\/(png|jpeg|webp|heic|heif|gif)|audio\/[\w.+-]+|video\/[\w.+-]+|application\/pdf)$/;

/** Bytes for the `parts` of a function's response. */
export function toResponseData(part: ContentPart): GeminiInlineData | undefined {
  const data = toInlineData(part);
  return data && IN_RESPONSES.includes(data.inlineData.mimeType) ? data : undefined;
}

/** Bytes for a content of the user's. */
export function toMessageData(part: ContentPart): GeminiInlineData | undefined {
  const data = toInlineData(part);
  return data && IN_MESSAGES.test(data.inlineData.mimeType) ? data : undefined;
}

function toInlineData(part: ContentPart): GeminiInlineData | undefined {
  const file = fileOf(part);
  return file && { inlineData: { mimeType: file.mimeType, data: file.data } };
}
