/** Content in OpenAI's two formats: parts of the chat API, and items of the responses API. */
import type { ContentPart } from "../../content/content-part.js";
import { dataUri, type FilePart, fileOf } from "../content-options.js";

/** One of OpenAI's APIs. */
export type OpenAIApi = "chat" | "responses";

export const PROVIDER_NAMES: Readonly<Record<OpenAIApi, string>> = {
  chat: "OpenAI's chat API",
  responses: "OpenAI's responses API",
};

export type OpenAIChatPart =
  | { type: "text"; text: string }
  | { type: "image_url"; image_url: { url: string } }
  | { type: "input_audio"; input_audio: { data: string; format: "wav" | "mp3" } }
  | { type: "file"; file: { filename: string; file_data: string } };

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
