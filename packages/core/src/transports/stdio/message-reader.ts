/** Reads JSON-RPC messages, one per line, from a server's standard output. Other lines are skipped, counted and reported once. */
import type { JSONRPCMessage } from "@modelcontextprotocol/client";
import { ChunkList, ConfigError, ConnectionError, parseJson, toPlainText } from "@toolport/base";
import { OversizeSample, peekMessage } from "../find-message-id.js";
import { responseIds, type ServerTransport } from "../server-transport.js";

interface MessageReaderOptions {
  readonly server: string;
  readonly maxMessageBytes: number;
  readonly decode: LineDecoder;
  /** Redacts secrets in text for error messages. */
  readonly redact: (text: string) => string;
  readonly onMessage: (message: JSONRPCMessage) => void;
  readonly onDiscard: NonNullable<ServerTransport["ondiscard"]>;
  /** A problem that does not end the connection. Called once for each kind. */
  readonly onWarning: (error: ConnectionError) => void;
}

const SPACE = 32;
const EXCERPT_CHARS = 80;
/** Redaction shortens long secrets: redact enough of a line that a secret at the cut is not shown in the excerpt. */
const MAX_REDACTED_CHARS = 16 * 1024;

/** Reads one stream. */
export class MessageReader {
  readonly #options: MessageReaderOptions;
  readonly #framing: LineFraming;
  #messages = 0;
  #skippedLines = 0;
  #warnedOfLine = false;
  #warnedOfBatch = false;

  constructor(options: MessageReaderOptions) {
    this.#options = options;
    this.#framing = new LineFraming({
      maxBytes: options.maxMessageBytes,
      onLines: (buffer, start, end) => this.#readLines(options.decode(buffer, start, end)),
      onOversize: (line) => this.#discard(line),
    });
  }

  /** Number of valid messages so far. */
  get messages(): number {
    return this.#messages;
  }

  /** Number of lines so far that were neither blank nor a message. */
  get skippedLines(): number {
    return this.#skippedLines;
  }

  push(chunk: Buffer): void {
    this.#framing.push(chunk);
  }

  end(): void {
    this.#framing.end();
  }

  clear(): void {
    this.#framing.clear();
  }

  /** Decoding several lines at once is cheaper than one by one. */
  #readLines(text: string): void {
    let start = 0;
    for (let end = text.indexOf("\n"); end !== -1; end = text.indexOf("\n", start)) {
      this.#readLine(text.slice(start, end));
      start = end + 1;
    }
    this.#readLine(text.slice(start));
  }

  #readLine(text: string): void {
    const value = parseJson(text) ?? parseRepaired(text);
    // The SDK checks the rest of the structure.
    if ((value as { jsonrpc?: unknown } | null | undefined)?.jsonrpc === "2.0") {
      this.#messages += 1;
      return this.#options.onMessage(value as JSONRPCMessage);
    }
    if (value === undefined && isBlank(text)) return;
    this.#skippedLines += 1;
    if (Array.isArray(value)) this.#refuseBatch(value);
    else this.#warnOfLine(text);
  }

  /** Fails the requests that the batch answers, or they would wait for their timeouts. */
  #refuseBatch(batch: readonly unknown[]): void {
    const error = this.#badResponse(
      "The server sent a JSON-RPC batch; batches are ignored",
      "Configure the server to send one message per line",
    );
    for (const id of responseIds(batch)) this.#options.onDiscard({ id, error });
    if (!this.#warnedOfBatch) this.#options.onWarning(error);
    this.#warnedOfBatch = true;
  }

  #warnOfLine(text: string): void {
    if (this.#warnedOfLine) return;
    this.#warnedOfLine = true;
    const plain = this.#options.redact(toPlainText(text.slice(0, MAX_REDACTED_CHARS))).replace(/\s+/g, " ");
    const excerpt = plain.length > EXCERPT_CHARS ? `${plain.slice(0, EXCERPT_CHARS)}…` : plain;
    const error = this.#badResponse(
      `The server wrote a line to its standard output that is not a JSON-RPC message ("${excerpt}"); it and others like it are skipped`,
      "Configure the server to write its log to stderr",
    );
    this.#options.onWarning(error);
  }

  #badResponse(what: string, next: string): ConnectionError {
    return new ConnectionError({ code: "BAD_RESPONSE", what, next, server: this.#options.server });
  }

  #discard({ head, tail, bytes }: OversizeLine): void {
    const { server, maxMessageBytes, decode, onDiscard, onWarning } = this.#options;
    const peeked = peekMessage(decode(head, 0, head.length), decode(tail, 0, tail.length));
    const error = new ConnectionError({
      code: "MESSAGE_TOO_LARGE",
      what: `The server sent a message of ${bytes} bytes, over the limit of ${maxMessageBytes}; it was discarded`,
      next: "Request less data from the tool at a time",
      server,
    });
    // A request or notification of the server answers no request, so no request fails.
    if (peeked.hasMethod) onWarning(error);
    else onDiscard({ id: peeked.id, error });
  }
}

function isBlank(text: string): boolean {
  for (let at = 0; at < text.length; at += 1) if (text.charCodeAt(at) > SPACE) return false;
  return true;
}

/** Handles a progress display that ends with a bare carriage return, and a byte order mark from a Windows shell. */
function parseRepaired(text: string): unknown {
  const lastReturn = text.trimEnd().lastIndexOf("\r");
  if (lastReturn !== -1) return parseJson(text.slice(lastReturn + 1));
  return text.startsWith("\uFEFF") ? parseJson(text.slice(1)) : undefined;
}

const NEWLINE = 10;

/** The remains of a line over the size limit. */
export interface OversizeLine {
  readonly head: Buffer;
  readonly tail: Buffer;
  /** Length of the whole line. */
  readonly bytes: number;
}

interface LineFramingOptions {
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
      const isBuffered = this.#partial.byteLength > 0 || this.#oversize !== undefined;
      const areShort = !isBuffered && last - start <= this.#options.maxBytes;
      const newline = areShort ? last : chunk.indexOf(NEWLINE, start);
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

  #endLine(chunk: Buffer, start: number, end: number): void {
    if (
      this.#partial.byteLength === 0 &&
      this.#oversize === undefined &&
      end - start <= this.#options.maxBytes
    )
      return this.#options.onLines(chunk, start, end);
    this.#append(chunk, start, end);
    const oversize = this.#oversize;
    this.#oversize = undefined;
    if (oversize !== undefined) {
      const { head, tail, bytes } = oversize;
      return this.#options.onOversize({ head: Buffer.from(head), tail: Buffer.from(tail), bytes });
    }
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

type LineDecoder = (buffer: Buffer, start: number, end: number) => string;

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
