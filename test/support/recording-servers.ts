/** Servers that record every execution of a call, so that a test can distinguish executed from sent calls. */
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { startFaultServer } from "../fixtures/servers/fault-http.js";
import { event, openEvents, result, type Script, sendJson } from "../fixtures/servers/http-scripted.js";

/** Counts of executions by the `key` of the call's arguments. */
export type Executions = (key: string) => Promise<number>;

const STDIO = "test/fixtures/servers/stdio-recording.mjs";

/** How the stdio server handles a call; see the fixture. */
export type StdioAct =
  | "answer"
  | "exit"
  | "exit on pong"
  | "exit on roots"
  | "exit on next"
  | "answer, exit on next"
  | "silence"
  | "refuse";

/** An entry whose process records into `folder`. */
export function recordingStdio(folder: string): {
  entry: { command: string; args: string[] };
  executions: Executions;
} {
  const log = join(folder, `executions-${crypto.randomUUID()}.log`);
  return {
    entry: { command: process.execPath, args: [STDIO, log] },
    async executions(key) {
      const text = await readFile(log, "utf8").catch(() => "");
      return text.split("\n").filter((line) => line === key).length;
    },
  };
}

/** How the HTTP server handles one send of a call. */
export interface HttpReply {
  /** The call is executed first. */
  readonly runs: boolean;
  /** @default 200 */
  readonly status?: number;
  readonly headers?: Readonly<Record<string, string>>;
  /** Responds with this JSON-RPC error. */
  readonly code?: number;
  /** Breaks the connection: before the response, after its headers, or after an event. */
  readonly cut?: "socket" | "body" | "stream";
}

export interface RecordingHttp {
  readonly entry: { url: string };
  readonly executions: Executions;
  /** Number of times a call arrived. */
  sends(key: string): number;
  /** Requests of any kind. */
  asked(method: string): number;
  forgetSessions(): void;
  close(): Promise<void>;
}

/**
 * An HTTP server with the tool `bad`. Its arguments `{ key, replies }` say how it handles each send of the call; it executes and
 * answers further sends.
 */
export async function startRecordingHttp(
  options: { era?: "legacy" | "modern"; sessions?: boolean } = {},
): Promise<RecordingHttp> {
  const { era = "legacy", sessions = era === "legacy" } = options;
  const sends = new Map<string, number>();
  const executed = new Map<string, number>();
  const count = (counts: Map<string, number>, key: string): number => {
    const next = (counts.get(key) ?? 0) + 1;
    counts.set(key, next);
    return next;
  };
  const bad: Script = ({ message }, response) => {
    const { key, replies } = message!.params!["arguments"] as { key: string; replies: HttpReply[] };
    const reply = replies[count(sends, key) - 1] ?? { runs: true };
    const { runs, status = 200, headers = {}, code, cut } = reply;
    if (runs) count(executed, key);
    if (cut === "socket") return response.destroy();
    if (cut === "body") {
      response.writeHead(200, { "content-type": "application/json", "content-length": "100" });
      return response.write("{", () => response.destroy());
    }
    if (cut === "stream") {
      openEvents(response);
      const progress = {
        jsonrpc: "2.0",
        method: "notifications/message",
        params: { level: "info", data: 1 },
      };
      return response.write(event(progress), () => response.destroy());
    }
    if (status !== 200) return response.writeHead(status, headers).end("refused");
    if (code !== undefined) {
      const error = { code, message: "no" };
      return sendJson(response, { jsonrpc: "2.0", id: message!.id, error });
    }
    return sendJson(response, result(message!.id, { content: [{ type: "text", text: key }] }));
  };
  const unknownSession: Script = (_request, response) => response.writeHead(404).end();
  const server = await startFaultServer({ era, bad, ...(sessions && { unknownSession }) });
  return {
    entry: server.entry,
    executions: async (key) => executed.get(key) ?? 0,
    sends: (key) => sends.get(key) ?? 0,
    asked: (method) => server.asked(method),
    forgetSessions: () => server.forget(),
    close: () => server.close(),
  };
}
