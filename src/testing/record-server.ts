/** Writes the traffic of a real server to a file, to be played back without it. */
import { appendFileSync, mkdirSync } from "node:fs";
import { dirname } from "node:path";
import { fileURLToPath } from "node:url";
import { parseServerEntry } from "../config/parse-servers.js";
import type { TransportKind } from "../config/server-config.js";
import { CONNECTION_TAP, type ConnectionTap } from "../config/server-config.js";
import type { HeadersOption, ServerEntry } from "../config/server-entry.js";
import { callSafely } from "../util/call-safely.js";
import { type RpcMessage, recordingHeader, recordingLine } from "./recording.js";
import { Secrets } from "./redact-message.js";

/** Options of {@link recordServer}. */
export interface RecordOptions {
  /**
   * Changes a message before it is written, after what looks like a secret was taken out; undefined leaves it out.
   * @default messages are written as they are then
   */
  redact?: (message: RpcMessage) => RpcMessage | undefined;
  /** The file cannot be written. The server goes on, the recording does not. @default a warning of the process */
  onError?: (error: Error) => void;
}

/**
 * The same server, with every message of its connections written to a file as it passes. What the file held before is
 * replaced with the first message.
 *
 * Values of `env` and `headers`, queries of the URL, fields whose names speak of secrets and what looks like a token do not
 * get into it. HTTP headers are never part of a message. Read a recording before you share it all the same.
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
        const kept = options.redact === undefined ? shown : options.redact(shown);
        const from = direction === "sent" ? "client" : "server";
        return kept && recordingLine({ connection, atMs, from, message: kept });
      });
    };
  };
  const headers = (entry as { headers?: HeadersOption }).headers;
  return {
    ...entry,
    ...(typeof headers === "function" && { headers: noting(headers, secrets) }),
    [CONNECTION_TAP]: tap,
  };
}

/** Headers that are asked for each time are known only when they were. */
function noting(ask: Extract<HeadersOption, () => unknown>, secrets: Secrets): HeadersOption {
  return async () => {
    const values = await ask();
    secrets.add(values);
    return values;
  };
}

/** Writes at once: when a call has come back its messages are in the file, and nothing stays open. */
function createWriter(file: string | URL, kind: TransportKind, onError: (error: Error) => void) {
  const path = typeof file === "string" ? file : fileURLToPath(file);
  let state: "new" | "open" | "broken" = "new";
  return (makeLine: () => string | undefined): void => {
    if (state === "broken") return;
    try {
      const line = makeLine() ?? "";
      if (state === "new") {
        mkdirSync(dirname(path), { recursive: true });
        // Only for this user: nobody knows what servers say.
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
