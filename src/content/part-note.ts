/** Notes that replace content that a provider does not support. */
import type { ContentPart } from "./content-part.js";

/** Size of base64 data in bytes. */
const bytesOf = (data: string): number =>
  Math.floor((data.length * 3) / 4) - (data.endsWith("==") ? 2 : data.endsWith("=") ? 1 : 0);

/** Maximum length of a data URI in a note. */
const MAX_DATA_URI = 64;

/** Shortens data URIs, which would fill the conversation. */
const shownUri = (uri: string): string =>
  /^data:/i.test(uri) && uri.length > MAX_DATA_URI
    ? `${uri.slice(0, MAX_DATA_URI)}… (${uri.length} characters)`
    : uri;

/** A short note: type, URI and size of the content. */
export function partNote(part: ContentPart): string {
  switch (part.kind) {
    case "text":
      return part.text;
    case "text-resource":
      return `Resource: ${shownUri(part.uri)}\n${part.text}`;
    case "image":
    case "audio":
      return `[${bytesNote(part)}]`;
    case "blob-resource":
      return `Resource: ${shownUri(part.uri)} (${bytesNote(part)})`;
    case "bare-resource":
      return `Resource: ${shownUri(part.uri)}`;
    case "link": {
      const name = part.title ?? part.name;
      return `Resource: ${shownUri(part.uri)}${name === undefined ? "" : ` (${name})`}${part.description === undefined ? "" : `: ${part.description}`}`;
    }
    case "unknown":
      return `[content of type ${JSON.stringify(part.type)} that is not supported]`;
    case "malformed":
      return `[${part.type} left out: ${part.problem}]`;
  }
}

/** The same for a part whose bytes are not sent to the model at all. */
export function leftOutNote(part: ContentPart): string {
  switch (part.kind) {
    case "image":
    case "audio":
      return `[${bytesNote(part)}, left out]`;
    case "blob-resource":
      return `Resource: ${shownUri(part.uri)} (${bytesNote(part)}, left out)`;
    default:
      return partNote(part);
  }
}

type BytesPart = Extract<ContentPart, { data: string }>;

const bytesNote = (part: BytesPart): string =>
  `${part.kind === "blob-resource" ? "" : `${part.kind}, `}${part.mimeType ?? "unknown type"}, ${bytesOf(part.data)} bytes`;
