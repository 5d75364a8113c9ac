/** Records the traffic of a real server to a file for replay. */
import { appendFileSync, mkdirSync } from "node:fs";
import { dirname } from "node:path";
import { fileURLToPath } from "node:url";
import { parseServerEntry } from "../config/parse-servers.js";
import { CONNECTION_TAP, type ConnectionTap, type TransportKind } from "../config/server-config.js";
import type { HeadersOption, ServerEntry } from "../config/server-entry.js";
import { callSafely } from "../util/callbacks.js";
import { type RpcMessage, recordingHeader, recordingLine, Secrets } from "./recording.js";

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
        return recorded && recordingLine({ connection, atMs, from, message: recorded });
      });
    };
  };
  const headers = (entry as { headers?: HeadersOption }).headers;
  return {
    ...entry,
    ...(typeof headers === "function" && { headers: collectSecrets(headers, secrets) }),
    [CONNECTION_TAP]: tap,
  };
}

/** Headers from a function are secrets too; they are known only after each call. */
function collectSecrets(read: Extract<HeadersOption, () => unknown>, secrets: Secrets): HeadersOption {
  return async () => {
    const values = await read();
    secrets.add(values);
    return values;
  };
}

/** Writes synchronously: when a call returns, its messages are in the file, and no file stays open. */
function createWriter(file: string | URL, kind: TransportKind, onError: (error: Error) => void) {
  const path = typeof file === "string" ? file : fileURLToPath(file);
  let state: "new" | "open" | "broken" = "new";
  return (makeLine: () => string | undefined): void => {
    if (state === "broken") return;
    try {
      const line = makeLine() ?? "";
      if (state === "new") {
        mkdirSync(dirname(path), { recursive: true });
        // Readable only by this user: messages may contain anything.
        appendFileSync(path, recordingHeader(kind) + line, { flag: "w", mode: 0o600 });
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
