/** Records the traffic of a real server to a file for replay: a header line, then one line of JSON per message. */
import { appendFileSync, mkdirSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { dirname } from "node:path";
import { fileURLToPath } from "node:url";
import { ConfigError, callSafely, canParseUrl, isSecretName, parseJson, redactValues } from "@toolport/base";
import type { HttpServerEntry, ServerEntry } from "@toolport/core";
import { CONNECTION_TAP, type ConnectionTap, parseServerEntry } from "@toolport/core/internal";

/** Options of {@link recordServer}. */
export interface RecordOptions {
  /**
   * Changes a message before it is written, after possible secrets were redacted. Return undefined to omit it.
   * @default writes every message
   */
  redact?: (message: RpcMessage) => RpcMessage | undefined;
  /** Called if the file cannot be written. The recording ends, the server keeps working. @default `process.emitWarning` */
  onError?: (error: Error) => void;
}

/**
 * Returns an entry for the same server that writes every message of its connections to a file. The first message replaces the
 * previous content of the file.
 *
 * Redacts values of `env` and `headers`, queries of URLs, fields with names of secrets, and everything that looks like a token.
 * HTTP headers are not recorded. Still, check a recording before you share it.
 *
 * @example
 * ```ts
 * await using toolport = createToolport({ mcpServers: { web: recordServer({ url }, "weather.ndjson") } });
 * await toolport.callTool("web__forecast", { city: "Oslo" });
 * ```
 * @see {@link replayServer}
 */
export function recordServer<Entry extends ServerEntry>(
  entry: Entry,
  file: string | URL,
  options: RecordOptions = {},
): Entry {
  const { kind } = parseServerEntry("recorded", entry);
  const secrets = new Secrets(entry);
  const write = createWriter(file, kind, options.onError ?? ((error) => process.emitWarning(error)));
  const startedAt = performance.now();
  let connections = 0;
  const tap: ConnectionTap = () => {
    connections += 1;
    const connection = connections;
    return (direction, message) => {
      const atMs = Math.round((performance.now() - startedAt) * 10) / 10;
      write(() => {
        const shown = secrets.redact(message);
        const recorded = options.redact === undefined ? shown : options.redact(shown);
        const from = direction === "sent" ? "client" : "server";
        const line: RecordedMessage | undefined = recorded && { connection, atMs, from, message: recorded };
        return line && `${JSON.stringify(line)}\n`;
      });
    };
  };
  const { headers } = entry as Pick<HttpServerEntry, "headers">;
  return {
    ...entry,
    // Headers from a function are secrets too; they are known only after each call.
    ...(typeof headers === "function" && { headers: async () => secrets.add(await headers()) }),
    [CONNECTION_TAP]: tap,
  };
}

/** Writes synchronously: when a call returns, its messages are in the file, and no file stays open. */
function createWriter(
  file: string | URL,
  transport: Recording["transport"],
  onError: (error: Error) => void,
) {
  const path = typeof file === "string" ? file : fileURLToPath(file);
  let state: "new" | "open" | "broken" = "new";
  return (makeLine: () => string | undefined): void => {
    if (state === "broken") return;
    try {
      const line = makeLine() ?? "";
      if (state === "new") {
        const header = { format: FORMAT, version: VERSION, transport, recordedAt: new Date().toISOString() };
        mkdirSync(dirname(path), { recursive: true });
        // Readable only by this user: messages may contain anything.
        appendFileSync(path, `${JSON.stringify(header)}\n${line}`, { flag: "w", mode: 0o600 });
        state = "open";
      } else if (line !== "") {
        appendFileSync(path, line);
      }
    } catch (error) {
      state = "broken";
      callSafely(
        () => onError(error as Error),
        () => {},
      );
    }
  };
}

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
  readonly transport: ReturnType<typeof parseServerEntry>["kind"];
  /** When the recording started, in ISO 8601. */
  readonly recordedAt: string;
  /** The protocol era; undefined if no handshake was completed. */
  readonly era: "legacy" | "modern" | undefined;
  readonly messages: readonly RecordedMessage[];
}

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
    const message = parseJson(line) as RecordedMessage | null | undefined;
    if (typeof message?.message !== "object" || message.message === null)
      throw invalid(path, index + 1, "is not a message");
    messages.push(message);
  }
  return { transport: header.transport, recordedAt: header.recordedAt, era: eraOf(messages), messages };
}

interface Header extends Pick<Recording, "transport" | "recordedAt"> {
  readonly format: unknown;
  readonly version: unknown;
}

function readHeader(path: string, line: string): Header {
  const header = parseJson(line) as Header | null | undefined;
  if (header?.format !== FORMAT) throw invalid(path, 1, "is not the first line of a recording");
  if (header.version !== VERSION) {
    const version = JSON.stringify(header.version);
    throw invalid(path, 1, `has version ${version}, but only version ${VERSION} is supported`);
  }
  return header;
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

/** Prefix of the text that replaces a secret. */
const GONE = "[redacted";

/** Patterns of tokens. None matches inside Base64, so that images stay unchanged. */
const TOKENS: readonly (readonly [pattern: RegExp, replacement: string])[] = [
  [/\b(bearer|basic|dpop)\s{1,8}[\w.~+/=-]{8,}/gi, `$1 ${GONE}]`],
  [/\beyJ[\w-]{8,}\.[\w-]+(?:\.[\w-]*)?/g, `${GONE}]`],
  [/\b(?:sk|pk|rk|ghp|gho|ghs|ghu|github_pat|glpat|xox[abprs])[-_][\w-]{16,}/g, `${GONE}]`],
];

/** The secret values of one server. Header functions add to them while the server is used. */
class Secrets {
  readonly #names = new Map<string, string>();
  #redactValues: ((text: string) => string) | undefined;

  constructor(entry: ServerEntry) {
    if ("env" in entry) this.add(entry.env ?? {});
    // The process can repeat inherited variables too. Only those with secret names: redacting `HOME` would break every path.
    if ("inheritEnv" in entry && entry.inheritEnv === true) {
      this.add(Object.fromEntries(Object.entries(process.env).filter(([name]) => isSecretName(name))));
    }
    if ("headers" in entry && typeof entry.headers === "object") this.add(entry.headers);
    for (const url of urlsOf(entry)) {
      this.add({ "user name": decodeURIComponent(url.username), password: decodeURIComponent(url.password) });
      this.add(Object.fromEntries(url.searchParams));
    }
  }

  /** Returns the same values. */
  add<Values extends Readonly<Record<string, string | undefined>>>(values: Values): Values {
    for (const [name, value = ""] of Object.entries(values)) {
      // A server that repeats `Authorization: Bearer abc` often repeats only the last part.
      for (const part of new Set([value, value.slice(value.lastIndexOf(" ") + 1)])) {
        this.#names.set(part, name);
      }
    }
    this.#redactValues = undefined;
    return values;
  }

  /** A copy of the message without secrets. */
  redact(message: unknown): RpcMessage {
    const text = JSON.stringify(message, (name, value: unknown) => {
      if (typeof value !== "string") return value;
      return isSecretName(name) ? `${GONE}]` : this.#redactText(value);
    });
    return JSON.parse(text) as RpcMessage;
  }

  #redactText(text: string): string {
    this.#redactValues ??= redactValues([...this.#names].map(([value, name]) => [name, value]));
    let shown = this.#redactValues(text);
    for (const [pattern, replacement] of TOKENS) shown = shown.replace(pattern, replacement);
    return shown;
  }
}

function urlsOf(entry: ServerEntry): URL[] {
  type Address = "url" | "sseUrl" | "base_url" | "proxy";
  const { url, sseUrl, base_url, proxy } = entry as Partial<Record<Address, string | URL>>;
  return [url, sseUrl, base_url, proxy].flatMap((address) =>
    address !== undefined && canParseUrl(String(address)) ? [new URL(address)] : [],
  );
}

/**
 * Whether a recorded value matches a requested one. Redacted text matches any text, because the original is unknown.
 */
export function matchesRecorded(recorded: unknown, requested: unknown): boolean {
  if (typeof recorded === "string") {
    return typeof requested === "string" && (recorded === requested || recorded.includes(GONE));
  }
  if (typeof recorded !== "object" || recorded === null) return recorded === requested;
  if (typeof requested !== "object" || requested === null) return false;
  if (Array.isArray(recorded) !== Array.isArray(requested)) return false;
  const keys = new Set([...Object.keys(recorded), ...Object.keys(requested)]);
  return [...keys].every((key) => matchesRecorded(Reflect.get(recorded, key), Reflect.get(requested, key)));
}
