/** Keeps the JSON of large results while a gateway runs, so that it can pass them on without writing them again. */
import { bytesOf } from "./chunk-list.js";
import { parseJson } from "./json.js";
import type { parseBytesInParts, parseTextInParts, ResponseParts } from "./parse-in-parts.js";

/** Shorter results are written again in less time than it takes to find their text. */
const LARGE_CHARS = 32_768;

/** Given by the gateway: only gateways load them. */
interface PartsParsers {
  readonly parseTextInParts: typeof parseTextInParts;
  readonly parseBytesInParts: typeof parseBytesInParts;
}

let keepers = 0;
let parsers: PartsParsers | undefined;

/** Property of a `content`. A `WeakMap` would keep large texts alive until the next full garbage collection. */
const KEPT = Symbol("toolport kept text");

interface KeptContent {
  [KEPT]?: { readonly json: ResponseParts["json"]; readonly isDeferred: boolean } | undefined;
}

const keptOf = (content: unknown): KeptContent[typeof KEPT] =>
  typeof content === "object" && content !== null ? (content as KeptContent)[KEPT] : undefined;

/** Keeps the texts from now on, until the returned function is called. They need as much memory as the results. */
export function keepTexts(given: PartsParsers): () => void {
  keepers += 1;
  parsers = given;
  return () => {
    keepers -= 1;
    if (keepers === 0) parsers = undefined;
  };
}

/** The JSON of the `content` of a result, if it was large: as pieces of bytes, if it came as such. */
export const keptTextOf = (content: unknown): ResponseParts["json"] | undefined => keptOf(content)?.json;

/** The result may have been changed: its content is written again. */
export function forgetText(content: unknown): void {
  if (keptOf(content) !== undefined) (content as KeptContent)[KEPT] = undefined;
}

/** Whether the blocks of a result decode their texts when they are read. All of them are valid. */
export const isDeferred = (content: unknown): boolean =>
  parsers !== undefined && keptOf(content)?.isDeferred === true;

/**
 * Parses a message of a server. Undefined if it is not JSON.
 *
 * @param bytes what the text was decoded from; must not change later
 */
export function parseMessageText(text: string, bytes?: Uint8Array): unknown {
  const parts = text.length >= LARGE_CHARS ? parsers?.parseTextInParts(text, bytes) : undefined;
  return parts === undefined ? parseJson(text) : keep(parts, false);
}

/**
 * Parses a large message of a server without decoding the texts in its content. Undefined if it has to be decoded.
 *
 * @param pieces must not change later
 * @param isUtf8 whether characters that are not ASCII are encoded in UTF-8
 */
export function parseMessageBytes(pieces: readonly Uint8Array[], isUtf8: boolean): unknown {
  if (parsers === undefined || bytesOf(pieces) < LARGE_CHARS) return undefined;
  const parts = parsers.parseBytesInParts(pieces, isUtf8);
  return parts && keep(parts, true);
}

function keep({ message, content, json }: ResponseParts, isDeferred: boolean): unknown {
  // Not enumerable: copies and comparisons of the content do not see it.
  Object.defineProperty(content, KEPT, { value: { json, isDeferred }, writable: true });
  return message;
}
