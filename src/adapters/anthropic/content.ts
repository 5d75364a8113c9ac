/** Content as blocks of Anthropic's messages API. */
import type { ContentPart } from "../../content/content-part.js";
import { fileOf } from "../content-options.js";

export const PROVIDER_NAME = "Anthropic's API";

/** https://docs.claude.com/en/docs/build-with-claude/vision; documents are PDF files, and there is no audio. */
const IMAGES = ["image/jpeg", "image/png", "image/gif", "image/webp"] as const;
type ImageType = (typeof IMAGES)[number];

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
