/**
 * A hand-written server of 2025-11-25 that knows no users: all its sessions share the tasks, and it sends its notifications to
 * every session.
 */
import type { ServerResponse } from "node:http";
import {
  event,
  openEvents,
  type SeenRequest,
  sendJson,
  startScriptedServer,
} from "../../../../test/fixtures/servers/http-scripted.js";

type Fields = Readonly<Record<string, unknown>>;

const RELATED = "io.modelcontextprotocol/related-task";
const PAGE = 2;
const RESOURCES = ["shared://ada", "shared://bob"];

export interface SharedServer extends AsyncDisposable {
  readonly entry: { readonly url: string; readonly protocol: "legacy" };
  /** Status by the server's own id, oldest first. */
  readonly tasks: Map<string, string>;
  /** Methods in the order of their arrival. */
  readonly asked: string[];
  /** Answers that the clients sent to questions. */
  readonly answers: Fields[];
  /** Ids of requests that were cancelled. */
  readonly cancelled: unknown[];
  /** How many sessions listen for news. */
  readonly listening: number;
  /** Sends a notification to every session. */
  broadcast(method: string, params: Fields): void;
  /** Changes the status of a task, and tells it to every session. */
  finish(taskId: string): void;
}

class RpcError extends Error {
  constructor(
    readonly code: number,
    message: string,
    readonly data?: unknown,
  ) {
    super(message);
  }
}

const tool = (name: string, taskSupport = "forbidden") => ({
  name,
  inputSchema: { type: "object" },
  execution: { taskSupport },
});

export async function startSharedServer(): Promise<SharedServer> {
  const tasks = new Map<string, string>();
  const asked: string[] = [];
  const answers: Fields[] = [];
  const cancelled: unknown[] = [];
  const streams = new Map<string, ServerResponse>();
  const questions = new Map<string, () => void>();
  const shown = (taskId: string): Fields => ({
    taskId,
    status: tasks.get(taskId),
    statusMessage: `status of ${taskId}`,
    createdAt: "2026-08-01T10:00:00Z",
    lastUpdatedAt: "2026-08-01T10:00:00Z",
    ttl: 60_000,
  });
  const find = ({ taskId }: Fields): string => {
    if (!tasks.has(String(taskId))) throw new RpcError(-32602, "Task not found");
    return String(taskId);
  };
  const tools: Record<string, (args: Fields, response: ServerResponse) => unknown> = {
    work: ({ id }) => {
      const taskId = typeof id === "string" ? id : crypto.randomUUID();
      tasks.set(taskId, "working");
      return { task: shown(taskId) };
    },
    // Names any task that the client asks for, in all places where results name tasks.
    report: ({ job }) => ({
      content: [{ type: "text", text: "reported" }],
      taskId: job,
      task: { taskId: job, status: "completed" },
      tasks: [{ taskId: job }],
      _meta: { [RELATED]: { taskId: job } },
    }),
    link: () => ({ content: RESOURCES.map((uri) => ({ type: "resource_link", uri, name: uri })) }),
    visit: ({ page }) => {
      const url = `https://example.com/${page}`;
      const elicitations = [{ mode: "url", message: "Visit", url, elicitationId: page }];
      throw new RpcError(-32042, "Visit a page first", { elicitations });
    },
    // Asks on the stream of the call, and ends with the answer.
    ask: ({ page, job }, response) => {
      openEvents(response);
      const id = crypto.randomUUID();
      const params =
        page === undefined
          ? { message: "Sure?", requestedSchema: { type: "object", properties: {} } }
          : { mode: "url", message: "Visit", url: `https://example.com/${page}`, elicitationId: page };
      const _meta = job === undefined ? {} : { [RELATED]: { taskId: job } };
      const question = {
        jsonrpc: "2.0",
        id,
        method: "elicitation/create",
        params: { ...params, _meta },
      };
      response.write(event(question));
      return new Promise((resolve) =>
        questions.set(id, () => resolve({ content: [{ type: "text", text: "answered" }] })),
      );
    },
    // Names a task in the messages of its call.
    log: ({ job }, response) => {
      openEvents(response);
      const _meta = { [RELATED]: { taskId: job } };
      const params = { level: "error", data: "logged", _meta };
      response.write(event({ jsonrpc: "2.0", method: "notifications/message", params }));
      return { content: [{ type: "text", text: "done" }] };
    },
  };
  const methods: Record<string, (params: Fields, response: ServerResponse) => unknown> = {
    initialize: () => ({
      protocolVersion: "2025-11-25",
      capabilities: {
        tools: {},
        logging: {},
        resources: { subscribe: true },
        tasks: { list: {}, cancel: {}, requests: { tools: { call: {} } } },
      },
      serverInfo: { name: "shared", version: "1" },
    }),
    ping: () => ({}),
    "logging/setLevel": () => ({}),
    "tools/list": () => ({
      tools: [
        tool("work", "required"),
        tool("report"),
        tool("visit"),
        tool("ask"),
        tool("log"),
        tool("link"),
      ],
    }),
    "tools/call": ({ name, arguments: args }, response) => tools[String(name)]!(args as Fields, response),
    "resources/list": () => ({ resources: RESOURCES.map((uri) => ({ uri, name: uri })) }),
    "resources/templates/list": () => ({ resourceTemplates: [] }),
    "resources/read": ({ uri }) => ({ contents: [{ uri, text: `content of ${uri}` }] }),
    "resources/subscribe": () => ({}),
    "resources/unsubscribe": () => ({}),
    "tasks/list": ({ cursor }) => {
      const from = Number(cursor ?? 0);
      const next = from + PAGE;
      return {
        tasks: [...tasks.keys()].slice(from, next).map(shown),
        ...(next < tasks.size && { nextCursor: String(next) }),
      };
    },
    "tasks/get": (params) => shown(find(params)),
    "tasks/cancel": (params) => {
      tasks.set(find(params), "cancelled");
      return shown(find(params));
    },
    "tasks/result": (params) => ({
      content: [{ type: "text", text: `result of ${find(params)}` }],
      _meta: { [RELATED]: { taskId: params["taskId"] } },
    }),
  };

  async function serve({ method, message, headers }: SeenRequest, response: ServerResponse) {
    if (method === "GET") {
      openEvents(response);
      const session = String(headers["mcp-session-id"]);
      streams.set(session, response);
      response.on("close", () => streams.delete(session));
      return;
    }
    if (method !== "POST" || message === undefined) return response.writeHead(200).end();
    const { id, method: name, params = {} } = message;
    if (name === undefined) {
      const answer = message as Fields;
      answers.push(answer);
      questions.get(String(id))?.();
      return response.writeHead(202).end();
    }
    asked.push(name);
    if (name === "notifications/cancelled") cancelled.push(params["requestId"]);
    if (id === undefined) return response.writeHead(202).end();
    let body: object;
    try {
      const run = methods[name];
      if (run === undefined) throw new RpcError(-32601, "Method not found");
      body = { result: await run(params, response) };
    } catch (error) {
      const { code = -32603, message: text, data } = error as RpcError;
      body = { error: { code, message: text, ...(data !== undefined && { data }) } };
    }
    if (response.headersSent) return response.end(event({ jsonrpc: "2.0", id, ...body }));
    const isFirst = name === "initialize";
    sendJson(
      response,
      { jsonrpc: "2.0", id, ...body },
      { headers: isFirst ? { "mcp-session-id": crypto.randomUUID() } : {} },
    );
  }

  const http = await startScriptedServer(serve);
  const broadcast = (method: string, params: Fields) => {
    for (const stream of streams.values()) stream.write(event({ jsonrpc: "2.0", method, params }));
  };
  return {
    entry: { url: `${http.url}/mcp`, protocol: "legacy" },
    tasks,
    asked,
    answers,
    cancelled,
    broadcast,
    get listening() {
      return streams.size;
    },
    finish(taskId) {
      tasks.set(taskId, "completed");
      broadcast("notifications/tasks/status", shown(taskId));
    },
    [Symbol.asyncDispose]: () => http.close(),
  };
}
