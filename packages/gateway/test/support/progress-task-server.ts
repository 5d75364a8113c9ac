/** A hand-written server of 2025-11-25 whose task reports progress after the call is answered, in memory and over HTTP. */
import { createLinkedTransports, type ServerEntry } from "toolport";
import {
  event,
  openEvents,
  sendJson,
  startScriptedServer,
} from "../../../../test/fixtures/servers/http-scripted.js";

type Fields = Record<string, unknown>;

interface Message {
  readonly id?: string | number;
  readonly method?: string;
  readonly params?: Fields;
}

const RELATED = "io.modelcontextprotocol/related-task";

export interface ProgressTaskServer {
  readonly entry: ServerEntry;
  /** The progress token of the latest call. */
  readonly token: unknown;
  /** Sends progress of the latest task. @param token of another call */
  report(progress: number, token?: unknown): void;
  /** Ends the latest task, and says so. */
  finish(): void;
  close(): Promise<void>;
}

/** What a server of both kinds does. */
function createTasks() {
  const statuses = new Map<string, string>();
  const state = { token: undefined as unknown, taskId: "" };
  const shown = (taskId: string) => ({
    taskId,
    status: statuses.get(taskId),
    createdAt: "2026-08-01T10:00:00Z",
    lastUpdatedAt: "2026-08-01T10:00:00Z",
    ttl: 60_000,
  });
  const methods: Record<string, (params: Fields) => Fields> = {
    initialize: () => ({
      protocolVersion: "2025-11-25",
      capabilities: { tools: {}, tasks: { requests: { tools: { call: {} } }, cancel: {} } },
      serverInfo: { name: "progress", version: "1" },
    }),
    "tools/list": () => ({
      tools: [{ name: "work", inputSchema: { type: "object" }, execution: { taskSupport: "required" } }],
    }),
    "tools/call": ({ _meta }) => {
      state.token = (_meta as Fields | undefined)?.["progressToken"];
      state.taskId = crypto.randomUUID();
      statuses.set(state.taskId, "working");
      return { task: shown(state.taskId) };
    },
    "tasks/get": ({ taskId }) => shown(String(taskId)),
    "tasks/cancel": ({ taskId }) => {
      statuses.set(String(taskId), "cancelled");
      return shown(String(taskId));
    },
    "tasks/result": () => ({ content: [{ type: "text", text: "done" }] }),
  };
  return {
    state,
    answer: ({ id, method = "", params = {} }: Message) => {
      const run = methods[method];
      return run === undefined
        ? { jsonrpc: "2.0", id, error: { code: -32601, message: "Method not found" } }
        : { jsonrpc: "2.0", id, result: run(params) };
    },
    progress: (progress: number, progressToken = state.token) => ({
      jsonrpc: "2.0",
      method: "notifications/progress",
      params: { progressToken, progress, _meta: { [RELATED]: { taskId: state.taskId } } },
    }),
    finished() {
      statuses.set(state.taskId, "completed");
      return { jsonrpc: "2.0", method: "notifications/tasks/status", params: shown(state.taskId) };
    },
  };
}

export function startInMemory(): ProgressTaskServer {
  const tasks = createTasks();
  let send = (_message: object) => {};
  const transport = async () => {
    const [client, end] = createLinkedTransports();
    end.onmessage = (message) => {
      if ("id" in message && "method" in message) void end.send(tasks.answer(message as Message) as never);
      // Of several connections, the one that was called last has the task.
      if ("method" in message && message.method === "tools/call")
        send = (given) => void end.send(given as never);
    };
    await end.start();
    return client;
  };
  return {
    entry: { transport, protocol: "legacy" },
    get token() {
      return tasks.state.token;
    },
    report: (progress, token) => send(tasks.progress(progress, token)),
    finish: () => send(tasks.finished()),
    close: async () => {},
  };
}

/** Progress goes to the stream for news of the session that called. */
export async function startOverHttp(): Promise<ProgressTaskServer> {
  const tasks = createTasks();
  const streams = new Map<string, (message: object) => void>();
  const waiting: object[] = [];
  let session = "";
  const send = (message: object) => {
    const stream = streams.get(session);
    if (stream === undefined) waiting.push(message);
    else stream(message);
  };
  const server = await startScriptedServer(({ method, message, headers }, response) => {
    const id = String(headers["mcp-session-id"]);
    if (method === "GET") {
      openEvents(response);
      streams.set(id, (given) => void response.write(event(given)));
      if (id === session) for (const given of waiting.splice(0)) streams.get(id)!(given);
      return;
    }
    if (method !== "POST" || message === undefined) return response.writeHead(200).end();
    if (message.id === undefined) return response.writeHead(202).end();
    if (message.method === "tools/call") session = id;
    const isFirst = message.method === "initialize";
    sendJson(response, tasks.answer(message), {
      headers: isFirst ? { "mcp-session-id": crypto.randomUUID() } : {},
    });
  });
  return {
    entry: { url: `${server.url}/mcp`, protocol: "legacy" },
    get token() {
      return tasks.state.token;
    },
    report: (progress, token) => send(tasks.progress(progress, token)),
    finish: () => send(tasks.finished()),
    close: () => server.close(),
  };
}
