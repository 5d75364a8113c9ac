/** Splits a byte stream into lines in linear time, with a limit on the memory of one line, and decodes them. */

import { ConfigError } from "../../errors/config-error.js";
import { ChunkList } from "../../util/chunk-list.js";
import { TailBuffer } from "./tail-buffer.js";

/** How many bytes to keep of the beginning and the end of an oversized line. */
export const OVERSIZE_SAMPLE_BYTES = 4_096;

const NEWLINE = 10;

/** The remains of a line over the size limit. */
export interface OversizeLine {
  readonly head: Buffer;
  readonly tail: Buffer;
  /** Length of the whole line. */
  readonly bytes: number;
}

export interface LineFramingOptions {
  readonly maxBytes: number;
  /**
   * Called with one or more lines, with newlines between them but not at the end: `buffer` from `start` to `end`. The buffer
   * is valid only during the call.
   */
  readonly onLines: (buffer: Buffer, start: number, end: number) => void;
  readonly onOversize: (line: OversizeLine) => void;
}

/**
 * Incremental framing. A line within one chunk is not copied. Any other line is joined once, when it is complete, so that
 * the cost stays linear for one-byte chunks and for lines of many megabytes.
 */
export class LineFraming {
  readonly #options: LineFramingOptions;
  readonly #partial = new ChunkList();
  #oversize: OversizeSample | undefined;

  constructor(options: LineFramingOptions) {
    this.#options = options;
  }

  /** Bytes buffered for an incomplete line. */
  get bufferedBytes(): number {
    return this.#partial.byteLength;
  }

  push(chunk: Buffer): void {
    let start = 0;
    const last = chunk.lastIndexOf(NEWLINE);
    while (start <= last) {
      // If several lines together are within the limit, each of them is, and one callback for all is cheaper.
      const newline =
        this.#isFresh && last - start <= this.#options.maxBytes ? last : chunk.indexOf(NEWLINE, start);
      this.#endLine(chunk, start, newline);
      start = newline + 1;
    }
    if (start < chunk.length) this.#append(chunk, start, chunk.length);
  }

  /** The stream has ended: what follows the last newline counts as a line. */
  end(): void {
    if (this.#partial.byteLength > 0 || this.#oversize !== undefined) this.#endLine(Buffer.alloc(0), 0, 0);
    this.clear();
  }

  clear(): void {
    this.#partial.takePieces();
    this.#oversize = undefined;
  }

  /** Whether no part of the next line is buffered. */
  get #isFresh(): boolean {
    return this.#partial.byteLength === 0 && this.#oversize === undefined;
  }

  #endLine(chunk: Buffer, start: number, end: number): void {
    if (this.#isFresh && end - start <= this.#options.maxBytes) {
      this.#options.onLines(chunk, start, end);
      return;
    }
    this.#append(chunk, start, end);
    const oversize = this.#oversize;
    this.#oversize = undefined;
    if (oversize !== undefined) return this.#options.onOversize(oversize.toLine());
    const line = this.#partial.takeBlock() as Buffer;
    this.#options.onLines(line, 0, line.length);
  }

  #append(chunk: Buffer, start: number, end: number): void {
    const part = chunk.subarray(start, end);
    if (this.#oversize === undefined && this.#partial.byteLength + part.length > this.#options.maxBytes) {
      this.#oversize = new OversizeSample();
      for (const piece of this.#partial.takePieces()) this.#oversize.add(piece);
    }
    if (this.#oversize === undefined) this.#partial.push(part);
    else this.#oversize.add(part);
  }
}

/** Head and tail of a line that is being discarded. */
class OversizeSample {
  #head: Buffer = Buffer.alloc(0);
  readonly #tail = new TailBuffer(OVERSIZE_SAMPLE_BYTES);
  #bytes = 0;

  add(part: Uint8Array): void {
    this.#bytes += part.length;
    const missing = OVERSIZE_SAMPLE_BYTES - this.#head.length;
    if (missing > 0) this.#head = Buffer.concat([this.#head, part.subarray(0, missing)]);
    this.#tail.add(part);
  }

  toLine(): OversizeLine {
    return { head: this.#head, tail: this.#tail.last(OVERSIZE_SAMPLE_BYTES), bytes: this.#bytes };
  }
}

export type LineDecoder = (buffer: Buffer, start: number, end: number) => string;

/** Encodings that `Buffer` decodes natively, faster than a `TextDecoder`. */
const NATIVE: Readonly<Record<string, BufferEncoding>> = {
  utf8: "utf8",
  "utf-8": "utf8",
  latin1: "latin1",
  binary: "latin1",
  ascii: "ascii",
};

/**
 * Creates a decoder for `encoding`: `utf8`, `latin1`, `ascii`, or a label that `TextDecoder` supports (`windows-1251`,
 * `shift_jis`). Lines are split at the byte 0x0A before decoding, which rules out UTF-16 and stateful encodings.
 */
export function createLineDecoder(encoding: string, server: string): LineDecoder {
  const native = NATIVE[encoding.toLowerCase()];
  if (native !== undefined) return (buffer, start, end) => buffer.toString(native, start, end);
  const decoder = createTextDecoder(encoding);
  if (decoder === undefined || decoder.encoding.startsWith("utf-16") || decoder.encoding === "iso-2022-jp") {
    throw new ConfigError({
      code: "INVALID_CONFIG",
      what: "The configured encoding is not supported",
      next: 'Use "utf8", which is what MCP servers write, or another encoding in which a newline is one byte',
      server,
      issues: [{ path: `mcpServers.${server}.encoding`, message: `"${encoding}" is not supported` }],
    });
  }
  return (buffer, start, end) => decoder.decode(buffer.subarray(start, end));
}

function createTextDecoder(label: string): InstanceType<typeof TextDecoder> | undefined {
  try {
    return new TextDecoder(label);
  } catch {
    return undefined;
  }
}
