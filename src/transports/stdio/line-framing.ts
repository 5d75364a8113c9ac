/** Cuts a stream of bytes into lines in linear time, with a cap on the memory one line may take. */

import { ConfigError } from "../../errors/config-error.js";
import { ChunkList } from "../../util/chunk-list.js";
import { TailBuffer } from "./tail-buffer.js";

/** How much of the beginning and of the end of an over-size line is kept. */
export const OVERSIZE_SAMPLE_BYTES = 4_096;

const NEWLINE = 10;

/** What is left of a line that was over the cap. */
export interface OversizeLine {
  readonly head: Buffer;
  readonly tail: Buffer;
  /** Length of the whole line. */
  readonly bytes: number;
}

export interface LineFramingOptions {
  readonly maxBytes: number;
  /**
   * One line or several with newlines between them, without the last one: `buffer` from `start` to `end`. Valid only during
   * the call.
   */
  readonly onLines: (buffer: Buffer, start: number, end: number) => void;
  readonly onOversize: (line: OversizeLine) => void;
}

/**
 * Incremental framing. A line that lies within one chunk is not copied at all; any other is put together once, when its end
 * has come, so that neither one byte a chunk nor a line of many megabytes costs more than linear time.
 */
export class LineFraming {
  readonly #options: LineFramingOptions;
  readonly #partial = new ChunkList();
  #oversize: OversizeSample | undefined;

  constructor(options: LineFramingOptions) {
    this.#options = options;
  }

  /** Bytes held back for a line that is not complete yet. */
  get bufferedBytes(): number {
    return this.#partial.byteLength;
  }

  push(chunk: Buffer): void {
    let start = 0;
    const last = chunk.lastIndexOf(NEWLINE);
    while (start <= last) {
      // Lines that are small enough together are so one by one, and cost less together.
      const newline =
        this.#isFresh && last - start <= this.#options.maxBytes ? last : chunk.indexOf(NEWLINE, start);
      this.#endLine(chunk, start, newline);
      start = newline + 1;
    }
    if (start < chunk.length) this.#append(chunk, start, chunk.length);
  }

  /** The stream is over: what came after the last newline counts as a line. */
  end(): void {
    if (this.#partial.byteLength > 0 || this.#oversize !== undefined) this.#endLine(Buffer.alloc(0), 0, 0);
    this.clear();
  }

  clear(): void {
    this.#partial.takePieces();
    this.#oversize = undefined;
  }

  /** Nothing is held back of the line that comes next. */
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

/** Head and tail of a line that is being thrown away. */
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

/** Encodings that Node's buffers decode by themselves, faster than a `TextDecoder`. */
const NATIVE: Readonly<Record<string, BufferEncoding>> = {
  utf8: "utf8",
  "utf-8": "utf8",
  latin1: "latin1",
  binary: "latin1",
  ascii: "ascii",
};

/**
 * A decoder for `encoding`: `utf8`, `latin1`, `ascii`, or a label that `TextDecoder` knows (`windows-1251`, `shift_jis`).
 * Lines are found by the byte 0x0A before they are decoded, which rules out UTF-16 and stateful encodings.
 */
export function createLineDecoder(encoding: string, server: string): LineDecoder {
  const native = NATIVE[encoding.toLowerCase()];
  if (native !== undefined) return (buffer, start, end) => buffer.toString(native, start, end);
  const decoder = createTextDecoder(encoding);
  if (decoder === undefined || decoder.encoding.startsWith("utf-16") || decoder.encoding === "iso-2022-jp") {
    throw new ConfigError({
      code: "INVALID_CONFIG",
      what: "The encoding of the server's output cannot be used",
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
