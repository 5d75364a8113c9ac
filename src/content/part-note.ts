/** Words in place of content that a provider cannot take. */
import type { ContentPart } from "./content-part.js";

/** Size of base64 data in bytes. */
const bytesOf = (data: string): number =>
  Math.floor((data.length * 3) / 4) - (data.endsWith("==") ? 2 : data.endsWith("=") ? 1 : 0);

/** A short, honest note: what it is, where it can be had, how large it is. */
export function partNote(part: ContentPart): string {
  switch (part.kind) {
    case "text":
      return part.text;
    case "text-resource":
      return `Resource: ${part.uri}\n${part.text}`;
    case "image":
      return `[image, ${part.mimeType}, ${bytesOf(part.data)} bytes]`;
    case "audio":
      return `[audio, ${part.mimeType}, ${bytesOf(part.data)} bytes]`;
    case "blob-resource":
      return `Resource: ${part.uri} (${part.mimeType ?? "unknown type"}, ${bytesOf(part.data)} bytes)`;
    case "bare-resource":
      return `Resource: ${part.uri}`;
    case "link": {
      const name = part.title ?? part.name;
      return `Resource: ${part.uri}${name === undefined ? "" : ` (${name})`}${part.description === undefined ? "" : `: ${part.description}`}`;
    }
    case "unknown":
      return `[content of type ${JSON.stringify(part.type)} that is not supported]`;
  }
}
