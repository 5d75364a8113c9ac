/** Content for models: parts of results and prompts in the format of a provider, and notes for what it does not support. */

import { debugChannel, parseJson, ToolCallError } from "@toolport/base";
import { type ContentBlock, type ContentPart, type PromptResult, toContentParts } from "@toolport/core";
import { partNote } from "@toolport/core/internal";
import { isSameJson } from "@toolport/schemas/internal";

export interface ContentOptions {
  /**
   * Content that the provider does not support: `true` throws an error (`UNSUPPORTED_CONTENT`); `false` replaces it
   * by a note.
   * @default false for the result of a tool, true for a prompt
   */
  readonly strictContent?: boolean | undefined;
  /**
   * Content that a server marks for the user only (`annotations.audience: ["user"]`): `"respect"` hides it from the
   * model, `"ignore"` sends it like any other content. `result.content` always contains it. Not applied to prompts.
   * @default "respect"
   */
  readonly audience?: AudienceRule | undefined;
  /**
   * Called for every part that reaches the model only as a note, because it is malformed or because the provider does not
   * support it. An error thrown here ends the conversion.
   *
   * @example
   * ```ts
   * let leftOut = 0;
   * await runOpenAIToolCalls(toolport, message, { onLeftOut: ({ note }) => console.warn(++leftOut, note) });
   * ```
   */
  readonly onLeftOut?: ((leftOut: LeftOutContent) => void) | undefined;
}

/** What happens to content for the user only. */
export type AudienceRule = "respect" | "ignore";

/** A part that is replaced by a note. */
export interface LeftOutContent {
  readonly part: ContentPart;
  /** The note that the model receives instead. */
  readonly note: string;
  /** The provider that does not support it, e.g. `OpenAI's chat API`. */
  readonly provider: string;
  readonly server?: string | undefined;
  /** The tool's name on its server. */
  readonly tool?: string | undefined;
}

/** Where content comes from and where it should go. */
export interface ContentPlace extends Pick<ContentOptions, "onLeftOut"> {
  /** The provider, e.g. `OpenAI's chat API`. */
  readonly provider: string;
  readonly strict: boolean;
  readonly server?: string | undefined;
  readonly tool?: string | undefined;
}

const debug = debugChannel("call");

/** Whether a callback or an error needs to know which content is left out. */
export const isLeftOutWatched = ({ strictContent, onLeftOut }: ContentOptions): boolean =>
  strictContent === true || onLeftOut !== undefined || debug.enabled;

/** Returns a note instead of the part, or throws an error that names the unsupported content. */
export function noteOrThrow(part: ContentPart, place: ContentPlace): string {
  if (place.strict) throw unsupported(part, place);
  // The model can request these by their URI, except files on the machine of the server.
  if (part.kind === "bare-resource" || (part.kind === "link" && !isFileUrl(part.uri))) return partNote(part);
  return leaveOut(part, place);
}

export const isFileUrl = (uri: string): boolean => /^\s*file:/i.test(uri);

/** Reports a part that is left out, and returns the note. */
export function leaveOut(
  part: ContentPart,
  { provider, server, tool, onLeftOut }: Omit<ContentPlace, "strict">,
): string {
  const note = partNote(part, true);
  if (debug.enabled) debug(`[${server ?? "?"}/${tool ?? "?"}] not sent to ${provider}: ${note}`);
  onLeftOut?.({ part, note, provider, server, tool });
  return note;
}

function unsupported(part: ContentPart, { provider, server, tool }: ContentPlace): ToolCallError {
  const isMalformed = part.kind === "malformed";
  const mimeType = "mimeType" in part && part.mimeType !== undefined ? ` (${part.mimeType})` : "";
  return new ToolCallError({
    code: "UNSUPPORTED_CONTENT",
    server,
    tool,
    what: isMalformed
      ? `The server sent malformed content (${part.type}: ${part.problem})`
      : `${provider} does not support content of the kind ${JSON.stringify(part.kind)}${mimeType} here`,
    next: isMalformed
      ? "Report this to the author of the server, or set strictContent to false to send a note instead"
      : "Set strictContent to false to send a note instead",
  });
}

/** How one provider represents text and files of users; `file` returns undefined for unsupported types. */
export interface PartFormat<Part> {
  readonly provider: string;
  text(text: string): Part;
  file(part: ContentPart): Part | undefined;
}

/** Converts every part to the format of a provider: text, a file, or a note. */
export const mapParts = <Part>(
  parts: readonly ContentPart[],
  { provider, text, file }: PartFormat<Part>,
  place: Omit<ContentPlace, "provider">,
): Part[] =>
  parts.map((part) => {
    const said = textOf(part);
    if (said !== undefined) return text(said);
    return file(part) ?? text(noteOrThrow(part, { ...place, provider }));
  });

/** The content of a result with the options of a program. `media: "note"`: files become notes. */
export const convertResult = <Part>(
  result: ResultContent,
  format: PartFormat<Part>,
  options: ContentOptions & { readonly media?: "content" | "note" | undefined },
  partsOf = markedParts,
): Part[] => {
  const { media, strictContent: strict = false, audience, onLeftOut } = options;
  const file = media === "note" ? () => undefined : format.file;
  const place = { strict, server: result.server, onLeftOut };
  return mapParts(partsOf(result, audience), { ...format, file }, place);
};

/** Parts that providers treat as a file: separate blocks and embedded resources. */
export interface FilePart {
  readonly data: string;
  readonly mimeType: string;
  /** A name to show, with an extension if it is known. */
  readonly filename: string;
}

/** The bytes of a part, if it has any whose type is known. */
export function fileOf(part: ContentPart): FilePart | undefined {
  switch (part.kind) {
    case "image":
    case "audio":
      return { data: part.data, mimeType: part.mimeType, filename: nameFor(part.kind, part.mimeType) };
    case "blob-resource":
      return part.mimeType === undefined
        ? undefined
        : {
            data: part.data,
            mimeType: part.mimeType,
            filename: lastSegment(part.uri) ?? nameFor("file", part.mimeType),
          };
    default:
      return undefined;
  }
}

/**
 * Image types that at least one of three providers supports, for adapters that do not know the provider.
 * OpenAI: https://platform.openai.com/docs/guides/images-vision#image-input-requirements (PNG, JPEG, WebP, GIF).
 * Anthropic: https://docs.claude.com/en/docs/build-with-claude/vision (JPEG, PNG, GIF, WebP).
 * Gemini: https://ai.google.dev/gemini-api/docs/image-understanding#supported-formats (PNG, JPEG, WebP, HEIC, HEIF).
 */
const KNOWN_IMAGES = new Set("png jpeg gif webp heic heif".split(" ").map((name) => `image/${name}`));

/** False for an image that none of them supports: SVG, TIFF, BMP … */
export const isSupportedSomewhere = ({ mimeType }: { readonly mimeType: string }): boolean =>
  !mimeType.startsWith("image/") || KNOWN_IMAGES.has(mimeType);

/** Plain text: no note, nothing left out. */
export function textOf(part: ContentPart): string | undefined {
  return part.kind === "text" || part.kind === "text-resource" ? partNote(part) : undefined;
}

export const dataUri = ({ data, mimeType }: FilePart): string => `data:${mimeType};base64,${data}`;

const nameFor = (kind: string, mimeType: string): string =>
  `${kind}.${mimeType.slice(mimeType.indexOf("/") + 1).split(/[+;]/)[0]}`;

function lastSegment(uri: string): string | undefined {
  const path = uri.split(/[?#]/)[0] ?? "";
  const name = path.slice(path.lastIndexOf("/") + 1);
  return name === "" ? undefined : name;
}

/** The input: a `ToolResult`, or the result of `tools/call` as the MCP SDK returns it. */
export interface ResultContent {
  readonly content?: readonly unknown[] | undefined;
  readonly structuredContent?: unknown;
  readonly isError?: boolean | undefined;
  /** For error messages. */
  readonly server?: string | undefined;
}

/** Providers reject empty texts, and a model should know that the result is empty. */
const NOTHING = { false: "[no output]", true: "The tool failed without a message" };
const FOR_USER = {
  false: "[the result is for the user only]",
  true: "The tool failed; its message is for the user only",
};

/** Never empty, and without blank texts. */
export function resultParts(
  { content = [], structuredContent, isError = false }: ResultContent,
  audience: AudienceRule = "respect",
): ContentPart[] {
  const all = toContentParts(content).filter((part) => part.kind !== "text" || part.text.trim() !== "");
  const parts = all.filter((part) => isMeantForModel(part, audience));
  if (structuredContent !== undefined && !parts.some((part) => says(part, structuredContent)))
    parts.push(textPart(JSON.stringify(structuredContent)));
  if (parts.length > 0) return parts;
  return [textPart((all.length > 0 ? FOR_USER : NOTHING)[`${isError}`])];
}

/** The same for APIs without a field for failure: a failure begins with `Error:`. */
function markedParts(result: ResultContent, audience?: AudienceRule): ContentPart[] {
  const parts = resultParts(result, audience);
  return result.isError === true ? [textPart("Error:"), ...parts] : parts;
}

/** Whether a model may see it. */
export const isMeantForModel = (part: ContentPart, audience: AudienceRule = "respect"): boolean =>
  audience === "ignore" || !part.userOnly;

/** Replaces a result that is for the user only. */
export const forUserNote = (isError: boolean): string => FOR_USER[`${isError}`];

export const textPart = (text: string): ContentPart => ({
  kind: "text",
  text,
  source: { type: "text", text },
  userOnly: false,
});

/** The specification asks servers to repeat structured content as JSON text; sending it twice would waste tokens. */
const says = (part: ContentPart, value: unknown): boolean =>
  part.kind === "text" && isSameJson(parseJson(part.text), value);

interface PromptTurn<Part> {
  readonly role: "user" | "assistant";
  readonly parts: Part[];
  /** The whole text, if the message contains only text. */
  readonly text: string | undefined;
}

/** For every provider, messages of the assistant must be text. */
export function promptTurns<Part>(
  { server, messages }: PromptResult,
  format: PartFormat<Part>,
  { strictContent = true, onLeftOut }: ContentOptions,
): PromptTurn<Part>[] {
  const place = { provider: format.provider, strict: strictContent, server, onLeftOut };
  return messages.map(({ role, content }) => {
    const blocks: readonly ContentBlock[] = Array.isArray(content) ? content : [content];
    const texts: string[] = [];
    const parts = toContentParts(blocks).map((part) => {
      const file = role === "user" && textOf(part) === undefined ? format.file(part) : undefined;
      if (file !== undefined) return file;
      const text = textOf(part) ?? noteOrThrow(part, place);
      texts.push(text);
      return format.text(text);
    });
    return { role, parts, text: texts.length === parts.length ? texts.join("\n") : undefined };
  });
}

type PromptMessage<Part> =
  | { role: "user"; content: string | Part[] }
  | { role: "assistant"; content: string };

/** For APIs whose messages are a text or a list of parts. */
export const promptMessages = <Part>(
  prompt: PromptResult,
  format: PartFormat<Part>,
  options: ContentOptions,
): PromptMessage<Part>[] =>
  promptTurns(prompt, format, options).map(({ role, parts, text }) =>
    role === "assistant" ? { role, content: text ?? "" } : { role, content: text ?? parts },
  );
