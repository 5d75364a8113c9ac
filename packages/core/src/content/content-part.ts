/** Validates MCP content for the adapters, and writes notes that replace content that a provider does not support. Accepts any input, never throws, never fetches. */
import { type Fields, isRecord } from "@toolport/base";

/** Fields of every part. */
interface PartOrigin {
  /** The block as the server sent it. */
  readonly source: Fields;
  /** The server marks it for the user only (`annotations.audience: ["user"]`). */
  readonly userOnly: boolean;
}

type PartBody =
  | { readonly kind: "text"; readonly text: string }
  | { readonly kind: "image"; readonly data: string; readonly mimeType: string }
  | { readonly kind: "audio"; readonly data: string; readonly mimeType: string }
  /** An embedded resource with text. */
  | {
      readonly kind: "text-resource";
      readonly uri: string;
      readonly text: string;
      readonly mimeType: string | undefined;
    }
  /** An embedded resource with bytes, in base64. */
  | {
      readonly kind: "blob-resource";
      readonly uri: string;
      readonly data: string;
      readonly mimeType: string | undefined;
    }
  /** An embedded resource with only a URI. */
  | { readonly kind: "bare-resource"; readonly uri: string; readonly mimeType: string | undefined }
  /** A link to a resource that can be read from the same server. */
  | {
      readonly kind: "link";
      readonly uri: string;
      readonly name: string | undefined;
      readonly title: string | undefined;
      readonly description: string | undefined;
      readonly mimeType: string | undefined;
    }
  /** A block of a type that Toolport does not know. */
  | { readonly kind: "unknown"; readonly type: string }
  /** An item that is not a block, or a block that violates its type. */
  | { readonly kind: "malformed"; readonly type: string; readonly problem: string };

/**
 * One validated part of a tool result or of a prompt message: `data` is standard base64, `mimeType` is the actual type of the
 * bytes, and parts that violate the protocol have the kind `malformed` with a reason.
 */
export type ContentPart = PartOrigin & PartBody;

/**
 * The type of a block in `result.content` that replaces an item that is not a block: `value` is the item. If there are very
 * many, one block with `more` replaces the rest.
 */
export const MALFORMED_TYPE = "malformed";

const textOf = (value: unknown): string | undefined => (typeof value === "string" ? value : undefined);

/** Limits the length of server text in a note. */
const MAX_TYPE = 100;

/** Reads one block. Anything invalid is `malformed`. */
export function toContentPart(item: unknown): ContentPart {
  const source = isRecord(item) ? item : { type: MALFORMED_TYPE, value: item };
  return { ...bodyOf(source), source, userOnly: isUserOnly(source) };
}

/** Reads all blocks of a result. */
export const toContentParts = (items: readonly unknown[]): ContentPart[] => items.map(toContentPart);

function bodyOf(block: Fields): PartBody {
  const type = textOf(block["type"])?.slice(0, MAX_TYPE);
  const malformed = (problem: string): PartBody => ({ kind: "malformed", type: type ?? "content", problem });
  switch (type) {
    case undefined:
      return malformed("it has no type");
    case MALFORMED_TYPE:
      return { kind: "malformed", type: "content", problem: describe(block) };
    case "text":
      return typeof block["text"] === "string"
        ? { kind: "text", text: block["text"] }
        : malformed("it has no text");
    case "image":
    case "audio": {
      const bytes = readBytes(block["data"], block["mimeType"], type);
      if ("problem" in bytes) return malformed(bytes.problem);
      return { kind: type, data: bytes.data, mimeType: bytes.mimeType! };
    }
    case "resource": {
      // Some servers write the fields of the resource beside the type.
      const resource = block["resource"] ?? block;
      return isRecord(resource) ? resourceBody(resource, malformed) : malformed("it has no resource");
    }
    case "resource_link": {
      const uri = textOf(block["uri"]);
      if (uri === undefined || uri === "") return malformed("it has no uri");
      const [name, title, description] = ["name", "title", "description"].map((key) => textOf(block[key]));
      return { kind: "link", uri, name, title, description, mimeType: textOf(block["mimeType"]) };
    }
    default:
      return { kind: "unknown", type };
  }
}

function resourceBody(resource: Fields, malformed: (problem: string) => PartBody): PartBody {
  const { uri, text, blob, mimeType } = resource;
  if (typeof uri !== "string" || uri === "") return malformed("it has no uri");
  if (typeof text === "string") return { kind: "text-resource", uri, text, mimeType: textOf(mimeType) };
  if (blob !== undefined && blob !== null) {
    const bytes = readBytes(blob, mimeType);
    if ("problem" in bytes) return malformed(`${bytes.problem} (${uri})`);
    return { kind: "blob-resource", uri, data: bytes.data, mimeType: bytes.mimeType ?? textOf(mimeType) };
  }
  if (text !== undefined && text !== null) return malformed(`its text is not a string (${uri})`);
  return { kind: "bare-resource", uri, mimeType: textOf(mimeType) };
}

/** https://modelcontextprotocol.io/specification/2025-11-25/server/resources#annotations */
function isUserOnly(block: Fields): boolean {
  const { annotations } = block;
  const resource = block["resource"];
  const given = isRecord(annotations)
    ? annotations
    : isRecord(resource)
      ? resource["annotations"]
      : undefined;
  if (!isRecord(given)) return false;
  const audience: unknown[] = [given["audience"]].flat();
  return audience.includes("user") && !audience.includes("assistant");
}

/** Describes an item that is not a block, or how many more there are. */
function describe({ value, more }: Fields): string {
  if (typeof more === "number") return `${more} more items are not content blocks`;
  if (value === null || value === undefined) return "it is null";
  if (Array.isArray(value)) return "it is a list";
  return typeof value === "object" ? "it is an object without a type" : `it is a ${typeof value}`;
}

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

/**
 * A short note: type, URI and size of the content.
 *
 * @param isLeftOut the bytes are not sent to the model at all
 */
export function partNote(part: ContentPart, isLeftOut = false): string {
  const leftOut = isLeftOut ? ", left out" : "";
  switch (part.kind) {
    case "text":
      return part.text;
    case "text-resource":
      return `Resource: ${shownUri(part.uri)}\n${part.text}`;
    case "image":
    case "audio":
      return `[${bytesNote(part)}${leftOut}]`;
    case "blob-resource":
      return `Resource: ${shownUri(part.uri)} (${bytesNote(part)}${leftOut})`;
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

type BytesPart = Extract<ContentPart, { data: string }>;

const bytesNote = (part: BytesPart): string =>
  `${part.kind === "blob-resource" ? "" : `${part.kind}, `}${part.mimeType ?? "unknown type"}, ${bytesOf(part.data)} bytes`;

/** Either the bytes, or why they cannot be used: the end of a sentence that begins with the block's type. */
type BytesReading =
  | {
      /** Standard base64, padded, without line breaks. */
      readonly data: string;
      /** Lower case, without parameters; undefined if neither the server nor the bytes specify it. */
      readonly mimeType: string | undefined;
    }
  | { readonly problem: string };

/** Types with a known signature, so that a wrong type can be corrected. */
const RASTER = new Set(["image/png", "image/jpeg", "image/gif", "image/webp"]);
/** Other spellings of types; providers reject them (`Input should be 'image/jpeg', 'image/png', …`). */
const SPELLINGS: Readonly<Record<string, string>> = {
  "image/jpg": "image/jpeg",
  "image/pjpeg": "image/jpeg",
  "image/x-png": "image/png",
};
/** Generic types. */
const UNTYPED = new Set(["", "application/octet-stream", "binary/octet-stream"]);
const MARKUP = "text/markup";
/** Number of base64 characters that cover every signature below. */
const HEAD_CHARACTERS = 32;
const MAX_MEDIA_TYPE = 100;

/**
 * Reads base64. Also accepts a data URI, base64url, line breaks and missing padding; the last three only if the bytes
 * are a file of a known type, because otherwise any word would be valid base64.
 */
function readBytes(
  given: unknown,
  declaredType: unknown,
  expected?: "image" | "audio" | undefined,
): BytesReading {
  if (given === undefined || given === null) return { problem: "it has no data" };
  if (typeof given !== "string") return { problem: "its data is not a string" };
  const uri = /^data:([^,]{0,200}?);base64,/i.exec(given);
  const text = uri === null ? given : given.slice(uri[0].length);
  if (text.trim() === "") return { problem: "its data is empty" };
  const data = isBase64(text) ? text : repairBase64(text);
  if (data === undefined) return { problem: "its data is not base64" };
  const declared = mediaType(declaredType) ?? mediaType(uri?.[1]);
  return checkType(data, declared, expected);
}

function checkType(
  data: string,
  declared: string | undefined,
  expected: "image" | "audio" | undefined,
): BytesReading {
  if (declared !== undefined && expected !== undefined && !declared.startsWith(`${expected}/`))
    return { problem: `its type is ${declared}` };
  const isOpen = declared === undefined || RASTER.has(declared);
  const found = isOpen ? typeOfBytes(data) : undefined;
  if (found === MARKUP && declared !== undefined) return { problem: `its data is markup, not ${declared}` };
  const mimeType = found === MARKUP ? undefined : (found ?? declared);
  if (expected === undefined) return { data, mimeType };
  if (mimeType === undefined) return { problem: "it has no media type" };
  return mimeType.startsWith(`${expected}/`) ? { data, mimeType } : { problem: `its data is ${mimeType}` };
}

/** Normalises a media type; undefined if it is generic. */
function mediaType(value: unknown): string | undefined {
  if (typeof value !== "string") return undefined;
  const type = (value.split(";", 1)[0] ?? "").trim().toLowerCase().slice(0, MAX_MEDIA_TYPE);
  return UNTYPED.has(type) ? undefined : (SPELLINGS[type] ?? type);
}

/** Padded, with the standard alphabet. Searches for one invalid character: a repeated group would overflow the stack. */
function isBase64(text: string): boolean {
  if (text.length % 4 !== 0) return false;
  const end = text.search(/[^A-Za-z0-9+/]/);
  return end < 0 || (end >= text.length - 2 && /^={1,2}$/.test(text.slice(end)));
}

/** Other forms of base64, accepted only if the bytes are a file of a known type. */
function repairBase64(text: string): string | undefined {
  const bare = text
    .trim()
    .replace(/\r?\n/g, "")
    .replace(/-/g, "+")
    .replace(/_/g, "/")
    .replace(/={1,2}$/, "");
  if (bare.length % 4 === 1) return undefined;
  const data = bare + "=".repeat((4 - (bare.length % 4)) % 4);
  if (!isBase64(data)) return undefined;
  const found = typeOfBytes(data);
  return found === undefined || found === MARKUP ? undefined : data;
}

/** The type according to the first bytes; undefined if it is unknown. */
function typeOfBytes(data: string): string | undefined {
  const head = atob(data.slice(0, HEAD_CHARACTERS));
  if (head.startsWith("\x89PNG")) return "image/png";
  if (head.startsWith("\xff\xd8\xff")) return "image/jpeg";
  if (head.startsWith("GIF8")) return "image/gif";
  if (head.startsWith("%PDF-")) return "application/pdf";
  if (head.startsWith("fLaC")) return "audio/flac";
  if (head.startsWith("OggS")) return "audio/ogg";
  if (head.startsWith("ID3")) return "audio/mpeg";
  if (head.startsWith("RIFF") && head.slice(8, 12) === "WEBP") return "image/webp";
  if (head.startsWith("RIFF") && head.slice(8, 12) === "WAVE") return "audio/wav";
  // HTML or SVG: servers often send an error page as an image.
  return /^(?:\xef\xbb\xbf)?\s*<[!?a-zA-Z]/.test(head) ? MARKUP : undefined;
}
