/** Reads the bytes of a block: normalises the base64, and detects the media type from the bytes. */

/** Valid bytes. */
export interface MediaBytes {
  /** Standard base64, padded, without line breaks. */
  readonly data: string;
  /** Lower case, without parameters; undefined if neither the server nor the bytes specify it. */
  readonly mimeType: string | undefined;
}

/** Either the bytes, or why they cannot be used: the end of a sentence that begins with the block's type. */
export type BytesReading = MediaBytes | { readonly problem: string };

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
const MAX_TYPE = 100;

/**
 * Reads base64. Also accepts a data URI, base64url, line breaks and missing padding; the last three only if the bytes
 * are a file of a known type, because otherwise any word would be valid base64.
 */
export function readBytes(
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
  const type = (value.split(";", 1)[0] ?? "").trim().toLowerCase().slice(0, MAX_TYPE);
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
