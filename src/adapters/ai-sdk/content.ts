/** Content as the AI SDK hands it to a model. Its three versions have three forms for files; all of them stand here. */
import type { ContentPart } from "../../content/content-part.js";
import type { ToolResult } from "../../execution/tool-result.js";
import { type ContentPlace, type FilePart, fileOf, noteOrThrow, textOf } from "../content-options.js";
import { resultParts } from "../result-parts.js";

/** Major versions of `ai` that are known. */
export type AiSdkVersion = 5 | 6 | 7;

export const PROVIDER_NAME = "The AI SDK";

export type AiSdkOutputPart =
  | { type: "text"; text: string }
  | { type: "media"; data: string; mediaType: string }
  | { type: "image-data"; data: string; mediaType: string }
  | { type: "file-data"; data: string; mediaType: string; filename: string }
  | { type: "file"; data: { type: "data"; data: string }; mediaType: string; filename: string };

/** What a model gets of a tool's answer. */
export type AiSdkModelOutput =
  | { type: "text"; value: string }
  | { type: "error-text"; value: string }
  | { type: "content"; value: AiSdkOutputPart[] };

export interface ModelOutputOptions {
  readonly version: AiSdkVersion;
  /** Files become notes. */
  readonly notes: boolean;
}

/** Each version by what it alone exports: there is no number to ask for. */
export const versionOf = (ai: object): AiSdkVersion =>
  "isStepCount" in ai ? 7 : "ToolLoopAgent" in ai ? 6 : 5;

/** Never throws: what cannot be taken was refused when the tool answered, if it was to be refused. */
export function toModelOutput(result: ToolResult, { version, notes }: ModelOutputOptions): AiSdkModelOutput {
  const place = { provider: PROVIDER_NAME, strict: false };
  const values = resultParts(result).map((part): AiSdkOutputPart => {
    // An error is text in every version.
    const file = notes || result.isError ? undefined : fileOf(part);
    if (file !== undefined) return toOutputPart(file, version);
    return { type: "text", text: textOf(part) ?? noteOrThrow(part, place) };
  });
  const texts = values.map((value) => (value.type === "text" ? value.text : undefined));
  if (!texts.every((text) => text !== undefined)) return { type: "content", value: values };
  return { type: result.isError ? "error-text" : "text", value: texts.join("\n") };
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

/** Throws for the first part that could only be handed on as a note. */
export function refuseNotes(result: ToolResult, place: ContentPlace & { notes: boolean }): void {
  for (const part of resultParts(result)) if (!isTaken(part, place.notes)) noteOrThrow(part, place);
}

const isTaken = (part: ContentPart, notes: boolean): boolean =>
  textOf(part) !== undefined || (!notes && fileOf(part) !== undefined);
