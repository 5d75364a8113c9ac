/** Texts: lengths, cuts, hashes, URLs and header values. */

/**
 * The text without white space that says nothing: at line ends, around the text, as indentation of all lines, and as runs of blank
 * lines. Spaces inside a line stay if the text contains a code block.
 */
export function tidyText(text: string): string {
  if (!/^\s|\s\s|\s$/.test(text)) return text;
  const lines = text
    .trim()
    .split("\n")
    .map((line) => line.trimEnd());
  const common = commonIndentation(lines.slice(1));
  const kept = lines.filter((line, index) => line !== "" || lines[index - 1] !== "");
  const level = kept.map((line, index) => (index === 0 ? line : line.slice(common))).join("\n");
  return level.includes("```") ? level : level.replace(/(?<=\S) {2,}(?=\S)/g, " ");
}

function commonIndentation(lines: readonly string[]): number {
  let common = Number.POSITIVE_INFINITY;
  for (const line of lines) if (line !== "") common = Math.min(common, line.length - line.trimStart().length);
  return common;
}

/** The text cut to this many characters, between two words if possible, with "…" at the end. */
export function cutText(text: string, characters: number): string {
  if (text.length <= characters) return text;
  let end = characters - 1;
  while (end > characters / 2 && !/\s/.test(text[end]!)) end -= 1;
  // One long word, or a script without spaces: cut inside it, but not inside a surrogate pair.
  if (!/\s/.test(text[end]!)) end = characters - 1;
  if (/[\ud800-\udbff]/.test(text.charAt(end - 1))) end -= 1;
  return `${text.slice(0, end).trimEnd()}…`;
}

/** A search is five times as fast as a loop, and most texts are ASCII. */
const NOT_ASCII = /[^\0-\x7f]/;

/** Counts bytes without encoding. A lone surrogate counts as the replacement character it would become. */
export function utf8Length(text: string): number {
  let bytes = text.length;
  const first = text.search(NOT_ASCII);
  if (first === -1) return bytes;
  for (let index = first; index < text.length; index++) {
    const unit = text.charCodeAt(index);
    if (unit < 0x80) continue;
    bytes += unit < 0x800 ? 1 : 2;
    // A surrogate pair has four bytes: the second unit adds nothing.
    const isHigh = unit >= 0xd800 && unit < 0xdc00;
    const next = isHigh ? text.charCodeAt(index + 1) : 0;
    if (next >= 0xdc00 && next < 0xe000) index++;
  }
  return bytes;
}

/** Measured over the definitions of 20 real servers with the encoding o200k; see docs/context.md. */
const BYTES_PER_TOKEN = 4.35;

/** The number of tokens of a text, estimated by its size. */
export const estimateTokens = (text: string): number => tokensOfBytes(utf8Length(text));

export const tokensOfBytes = (bytes: number): number => Math.ceil(bytes / BYTES_PER_TOKEN);

/** Returns 64 bits as 16 hexadecimal digits, synchronously and the same on every runtime. */
export function hashText(text: string): string {
  let high = 0xdeadbeef;
  let low = 0x41c6ce57;
  for (let index = 0; index < text.length; index++) {
    const unit = text.charCodeAt(index);
    high = Math.imul(high ^ unit, 2654435761);
    low = Math.imul(low ^ unit, 1597334677);
  }
  high = Math.imul(high ^ (high >>> 16), 2246822507) ^ Math.imul(low ^ (low >>> 13), 3266489909);
  low = Math.imul(low ^ (low >>> 16), 2246822507) ^ Math.imul(high ^ (high >>> 13), 3266489909);
  return [high, low].map((half) => (half >>> 0).toString(16).padStart(8, "0")).join("");
}

const encoder = new TextEncoder();

/** The hash in hexadecimal, the same on every runtime. */
export async function sha256(text: string): Promise<string> {
  const digest = await globalThis.crypto.subtle.digest("SHA-256", encoder.encode(text));
  return Array.from(new Uint8Array(digest), (byte) => byte.toString(16).padStart(2, "0")).join("");
}

/**
 * Replaces `URL.canParse`, which in Node 20 returns false for texts with characters such as `ü` once the engine has optimised the call.
 *
 * @example
 * ```ts
 * canParseUrl("https://bücher.example"); // true, every time
 * ```
 */
export function canParseUrl(text: string, base?: string): boolean {
  try {
    new URL(text, base);
    return true;
  } catch {
    return false;
  }
}

/** Encodes anything but visible ASCII as Base64, so that an argument cannot inject another header. */
export function encodeHeaderText(value: string): string {
  const plain = /^[\x21-\x7e](?:[\t\x20-\x7e]*[\x21-\x7e])?$/.test(value);
  const looksEncoded = value.startsWith("=?base64?") && value.endsWith("?=");
  if (plain && !looksEncoded) return value;
  const bytes = new TextEncoder().encode(value);
  let binary = "";
  for (const byte of bytes) binary += String.fromCharCode(byte);
  return `=?base64?${btoa(binary)}?=`;
}

/** Undoes {@link encodeHeaderText}. Undefined if the encoding is not canonical Base64 of UTF-8. */
export function decodeHeaderText(value: string): string | undefined {
  if (!value.startsWith("=?base64?") || !value.endsWith("?=")) return value;
  const encoded = value.slice("=?base64?".length, -"?=".length);
  try {
    const binary = atob(encoded);
    if (btoa(binary) !== encoded) return undefined;
    const bytes = Uint8Array.from(binary, (character) => character.charCodeAt(0));
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch {
    return undefined;
  }
}

/** The value of a parameter that is present exactly once and not empty. */
export function singleParameter(params: URLSearchParams, name: string): string | undefined {
  const values = params.getAll(name);
  return values.length === 1 && values[0] !== "" ? values[0] : undefined;
}
