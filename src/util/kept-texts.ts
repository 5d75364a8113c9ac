/** Keeps the JSON text of large results while a gateway runs, so that it can pass them on without writing them again. */
import { isAsciiBytes } from "./ascii-text.js";
import { parseJson } from "./json.js";

/** Shorter results are written again in less time than it takes to find their text. */
const LARGE_CHARS = 32_768;
/** The content begins, and ends, at most this far from the ends of the message. */
const MAX_FRAME_CHARS = 2_048;
const CONTENT = '"content":';

let keepers = 0;
const texts = new WeakMap<object, string | Uint8Array>();

/** Keeps the texts from now on, until the returned function is called. They need as much memory as the results. */
export function keepTexts(): () => void {
  keepers += 1;
  return () => {
    keepers -= 1;
  };
}

/** The JSON text of the `content` of a result, if it was large: as bytes, if it came as such. */
export const keptTextOf = (content: unknown): string | Uint8Array | undefined =>
  typeof content === "object" && content !== null ? texts.get(content) : undefined;

/**
 * Parses a message of a server. Undefined if it is not JSON.
 *
 * @param bytes what the text was decoded from; must not change later
 */
export function parseMessageText(text: string, bytes?: Uint8Array): unknown {
  const isKept = keepers > 0 && text.length >= LARGE_CHARS;
  return (isKept ? parseInParts(text, bytes) : undefined) ?? parseJson(text);
}

/**
 * Parses the content and the rest of a response separately. Both must be valid by themselves: a text that is passed on must not
 * close the object around it. Undefined if the message looks different.
 */
function parseInParts(text: string, bytes: Uint8Array | undefined): unknown {
  const key = text.slice(0, MAX_FRAME_CHARS).indexOf(CONTENT);
  const start = key + CONTENT.length;
  const last = text.lastIndexOf("]");
  if (key === -1 || text[start] !== "[" || last < text.length - MAX_FRAME_CHARS) return undefined;
  const message = parseJson(`${text.slice(0, start)}[]${text.slice(last + 1)}`);
  const { result } = Object(message) as { result?: unknown };
  const { content: empty } = Object(result) as { content?: unknown };
  if (!Array.isArray(empty) || empty.length > 0) return undefined;
  const contentText = text.slice(start, last + 1);
  // White space, since strings contain none: it would end a line of stdio, or a line of an event.
  if (contentText.includes("\n") || contentText.includes("\r")) return undefined;
  const content = parseJson(contentText);
  if (!Array.isArray(content)) return undefined;
  // In ASCII the characters and the bytes have the same places.
  const isAscii = bytes !== undefined && bytes.length === text.length && isAsciiBytes(bytes);
  texts.set(content, isAscii ? bytes.subarray(start, last + 1) : contentText);
  (result as { content: unknown }).content = content;
  return message;
}
