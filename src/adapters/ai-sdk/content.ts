/** Content in the format of the AI SDK. Its three versions have three formats for files. */
import type { ContentPart } from "../../content/content-part.js";
import {
  type AudienceRule,
  type ContentPlace,
  type FilePart,
  fileOf,
  isSupportedSomewhere,
  leaveOut,
  mapParts,
} from "../content-options.js";
import { type ResultContent, resultParts } from "../result-parts.js";

/** Major versions of `ai` that are known. */
export type AiSdkVersion = 5 | 6 | 7;

export const PROVIDER_NAME = "The AI SDK";

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
  place: ContentPlace = { provider: PROVIDER_NAME, strict: false },
): AiSdkModelOutput {
  const isError = result.isError === true;
  const values = mapParts<AiSdkOutputPart>(
    fitParts(resultParts(result, audience)),
    {
      text: (text) => ({ type: "text", text }),
      file: (part) => {
        const file = notes ? undefined : fileForModel(part);
        if (file === undefined) return undefined;
        // An error is text in every version.
        return isError ? { type: "text", text: leaveOut(part, place) } : toOutputPart(file, version);
      },
    },
    place,
  );
  const texts = values.map((value) => (value.type === "text" ? value.text : undefined));
  if (!texts.every((text) => text !== undefined)) return { type: "content", value: values };
  return { type: isError ? "error-text" : "text", value: texts.join("\n") };
}

/** The provider behind the AI SDK is unknown here; an image that no provider supports is left out. */
export function fileForModel(part: ContentPart): FilePart | undefined {
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
