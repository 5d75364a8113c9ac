/** What is kept of a message over the size limit: its beginning and its end, in which its id may be found. */
import type { RequestId } from "@modelcontextprotocol/client";

/** How many bytes to keep of the beginning and the end. */
export const OVERSIZE_SAMPLE_BYTES = 4_096;

/** Keeps at least the last `keptBytes`, and at most twice that. */
export class TailBuffer {
  readonly #keptBytes: number;
  #bytes = new Uint8Array(0);
  #used = 0;

  constructor(keptBytes: number) {
    this.#keptBytes = keptBytes;
  }

  add(part: Uint8Array): void {
    const kept = this.#keptBytes;
    const fresh = part.length > kept ? part.subarray(part.length - kept) : part;
    // Allocated on first use, because most processes write little or nothing.
    if (this.#bytes.length === 0) this.#bytes = new Uint8Array(2 * kept);
    if (this.#used + fresh.length > this.#bytes.length) {
      const from = Math.max(0, this.#used - kept);
      this.#bytes.copyWithin(0, from, this.#used);
      this.#used -= from;
    }
    this.#bytes.set(fresh, this.#used);
    this.#used += fresh.length;
  }

  /** The last bytes, `count` at most. */
  last(count: number): Uint8Array {
    return this.#bytes.subarray(Math.max(0, this.#used - count), this.#used);
  }
}

/** The beginning and the end of a message that is being discarded. */
export class OversizeSample {
  #head = new Uint8Array(0);
  readonly #tail = new TailBuffer(OVERSIZE_SAMPLE_BYTES);
  /** Length of the whole message. */
  bytes = 0;

  add(part: Uint8Array): void {
    if (this.bytes === 0) this.#head = new Uint8Array(OVERSIZE_SAMPLE_BYTES);
    if (this.bytes < OVERSIZE_SAMPLE_BYTES)
      this.#head.set(part.subarray(0, OVERSIZE_SAMPLE_BYTES - this.bytes), this.bytes);
    this.bytes += part.length;
    this.#tail.add(part);
  }

  get head(): Uint8Array {
    return this.#head.subarray(0, this.bytes);
  }

  get tail(): Uint8Array {
    return this.#tail.last(OVERSIZE_SAMPLE_BYTES);
  }
}

/** What is certain about a discarded message. */
interface PeekedMessage {
  /** Its top-level `id`, if that is certain. */
  readonly id: RequestId | undefined;
  /** It has a top-level `method`: a request or notification of the server, not a response. */
  readonly hasMethod: boolean;
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
  if (!/^\s*\{/.test(head)) return { id: undefined, hasMethod: false };
  const members = [...firstMembers(head), ...lastMembers(tail)].map(([key, value]) => [
    read(key),
    read(value),
  ]);
  const ids = members.flatMap(([key, value]) =>
    key === "id" && (typeof value === "string" || typeof value === "number") ? [value] : [],
  );
  return {
    id: new Set(ids).size === 1 ? ids[0] : undefined,
    hasMethod: members.some(([key]) => key === "method"),
  };
}

function read(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** A string, a bracket, a separator, or a number or word, which must not be cut off by the end of the text. */
const TOKEN = /\s*("(?:[^"\\]|\\.)*"|[{}[\]:,]|[\w+.-]+(?=[^\w+.-]))/gsy;

/** The members of the top-level object with scalar values, from its beginning. */
function* firstMembers(head: string): Iterable<[key: string, value: string]> {
  let depth = 0;
  let key = "";
  let last = "";
  for (const [, token = ""] of head.matchAll(TOKEN)) {
    if (token === "{" || token === "[") depth += 1;
    else if (token === "}" || token === "]") depth -= 1;
    else if (depth === 1 && last === ":") yield [key, token];
    else if (depth === 1 && token !== ":" && token !== ",") key = token;
    if (depth === 0) return;
    last = token;
  }
}

/** Backwards: the quotation mark that begins a string follows an even number of backslashes, any other one an odd number. */
const STRING = String.raw`"(?:[^"]|"(?=(?:\\\\)*\\(?!\\)))*"(?!(?:\\\\)*\\(?!\\))`;
const LAST_MEMBERS = new RegExp(String.raw`\s*(${STRING}|[\w+.-]+)\s*:\s*(${STRING})\s*([,{])`, "gy");

const backwards = (text: string): string => text.split("").reverse().join("");

/**
 * The members with scalar values before the brace that closes the message. An object or array ends the search, because its
 * beginning is unknown.
 */
function* lastMembers(tail: string): Iterable<[key: string, value: string]> {
  const [, text = ""] = /^\s*\}(.*)/s.exec(backwards(tail)) ?? [];
  for (const [, value = "", key = "", before] of text.matchAll(LAST_MEMBERS)) {
    yield [backwards(key), backwards(value)];
    if (before === "{") return;
  }
}
