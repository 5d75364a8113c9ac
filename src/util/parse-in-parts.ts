/** Parses a large response in two parts: its content, and the rest. Both must be valid by themselves, so that the content can be passed on as it is. */

import { BytePieces } from "./byte-pieces.js";
import { joinBytes } from "./chunk-list.js";
import { isNestedDeeper, parseJson } from "./json.js";
import { isAsciiBytes, isUtf8Bytes } from "./node-bytes.js";

/** A response whose content can be passed on. */
export interface ResponseParts {
  readonly message: unknown;
  /** `content` of the result. */
  readonly content: readonly unknown[];
  /** The content as the server wrote it: as bytes, if it came as such. */
  readonly json: string | readonly Uint8Array[];
}

/** The content begins, and ends, at most this far from the ends of the message. */
const MAX_FRAME = 2_048;
const CONTENT = '"content":';
/** Stands for the content, or for a large string in it, until the rest is parsed. Servers do not know it. */
const MARK = `toolport:${Math.random()}:`;

/**
 * @param bytes what the text was decoded from
 * @returns undefined if the message looks different
 */
export function parseTextInParts(text: string, bytes: Uint8Array | undefined): ResponseParts | undefined {
  const key = text.slice(0, MAX_FRAME).indexOf(CONTENT);
  const start = key + CONTENT.length;
  const last = text.lastIndexOf("]");
  if (key === -1 || text[start] !== "[" || last < text.length - MAX_FRAME) return undefined;
  const json = text.slice(start, last + 1);
  const parts = parseParts(text.slice(0, start), json, text.slice(last + 1));
  if (parts === undefined) return undefined;
  // In ASCII the characters and the bytes have the same places.
  const isAscii = bytes !== undefined && bytes.length === text.length && isAsciiBytes(bytes);
  return isAscii ? { ...parts, json: [bytes.subarray(start, last + 1)] } : parts;
}

function parseParts(before: string, json: string, after: string): ResponseParts | undefined {
  const message = parseJson(`${before}["${MARK}"]${after}`);
  const { result } = Object(message) as { result?: unknown };
  const { content: marked } = Object(result) as { content?: unknown };
  // The text that was found may be a field of another object: the name of a key can be written in several ways.
  if (!Array.isArray(marked) || marked[0] !== MARK) return undefined;
  // White space, since strings contain none: it would end a line of stdio, or a line of an event.
  if (json.includes("\n") || json.includes("\r")) return undefined;
  const content = parseJson(json);
  if (!Array.isArray(content)) return undefined;
  (result as { content: unknown }).content = content;
  return { message, content, json };
}

const OPENING_BRACKET = 0x5b;
const CLOSING_BRACKET = 0x5d;
/** Shorter strings are parsed at once. */
const LARGE_STRING = 8_192;
/** Content with more strings is parsed faster as a whole. */
const MAX_STRINGS = 64;
/** Content of real results has about five. */
const MAX_LEVELS = 32;

/**
 * Does not decode large texts before they are read: a gateway passes most of them on unread. Needs Node.
 *
 * @param pieces all bytes of the message
 * @param isUtf8 whether characters that are not ASCII are encoded in UTF-8
 * @returns undefined if there is no large text, or the message looks different
 */
export function parseBytesInParts(pieces: readonly Uint8Array[], isUtf8: boolean): ResponseParts | undefined {
  const bytes = readText(pieces, isUtf8);
  if (bytes === undefined) return undefined;
  const key = bytes.first.subarray(0, MAX_FRAME).indexOf(CONTENT);
  const start = key + CONTENT.length;
  const end = bytes.length - bytes.last.length + bytes.last.lastIndexOf(CLOSING_BRACKET) + 1;
  if (key === -1 || bytes.first[start] !== OPENING_BRACKET || end <= bytes.length - MAX_FRAME)
    return undefined;
  const marked = markLargeStrings(bytes, start, end);
  if (marked === undefined) return undefined;
  const parts = parseParts(bytes.text(0, start), marked.json, bytes.text(end, bytes.length));
  if (parts === undefined || isNestedDeeper(parts.message, MAX_LEVELS)) return undefined;
  return deferTexts(parts.content, marked.strings) ? { ...parts, json: bytes.slices(start, end) } : undefined;
}

/** Undefined if the encoding of the bytes is not known, or not valid. */
function readText(pieces: readonly Uint8Array[], isUtf8: boolean): BytePieces | undefined {
  if (pieces.every(isAsciiBytes)) return BytePieces.of(pieces, MAX_FRAME);
  if (!isUtf8) return undefined;
  // A character may be cut between two pieces.
  const joined = joinBytes(pieces);
  return isUtf8Bytes(joined) ? BytePieces.of([joined], MAX_FRAME) : undefined;
}

/** Decodes a string. */
type JsonString = () => string;

/** Replaces large strings by marks. Undefined if there are none. */
function markLargeStrings(
  bytes: BytePieces,
  start: number,
  end: number,
): { readonly json: string; readonly strings: readonly JsonString[] } | undefined {
  const strings: JsonString[] = [];
  let json = "";
  let copied = start;
  let opening = bytes.quoteAfter(start);
  for (let count = 0; opening !== -1 && opening < end; count += 1) {
    const closing = count === MAX_STRINGS ? -1 : bytes.closingQuote(opening);
    if (closing === -1 || closing >= end) return undefined;
    if (closing - opening > LARGE_STRING) {
      const from = opening;
      json += `${bytes.text(copied, from)}"${MARK}${strings.length}"`;
      copied = closing + 1;
      strings.push(() => JSON.parse(bytes.text(from, closing + 1)) as string);
    }
    opening = bytes.quoteAfter(closing + 1);
  }
  return strings.length === 0 ? undefined : { json: json + bytes.text(copied, end), strings };
}

/** Replaces the marks. False if a block is not a text, or a mark is not the text of a block. */
function deferTexts(content: readonly unknown[], strings: readonly JsonString[]): boolean {
  let next = 0;
  for (const block of content) {
    const { type, text } = Object(block) as { type?: unknown; text?: unknown };
    if (type !== "text" || typeof text !== "string") return false;
    if (!text.startsWith(MARK)) continue;
    if (text !== `${MARK}${next}`) return false;
    deferText(block as object, strings[next]!);
    next += 1;
  }
  return next === strings.length;
}

/** The text is decoded once, when it is read. */
function deferText(block: object, read: JsonString): void {
  const toField = (value: unknown) => ({ value, enumerable: true, configurable: true, writable: true });
  const set = (value: unknown) => Object.defineProperty(block, "text", toField(value));
  const get = () => {
    const value = read();
    // Does not throw if an interceptor has frozen the block.
    Reflect.defineProperty(block, "text", toField(value));
    return value;
  };
  Object.defineProperty(block, "text", { get, set, enumerable: true, configurable: true });
}
