/** Results and prompts in the format of the AI SDK. Its three versions have three formats for files. */
import type { ContentPart } from "../../content/content-part.js";
import type { PromptResult } from "../../port/get-prompt.js";
import {
  type AudienceRule,
  type ContentOptions,
  type ContentPlace,
  type FilePart,
  fileOf,
  isSupportedSomewhere,
  leaveOut,
  mapParts,
} from "../content-options.js";
import { promptMessages, type ResultContent, resultParts } from "../result-parts.js";

/** Major versions of `ai` that are known. */
export type AiSdkVersion = 5 | 6 | 7;

const PROVIDER_NAME = "The AI SDK";

export type AiSdkOutputPart =
  | { type: "text"; text: string }
  | { type: "media"; data: string; mediaType: string }
  | { type: "image-data"; data: string; mediaType: string }
  | { type: "file-data"; data: string; mediaType: string; filename: string }
  | { type: "file"; data: { type: "data"; data: string }; mediaType: string; filename: string };

/** The output of a tool that the model receives. */
export type AiSdkModelOutput =
  | { type: "text"; value: string }
  | { type: "error-text"; value: string }
  | { type: "content"; value: AiSdkOutputPart[] };

export interface ModelOutputOptions {
  readonly version: AiSdkVersion;
  /** Files become notes. */
  readonly notes: boolean;
  readonly audience?: AudienceRule | undefined;
  /** @default everything fits */
  readonly fitParts?: ((parts: readonly ContentPart[]) => readonly ContentPart[]) | undefined;
}

export const modelOutputOptions = (
  { media, audience }: { media?: "content" | "note" | undefined; audience?: AudienceRule | undefined },
  version: AiSdkVersion,
): ModelOutputOptions => ({ version, notes: media === "note", audience });

/** Detects the version by its exports: the package exports no version number. */
export const versionOf = (ai: object): AiSdkVersion =>
  "isStepCount" in ai ? 7 : "ToolLoopAgent" in ai ? 6 : 5;

/** `place`: where parts that are left out are reported; without it nothing throws. */
export function toModelOutput(
  result: ResultContent,
  { version, notes, audience, fitParts = (parts) => parts }: ModelOutputOptions,
  place: Omit<ContentPlace, "provider"> = { strict: false },
): AiSdkModelOutput {
  const isError = result.isError === true;
  const values = mapParts<AiSdkOutputPart>(
    fitParts(resultParts(result, audience)),
    {
      provider: PROVIDER_NAME,
      text: (text) => ({ type: "text", text }),
      file: (part) => {
        const file = notes ? undefined : fileForModel(part);
        if (file === undefined) return undefined;
        // An error is text in every version.
        const note = () => leaveOut(part, { provider: PROVIDER_NAME, ...place });
        return isError ? { type: "text", text: note() } : toOutputPart(file, version);
      },
    },
    place,
  );
  const texts = values.map((value) => (value.type === "text" ? value.text : undefined));
  if (!texts.every((text) => text !== undefined)) return { type: "content", value: values };
  return { type: isError ? "error-text" : "text", value: texts.join("\n") };
}

/** The provider behind the AI SDK is unknown here; an image that no provider supports is left out. */
function fileForModel(part: ContentPart): FilePart | undefined {
  const file = fileOf(part);
  return file !== undefined && isSupportedSomewhere(file) ? file : undefined;
}

function toOutputPart(
  { data, mimeType: mediaType, filename }: FilePart,
  version: AiSdkVersion,
): AiSdkOutputPart {
  if (version === 5) return { type: "media", data, mediaType };
  if (version === 7) return { type: "file", data: { type: "data", data }, mediaType, filename };
  return mediaType.startsWith("image/")
    ? { type: "image-data", data, mediaType }
    : { type: "file-data", data, mediaType, filename };
}

/** Options of `toAiSdkContent()`. */
export interface AiSdkContentOptions extends ContentOptions {
  /** Major version of `ai` that receives the content: each one represents files differently. @default 6 */
  readonly version?: AiSdkVersion | undefined;
  /** Images, audio and files: sent to the model (`"content"`), or replaced by a note (`"note"`). @default "content" */
  readonly media?: "content" | "note" | undefined;
}

/**
 * Converts a result of `callTool` or `task.result()`: for `output` of a `tool-result`
 * part, and for `toModelOutput` of your own tool.
 *
 * @example
 * ```ts
 * const result = await toolport.callTool("files__read_image", { path: "a.png" });
 * const part = { type: "tool-result", toolCallId, toolName, output: toAiSdkContent(result) };
 * ```
 */
export function toAiSdkContent(
  result: ResultContent,
  { version = 6, media, audience, strictContent = false, onLeftOut }: AiSdkContentOptions = {},
): AiSdkModelOutput {
  const place = { strict: strictContent, server: result.server, onLeftOut };
  return toModelOutput(result, modelOutputOptions({ media, audience }, version), place);
}

export type AiSdkPromptPart =
  | { type: "text"; text: string }
  | { type: "file"; data: string; mediaType: string; filename: string };

/** A message of a prompt, as the AI SDK takes it. */
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
  return promptMessages(prompt, format, options);
}
