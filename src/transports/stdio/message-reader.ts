/** A server's standard output to JSON-RPC messages: what is not one is skipped, counted and reported once. */
import type { JSONRPCMessage } from "@modelcontextprotocol/client";
import { ConnectionError } from "../../errors/connection-error.js";
import { parseJson } from "../../util/json.js";
import { peekMessage } from "../find-message-id.js";
import { responseIds } from "../json-rpc-message.js";
import type { ServerTransport } from "../server-transport.js";
import { toPlainText } from "../to-plain-text.js";
import { type LineDecoder, LineFraming, type OversizeLine } from "./line-framing.js";

export interface MessageReaderOptions {
  readonly server: string;
  readonly maxMessageBytes: number;
  readonly decode: LineDecoder;
  /** Takes secrets out of text that goes into an error. */
  readonly redact: (text: string) => string;
  readonly onMessage: (message: JSONRPCMessage) => void;
  readonly onDiscard: NonNullable<ServerTransport["ondiscard"]>;
  /** Something is odd, but the connection goes on. Called once for each kind of oddity. */
  readonly onWarning: (error: ConnectionError) => void;
}

const SPACE = 32;
const EXCERPT_CHARS = 80;
/** Long secrets shrink when they are redacted: enough of a line is looked at that the cut does not come into sight. */
const MAX_REDACTED_CHARS = 16 * 1024;

/** One stream of messages. */
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

  /** Valid messages so far. */
  get messages(): number {
    return this.#messages;
  }

  /** Lines so far that were neither blank nor a message. */
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

  /** What comes in one piece is decoded in one piece. */
  #readLines(text: string): void {
    let start = 0;
    for (let end = text.indexOf("\n"); end !== -1; end = text.indexOf("\n", start)) {
      this.#readLine(text.slice(start, end));
      start = end + 1;
    }
    this.#readLine(start === 0 ? text : text.slice(start));
  }

  #readLine(text: string): void {
    if (isBlank(text)) return;
    const value = parseLine(text);
    if (isMessage(value)) {
      this.#messages += 1;
      this.#options.onMessage(value);
      return;
    }
    this.#skippedLines += 1;
    if (Array.isArray(value)) this.#refuseBatch(value);
    else this.#warnOfLine(text);
  }

  /** Whoever waits for an answer in it would wait for nothing. */
  #refuseBatch(batch: readonly unknown[]): void {
    const error = this.#badResponse(
      "The server sent a JSON-RPC batch; batches are ignored",
      "Let the server send one message a line",
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
      "Let the server write its log to stderr",
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
      what: `The server sent a message of ${bytes} bytes, over the limit of ${maxMessageBytes}; it was thrown away`,
      next: "Ask the tool for less at a time",
      server,
    });
    // What the server says of its own accord answers no request, so none fails with it.
    if (peeked.hasMethod) onWarning(error);
    else onDiscard({ id: peeked.id, error });
  }
}

function isBlank(text: string): boolean {
  for (let at = 0; at < text.length; at += 1) if (text.charCodeAt(at) > SPACE) return false;
  return true;
}

/** A progress display ends with a bare carriage return, a badly set up Windows shell begins with a byte order mark. */
function parseLine(text: string): unknown {
  const value = parseJson(text);
  if (value !== undefined) return value;
  const lastReturn = text.trimEnd().lastIndexOf("\r");
  if (lastReturn !== -1) return parseJson(text.slice(lastReturn + 1));
  return text.startsWith("\uFEFF") ? parseJson(text.slice(1)) : undefined;
}

/** The SDK checks the rest of the shape. */
function isMessage(value: unknown): value is JSONRPCMessage {
  return typeof value === "object" && value !== null && (value as { jsonrpc?: unknown }).jsonrpc === "2.0";
}
