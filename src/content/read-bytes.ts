/** Reads the bytes of a block: base64 that every provider takes, and the media type that the bytes really have. */

/** Bytes that may be handed on. */
export interface MediaBytes {
  /** Standard base64, padded, without line breaks. */
  readonly data: string;
  /** Lower case, without parameters; undefined where neither the server nor the bytes say it. */
  readonly mimeType: string | undefined;
}

/** Either the bytes, or why they cannot be used: the end of a sentence that begins with the block's type. */
export type BytesReading = MediaBytes | { readonly problem: string };

/** Types whose first bytes are known, so that a wrong label can be corrected. */
const RASTER = new Set(["image/png", "image/jpeg", "image/gif", "image/webp"]);
/** Other spellings of types; providers refuse them (`Input should be 'image/jpeg', 'image/png', …`). */
const SPELLINGS: Readonly<Record<string, string>> = {
  "image/jpg": "image/jpeg",
  "image/pjpeg": "image/jpeg",
  "image/x-png": "image/png",
};
/** Labels that say nothing. */
const UNTYPED = new Set(["", "application/octet-stream", "binary/octet-stream"]);
const MARKUP = "text/markup";
/** Characters of base64 that hold every signature below. */
const HEAD_CHARACTERS = 32;
const MAX_TYPE = 100;

/**
 * Reads base64. A data URI, base64url, line breaks and missing padding are read too, the last three only where the bytes
 * are a file of a known type: otherwise any word could pass for base64.
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
  if (mimeType === undefined) return { problem: "it does not say its media type" };
  return mimeType.startsWith(`${expected}/`) ? { data, mimeType } : { problem: `its data is ${mimeType}` };
}

/** A media type in its usual form; undefined if it says nothing. */
function mediaType(value: unknown): string | undefined {
  if (typeof value !== "string") return undefined;
  const type = (value.split(";", 1)[0] ?? "").trim().toLowerCase().slice(0, MAX_TYPE);
  return UNTYPED.has(type) ? undefined : (SPELLINGS[type] ?? type);
}

/** Padded and of the standard alphabet. Searches for one foreign character: a repeated group would fill the stack. */
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

/** What the first bytes say; undefined: nothing that is known. */
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
  // A page or a drawing: an error page under the name of an image is what servers send most.
  return /^(?:\xef\xbb\xbf)?\s*<[!?a-zA-Z]/.test(head) ? MARKUP : undefined;
}
