/** Reads JSON-RPC messages from a server's standard output. Other lines are skipped, counted and reported once. */
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
function parseLine(text: string): unknown {
  const value = parseJson(text);
  if (value !== undefined) return value;
  const lastReturn = text.trimEnd().lastIndexOf("\r");
  if (lastReturn !== -1) return parseJson(text.slice(lastReturn + 1));
  return text.startsWith("\uFEFF") ? parseJson(text.slice(1)) : undefined;
}

/** The SDK checks the rest of the structure. */
function isMessage(value: unknown): value is JSONRPCMessage {
  return typeof value === "object" && value !== null && (value as { jsonrpc?: unknown }).jsonrpc === "2.0";
}
