/** Finds the id of a message of which only the beginning and the end were kept. */
import type { RequestId } from "@modelcontextprotocol/client";

/** What is certain about a discarded message. */
interface PeekedMessage {
  /** Its top-level `id`, if that is certain. */
  readonly id: RequestId | undefined;
  /** It has a top-level `method`: a request or notification of the server, not a response. */
  readonly hasMethod: boolean;
}

interface Found {
  ids: RequestId[];
  hasMethod: boolean;
}

/**
 * The id of the request that an oversized message answers; undefined unless that is certain. An `id` in a nested object
 * never counts.
 *
 * @param head text of the message's beginning
 * @param tail text of its end
 */
export function findMessageId(head: string, tail: string): RequestId | undefined {
  const { id, hasMethod } = peekMessage(head, tail);
  return hasMethod ? undefined : id;
}

/** Reads the top-level members that are complete in the head or the tail. */
export function peekMessage(head: string, tail: string): PeekedMessage {
  const found: Found = { ids: [], hasMethod: false };
  if (!scanHead(head, found)) return { id: undefined, hasMethod: false };
  scanTail(tail, found);
  const distinct = new Set(found.ids);
  return { id: distinct.size === 1 ? found.ids[0] : undefined, hasMethod: found.hasMethod };
}

function note(found: Found, key: string, valueText: string): void {
  if (key === "method") found.hasMethod = true;
  if (key !== "id") return;
  const value = parseScalar(valueText);
  if (typeof value === "string" || typeof value === "number") found.ids.push(value);
}

function parseScalar(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** Reads the members of the top-level object forwards. False if the text is not the beginning of an object. */
function scanHead(text: string, found: Found): boolean {
  let at = skipSpace(text, 0);
  if (text[at] !== "{") return false;
  at += 1;
  for (;;) {
    at = skipSpace(text, at);
    const keyEnd = stringEnd(text, at);
    if (keyEnd === -1) return true;
    const key = parseScalar(text.slice(at, keyEnd));
    at = skipSpace(text, keyEnd);
    if (typeof key !== "string" || text[at] !== ":") return true;
    at = skipSpace(text, at + 1);
    const end = valueEnd(text, at);
    if (end === -1) return true;
    note(found, key, text.slice(at, end));
    at = skipSpace(text, end);
    if (text[at] !== ",") return true;
    at += 1;
  }
}

/**
 * Reads backwards from the brace that closes the message, over members with scalar values. An object or array ends the
 * search, because its beginning is unknown. A quotation mark inside a string always follows an odd number of backslashes,
 * so the first one that does not is the beginning of the string.
 */
function scanTail(text: string, found: Found): void {
  let at = skipSpaceBack(text, text.length - 1);
  if (text[at] !== "}") return;
  do {
    const valueLast = skipSpaceBack(text, at - 1);
    const valueFirst = text[valueLast] === '"' ? stringStart(text, valueLast) : wordStart(text, valueLast);
    if (valueFirst === -1) return;
    const colon = skipSpaceBack(text, valueFirst - 1);
    if (text[colon] !== ":") return;
    const keyLast = skipSpaceBack(text, colon - 1);
    const keyFirst = text[keyLast] === '"' ? stringStart(text, keyLast) : -1;
    if (keyFirst === -1) return;
    at = skipSpaceBack(text, keyFirst - 1);
    if (text[at] !== "," && text[at] !== "{") return;
    const key = parseScalar(text.slice(keyFirst, keyLast + 1));
    if (typeof key === "string") note(found, key, text.slice(valueFirst, valueLast + 1));
  } while (text[at] === ",");
}

const isSpace = (char: string | undefined): boolean =>
  char === " " || char === "\t" || char === "\r" || char === "\n";
const isWord = (char: string | undefined): boolean => char !== undefined && /[\w+.-]/.test(char);

function skipSpace(text: string, from: number): number {
  let at = from;
  while (isSpace(text[at])) at += 1;
  return at;
}

function skipSpaceBack(text: string, from: number): number {
  let at = from;
  while (isSpace(text[at])) at -= 1;
  return at;
}

/** Index after the string that begins at `from`, or -1. */
function stringEnd(text: string, from: number): number {
  if (text[from] !== '"') return -1;
  for (let at = from + 1; at < text.length; at += 1) {
    if (text[at] === "\\") at += 1;
    else if (text[at] === '"') return at + 1;
  }
  return -1;
}

/** Index after the value that begins at `from`, or -1 if the text ends before the value does. */
function valueEnd(text: string, from: number): number {
  if (text[from] === '"') return stringEnd(text, from);
  let at = from;
  if (text[from] !== "{" && text[from] !== "[") {
    while (isWord(text[at])) at += 1;
    // A number at the very end of the text may be incomplete.
    return at === from || at === text.length ? -1 : at;
  }
  for (let depth = 0; at < text.length; at += 1) {
    const char = text[at];
    if (char === "{" || char === "[") depth += 1;
    else if (char === '"') {
      const end = stringEnd(text, at);
      if (end === -1) return -1;
      at = end - 1;
    } else if (char === "}" || char === "]") {
      depth -= 1;
      if (depth === 0) return at + 1;
    }
  }
  return -1;
}

/** Start of the string that ends at `last`, or -1. */
function stringStart(text: string, last: number): number {
  for (let at = text.lastIndexOf('"', last - 1); at > 0; at = text.lastIndexOf('"', at - 1)) {
    let backslashes = 0;
    while (text[at - 1 - backslashes] === "\\") backslashes += 1;
    // All backslashes must be within the text to be counted.
    if (at - 1 - backslashes < 0) return -1;
    if (backslashes % 2 === 0) return at;
  }
  return -1;
}

/** Start of the number or word that ends at `last`, or -1. */
function wordStart(text: string, last: number): number {
  let at = last;
  while (isWord(text[at])) at -= 1;
  return at === last || at < 0 ? -1 : at + 1;
}
