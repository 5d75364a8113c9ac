/** What happens to content that a provider cannot take. */
import type { ContentPart } from "../content/content-part.js";
import { partNote } from "../content/part-note.js";
import { ToolCallError } from "../errors/tool-call-error.js";

export interface ContentOptions {
  /**
   * Content of a kind that the provider cannot take: `true`, an error (`UNSUPPORTED_CONTENT`); `false`, a note in words
   * in its place.
   * @default false for a tool's answer, true for a prompt
   */
  readonly strictContent?: boolean | undefined;
}

/** Where content comes from and where it should go, for the words of an error. */
export interface ContentPlace {
  /** Who cannot take it, e.g. `OpenAI's chat API`. */
  readonly provider: string;
  readonly strict: boolean;
  readonly server?: string | undefined;
  readonly tool?: string | undefined;
}

/** Words in place of the part, or an error that says what could not be handed on. */
export function noteOrThrow(part: ContentPart, { provider, strict, server, tool }: ContentPlace): string {
  if (!strict) return partNote(part);
  const mimeType = "mimeType" in part && part.mimeType !== undefined ? ` (${part.mimeType})` : "";
  throw new ToolCallError({
    code: "UNSUPPORTED_CONTENT",
    server,
    tool,
    what: `${provider} cannot take content of the kind ${JSON.stringify(part.kind)}${mimeType} here`,
    next: "Set strictContent to false to have a note in its place",
  });
}

/** What is a file to every provider, whether it came as a block of its own or as an embedded resource. */
export interface FilePart {
  readonly data: string;
  readonly mimeType: string;
  /** A name to show, with an extension where one is known. */
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

/** Text that stands for itself: no note, nothing lost. */
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
