/** The file format of recordings: a header line, then one line of JSON per message. */
import { readFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import type { TransportKind } from "../config/server-config.js";
import { ConfigError } from "../errors/config-error.js";

const FORMAT = "toolport-recording";
const VERSION = 1;

/** A JSON-RPC message: a request, a notification, or a response. */
export interface RpcMessage {
  readonly jsonrpc?: string;
  readonly id?: string | number;
  readonly method?: string;
  readonly params?: Readonly<Record<string, unknown>>;
  readonly result?: Readonly<Record<string, unknown>>;
  readonly error?: { readonly code: number; readonly message: string; readonly data?: unknown };
}

/** One message of a recording. */
export interface RecordedMessage {
  /** Number of the connection, from 1. */
  readonly connection: number;
  /** Milliseconds since the start of the recording. */
  readonly atMs: number;
  readonly from: "client" | "server";
  readonly message: RpcMessage;
}

/** The recorded traffic of one server. */
export interface Recording {
  /** The transport of the server. */
  readonly transport: TransportKind;
  /** When the recording started, in ISO 8601. */
  readonly recordedAt: string;
  /** The protocol era; undefined if no handshake was completed. */
  readonly era: "legacy" | "modern" | undefined;
  readonly messages: readonly RecordedMessage[];
}

export function recordingHeader(transport: TransportKind): string {
  const header = { format: FORMAT, version: VERSION, transport, recordedAt: new Date().toISOString() };
  return `${JSON.stringify(header)}\n`;
}

export const recordingLine = (message: RecordedMessage): string => `${JSON.stringify(message)}\n`;

/**
 * Reads a recording, to inspect it or to change it before replay.
 *
 * @throws ConfigError if the file cannot be read or is not a recording
 */
export async function readRecording(file: string | URL): Promise<Recording> {
  const path = typeof file === "string" ? file : fileURLToPath(file);
  let text: string;
  try {
    text = await readFile(path, "utf8");
  } catch (cause) {
    throw new ConfigError({
      code: "UNREADABLE_CONFIG",
      what: "The recording cannot be read",
      issues: [{ file: path, path: "", message: (cause as NodeJS.ErrnoException).code ?? "unreadable" }],
      next: "Record it first with recordServer(entry, file)",
      cause,
    });
  }
  const lines = text.split("\n");
  const header = readHeader(path, lines[0] ?? "");
  const messages: RecordedMessage[] = [];
  for (const [index, line] of lines.entries()) {
    // Text after the last line break is an incomplete line: the recording process was killed.
    if (index === 0 || index === lines.length - 1 || line.trim() === "") continue;
    const message = parse(line) as RecordedMessage | undefined;
    if (typeof message?.message !== "object" || message.message === null)
      throw invalid(path, index + 1, "is not a message");
    messages.push(message);
  }
  return { transport: header.transport, recordedAt: header.recordedAt, era: eraOf(messages), messages };
}

interface Header {
  format: unknown;
  version: unknown;
  transport: TransportKind;
  recordedAt: string;
}

function readHeader(path: string, line: string): Header {
  const header = parse(line) as Header | undefined;
  if (header?.format !== FORMAT) throw invalid(path, 1, "is not the first line of a recording");
  if (header.version !== VERSION) {
    throw invalid(
      path,
      1,
      `has version ${JSON.stringify(header.version)}, but only version ${VERSION} is supported`,
    );
  }
  return header;
}

function parse(line: string): unknown {
  try {
    return JSON.parse(line) ?? undefined;
  } catch {
    return undefined;
  }
}

function invalid(file: string, line: number, message: string): ConfigError {
  return new ConfigError({
    code: "INVALID_CONFIG",
    what: "The recording cannot be used",
    issues: [{ file, line, path: "", message }],
    next: "Record it again with recordServer(entry, file)",
  });
}

/** A successful `initialize` means legacy, whatever the response to `server/discover` was. */
function eraOf(messages: readonly RecordedMessage[]): Recording["era"] {
  const methods = new Map<string, string>();
  const answered = new Set<string | undefined>();
  for (const { connection, from, message } of messages) {
    const key = JSON.stringify([connection, message.id]);
    if (from === "client" && message.method !== undefined) methods.set(key, message.method);
    if (from === "server" && message.result !== undefined) answered.add(methods.get(key));
  }
  if (answered.has("initialize")) return "legacy";
  return answered.has("server/discover") ? "modern" : undefined;
}
