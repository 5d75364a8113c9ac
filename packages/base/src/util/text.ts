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

/** The first sentence with a word in a text of several lines, which may be Markdown; cut to this many characters. */
export function firstSentence(text: string, characters: number): string {
  const line = text.split("\n").find((candidate) => /[\p{L}\p{N}]/u.test(candidate)) ?? "";
  const plain = line.replace(/^[#>*\-\s]+/, "").trim();
  const end = /[.!?](?=\s|$)/.exec(plain);
  return cutText(end === null ? plain : plain.slice(0, end.index + 1), characters);
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

/** Letters, digits, other ASCII, and everything else. */
const RUNS = /[a-zA-Z]+|[0-9]+|[ \t]+|[!-/:-@[-`{-~]+|[^\x20-\x7e\t]/gu;

/**
 * An upper estimate of tokens for short texts: ids, base64, numbers and rare scripts need more tokens than their size suggests. Measured
 * with o200k: up to 5 % too low for the densest texts, up to twice as high for ordinary ones.
 */
export function tokenCeiling(text: string): number {
  let tokens = 0;
  for (const [run] of text.matchAll(RUNS)) tokens += tokensOfRun(run);
  return Math.ceil(tokens);
}

function tokensOfRun(run: string): number {
  const unit = run.codePointAt(0)!;
  if (unit > 0xffff) return 4;
  if (unit > 0x7ff) return isCommonScript(unit) ? 1.2 : 3;
  if (unit > 0x7e) return 0.6;
  // Usually part of the next word.
  if (unit === 0x20 || unit === 0x09) return run.length > 1 ? 1 : 0;
  if (unit < 0x20) return 1;
  if (/^[0-9]/.test(run)) return Math.ceil(run.length / 3);
  if (/^[A-Z]?[a-z]+$/.test(run)) return Math.ceil(run.length / 5);
  if (/^[a-zA-Z]/.test(run)) return Math.ceil(run.length / 1.6);
  return Math.ceil(run.length / (run.length > 6 ? 1.3 : 2.5));
}

/** Scripts from Devanagari to Thai, punctuation, and those of China, Japan and Korea. */
const isCommonScript = (unit: number): boolean =>
  unit >= 0x2000 ? unit < 0x2070 || (unit >= 0x3000 && unit < 0xd7b0) : unit >= 0x900 && unit < 0xe80;

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

/** From the start of the Gregorian calendar to 1970. */
const GREGORIAN_MS = 12_219_292_800_000;

/** The time in a UUID of version 6 or 7, in milliseconds since 1970; undefined for anything else. */
export function timeOfUuid(id: unknown): number | undefined {
  if (typeof id !== "string") return undefined;
  const [, high = "", middle = "", version, low = ""] =
    /^([\da-f]{8})-([\da-f]{4})-([67])([\da-f]{3})-/i.exec(id) ?? [];
  if (version === "7") return Number.parseInt(`${high}${middle}`, 16);
  if (version !== "6") return undefined;
  const sinceGregorian = Number(BigInt(`0x${high}${middle}${low}`) / 10_000n);
  return sinceGregorian - GREGORIAN_MS;
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

/** More arguments than this at once would overflow the stack of some engines. */
const CHUNK = 0x8000;

/** The standard alphabet, padded. */
export function toBase64(bytes: Uint8Array): string {
  let binary = "";
  for (let start = 0; start < bytes.length; start += CHUNK) {
    binary += String.fromCharCode(...bytes.subarray(start, start + CHUNK));
  }
  return btoa(binary);
}

/** The bytes, or undefined if the text is not base64 or base64url. */
export function fromBase64(text: string): Uint8Array<ArrayBuffer> | undefined {
  try {
    return Uint8Array.from(atob(text.replaceAll("-", "+").replaceAll("_", "/")), (char) =>
      char.charCodeAt(0),
    );
  } catch {
    return undefined;
  }
}

/** Encodes anything but visible ASCII as Base64, so that an argument cannot inject another header. */
export function encodeHeaderText(value: string): string {
  const plain = /^[\x21-\x7e](?:[\t\x20-\x7e]*[\x21-\x7e])?$/.test(value);
  const looksEncoded = value.startsWith("=?base64?") && value.endsWith("?=");
  if (plain && !looksEncoded) return value;
  return `=?base64?${toBase64(encoder.encode(value))}?=`;
}

/** Undoes {@link encodeHeaderText}. Undefined if the encoding is not canonical Base64 of UTF-8. */
export function decodeHeaderText(value: string): string | undefined {
  if (!value.startsWith("=?base64?") || !value.endsWith("?=")) return value;
  const encoded = value.slice("=?base64?".length, -"?=".length);
  const bytes = fromBase64(encoded);
  if (bytes === undefined || toBase64(bytes) !== encoded) return undefined;
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch {
    return undefined;
  }
}

const ABSOLUTE = /^(?:[a-z]:)?[\\/]|^[a-z]:$/i;

/** `path` relative to `baseDir`; absolute paths stay as they are. */
export function resolvePath(baseDir: string, path: string): string {
  if (ABSOLUTE.test(path)) return path;
  const windows = /^[a-z]:|\\/i.test(baseDir);
  const separators = windows ? /[\\/]+/ : /\/+/;
  const parts: string[] = [];
  for (const part of [...baseDir.split(separators), ...path.split(separators)]) {
    if (part === "..") parts.pop();
    else if (part !== "." && part !== "") parts.push(part);
  }
  const joined = parts.join(windows ? "\\" : "/");
  return windows && /^[a-z]:$/i.test(parts[0] ?? "") ? joined : `${windows ? "\\" : "/"}${joined}`;
}

/** A program is looked up on the `PATH` unless it is written as a path that starts with a dot. */
export function resolveCommand(baseDir: string, command: string): string {
  return /^\.{1,2}[\\/]/.test(command) ? resolvePath(baseDir, command) : command;
}

/** The value of a parameter that is present exactly once and not empty. */
export function singleParameter(params: URLSearchParams, name: string): string | undefined {
  const values = params.getAll(name);
  return values.length === 1 && values[0] !== "" ? values[0] : undefined;
}
