/** The servers of a schedule. They note each effect, crash, stay silent, and report the tasks of all users to each of them. */
import type { JSONRPCMessage } from "@modelcontextprotocol/client";
import { createLinkedTransports, type ServerEntry } from "toolport";
import { createTestServer, type TestServer, type TestTool } from "toolport/testing";
import { type Answerer, MemoryWorld } from "../../../../test/support/memory-world.js";
import type { VirtualTime } from "../../../../test/support/virtual-time.js";
import { type Ledger, MARKS } from "./ledger.js";

type Fields = Record<string, unknown>;
type Era = "legacy" | "modern";

/** What a server does with a call. */
export const ACTS = ["answer", "fail", "talk", "slow", "hang", "exit before", "exit after"] as const;
export type Act = (typeof ACTS)[number];

export const SERVERS = ["old", "new", "jobs", "extended"] as const;
export type ServerName = (typeof SERVERS)[number];

/** One server with all its connections. */
export interface ScheduleServer {
  readonly entry: ServerEntry;
  readonly connections: number;
  /** Ends every connection, and refuses new ones until the time has passed. */
  crash(downMs: number): void;
  /** Reports something of every user on every connection. */
  report(): void;
}

export type ScheduleServers = Readonly<Record<ServerName, ScheduleServer>>;

const PROTOCOL = { legacy: "legacy", modern: { pin: "2026-07-28" } } as const;
const FORM = { type: "object" as const, properties: { seat: { type: "string" as const } } };
const RELATED = "io.modelcontextprotocol/related-task";
const TASKS = "io.modelcontextprotocol/tasks";

export function createServers(ledger: Ledger, time: VirtualTime): ScheduleServers {
  return {
    old: sdkServer("legacy", "old", ledger, time),
    new: sdkServer("modern", "new", ledger, time),
    jobs: taskServer("legacy", "jobs", ledger, time),
    extended: taskServer("modern", "extended", ledger, time),
  };
}

/** A real server of the SDK in one era, behind transports that the schedule can cut. */
function sdkServer(era: Era, name: ServerName, ledger: Ledger, time: VirtualTime): ScheduleServer {
  const ends = new Set<{ close(): Promise<void> }>();
  let downUntil = 0;
  const crash = (downMs: number) => {
    downUntil = Date.now() + downMs;
    for (const end of [...ends]) void end.close();
  };
  const server = createTestServer({
    era,
    capabilities: { logging: {} },
    tools: { act: actor(name, "act"), guarded: actor(name, "guarded"), ask: asker() },
    prompts: { plan: { arguments: [{ name: "mark" }], get: ({ mark }) => `a plan for ${mark}` } },
    resourceTemplates: {
      [`${name}-note://{mark}`]: {
        read: (uri) => (uri.startsWith(`${name}-note://`) ? `A note at ${uri}` : undefined),
      },
    },
  });

  function actor(own: ServerName, tool: string): TestTool {
    return {
      async handler(args, { signal, progress, request }) {
        const { id, mark, act } = args as { id: string; mark: string; act: Act };
        ledger.ran({ server: own, tool, args });
        if (act === "exit before") {
          crash(0);
          return "unread";
        }
        ledger.effect(id);
        if (act === "exit after") crash(2_000);
        if (act === "talk") {
          await request.mcpReq.log("error", `A log message of ${mark}`).catch(() => {});
          await progress(1, 2, `progress of ${mark}`).catch(() => {});
        }
        if (act === "slow") await until(signal, 5_000);
        if (act === "hang") await until(signal);
        if (act === "fail") throw new Error(`It failed for ${mark}`);
        return `${id} of ${mark}`;
      },
    };
  }

  /** Asks the user, and then has its effect. A modern server accepts each of its states once. */
  function asker(): TestTool {
    const states = new Set<string>();
    const params = ({ id, mark }: Fields) => ({
      message: `${id}: which seat for ${mark}?`,
      requestedSchema: FORM,
    });
    return {
      async handler(args, { request, signal }) {
        const { mcpReq } = request;
        const id = String(args["id"]);
        ledger.ran({ server: name, tool: "ask", args });
        let answer: unknown;
        if (era === "legacy") {
          const asked = { method: "elicitation/create" as const, params: params(args) };
          answer = await mcpReq.send(asked, { signal });
        } else {
          const state = mcpReq.requestState();
          if (typeof state !== "string" || !states.delete(state)) {
            const requestState = crypto.randomUUID();
            states.add(requestState);
            const inputRequests = { seat: { method: "elicitation/create" as const, params: params(args) } };
            return { resultType: "input_required" as const, inputRequests, requestState };
          }
          answer = mcpReq.inputResponses?.["seat"];
        }
        if ((answer as { action?: unknown } | undefined)?.action !== "accept") return "declined";
        ledger.effect(id);
        ledger.count("answered questions");
        return `${id}: ${JSON.stringify(answer)}`;
      },
    };
  }

  const { transport } = server.memory();
  return {
    entry: {
      protocol: PROTOCOL[era],
      async transport() {
        if (Date.now() < downUntil) throw refused();
        const [client, end] = createLinkedTransports();
        const inner = await transport();
        end.onmessage = (message) => {
          time.note();
          inner.send(message).catch(() => {});
        };
        inner.onmessage = (message) => {
          time.note();
          end.send(message).catch(() => {});
        };
        end.onclose = () => {
          ends.delete(end);
          void inner.close();
        };
        inner.onclose = () => void end.close();
        ends.add(end);
        await end.start();
        await inner.start();
        return client;
      },
    },
    get connections() {
      return ends.size;
    },
    crash,
    report: () => notifyAll(server, name),
  };
}

function notifyAll(server: TestServer, name: ServerName): void {
  for (const mark of MARKS) void server.resourceUpdated(`${name}-note://${mark}`);
}

interface Task {
  readonly taskId: string;
  readonly id: string;
  readonly mark: string;
  readonly isPlain: boolean;
  status: "working" | "completed" | "cancelled";
}

class RpcError extends Error {
  constructor(
    readonly code: number,
    message: string,
  ) {
    super(message);
  }
}

/** A server whose users share one credential: it knows tasks, and does not know whose they are. No SDK serves tasks. */
function taskServer(era: Era, name: ServerName, ledger: Ledger, time: VirtualTime): ScheduleServer {
  const tasks = new Map<string, Task>();
  const isLegacy = era === "legacy";
  const complete = (fields: Fields): Fields => (isLegacy ? fields : { resultType: "complete", ...fields });
  const shown = ({ taskId, status, mark }: Task): Fields => ({
    taskId,
    status,
    statusMessage: `The task of ${mark}`,
    createdAt: "2026-11-18T00:00:00Z",
    lastUpdatedAt: "2026-11-18T00:00:00Z",
    [isLegacy ? "ttl" : "ttlMs"]: 600_000,
  });
  const find = ({ taskId }: Fields): Task => {
    const task = tasks.get(String(taskId));
    if (task === undefined) throw new RpcError(-32602, "Failed to retrieve task: Task not found");
    return task;
  };
  const resultOf = ({ id, mark }: Task): Fields => ({
    content: [{ type: "text", text: `${id} of ${mark}` }],
  });
  const declaresTasks = ({ _meta }: Fields): boolean => {
    const declared = (_meta as Fields | undefined)?.["io.modelcontextprotocol/clientCapabilities"];
    return (declared as { extensions?: Fields } | undefined)?.extensions?.[TASKS] !== undefined;
  };
  const call = (params: Fields): Fields => {
    const args = (params["arguments"] ?? {}) as Fields;
    if (params["name"] !== "job") throw new RpcError(-32602, "Unknown tool");
    if (isLegacy ? params["task"] === undefined : !declaresTasks(params))
      throw new RpcError(isLegacy ? -32601 : -32021, "This tool runs as a task");
    const id = String(args["id"]);
    ledger.ran({ server: name, tool: "job", args });
    ledger.effect(id);
    const task: Task = {
      taskId: `${tasks.size + 1}-of-${String(args["mark"])}`,
      id,
      mark: String(args["mark"]),
      isPlain: args["act"] !== "hang",
      status: "working",
    };
    tasks.set(task.taskId, task);
    return isLegacy ? { task: shown(task) } : { resultType: "task", ...shown(task) };
  };
  const get = (params: Fields): Fields => {
    const task = find(params);
    if (task.isPlain && task.status === "working") task.status = "completed";
    const result = !isLegacy && task.status === "completed" && { result: resultOf(task) };
    return complete({ ...shown(task), ...result });
  };
  const cancel = (params: Fields): Fields => {
    const task = find(params);
    if (task.status !== "working") throw new RpcError(-32602, "The task is over");
    task.status = "cancelled";
    ledger.cancelled(task.mark);
    return complete(isLegacy ? shown(task) : {});
  };
  const capabilities = isLegacy
    ? {
        tools: {},
        resources: { subscribe: true },
        tasks: { list: {}, cancel: {}, requests: { tools: { call: {} } } },
      }
    : { tools: {}, extensions: { [TASKS]: {} } };
  const serverInfo = { name, version: "1.0.0" };
  const tool = {
    name: "job",
    inputSchema: { type: "object" },
    ...(isLegacy && { execution: { taskSupport: "required" } }),
  };
  const methods: Record<string, (params: Fields) => Fields> = {
    "tools/list": () => complete({ tools: [tool] }),
    "tools/call": call,
    "tasks/get": get,
    "tasks/cancel": cancel,
    ...(isLegacy
      ? {
          initialize: () => ({ protocolVersion: "2025-11-25", capabilities, serverInfo }),
          ping: () => ({}),
          "resources/list": () => ({
            resources: MARKS.map((mark) => ({ uri: `job://${mark}`, name: "job" })),
          }),
          "resources/templates/list": () => ({ resourceTemplates: [] }),
          "resources/subscribe": () => ({}),
          "resources/unsubscribe": () => ({}),
          "resources/read": ({ uri }: Fields) => ({ contents: [{ uri, text: `A job at ${String(uri)}` }] }),
          "tasks/list": () => ({ tasks: [...tasks.values()].map(shown) }),
          "tasks/result": (params: Fields) => {
            const task = find(params);
            if (task.status === "cancelled") throw new RpcError(-32602, "The task was cancelled");
            task.status = "completed";
            return { ...resultOf(task), _meta: { [RELATED]: { taskId: task.taskId } } };
          },
        }
      : {
          "server/discover": () =>
            complete({
              supportedVersions: ["2026-07-28"],
              capabilities,
              _meta: { "io.modelcontextprotocol/serverInfo": serverInfo },
            }),
          "tasks/update": (params: Fields) => {
            find(params);
            return complete({});
          },
        }),
  };
  const answer: Answerer = ({ id, method, params }) => {
    time.note();
    try {
      const run = methods[method];
      if (run === undefined) throw new RpcError(-32601, "Method not found");
      return { jsonrpc: "2.0", id, result: run(params) };
    } catch (error) {
      if (!(error instanceof RpcError)) throw error;
      return { jsonrpc: "2.0", id, error: { code: error.code, message: error.message } };
    }
  };
  const world = new MemoryWorld({ era, answer });
  const say = (method: string, params: Fields) =>
    world.say({ jsonrpc: "2.0", method, params } as JSONRPCMessage);
  return {
    entry: { protocol: PROTOCOL[era], transport: world.connect },
    get connections() {
      return world.live.size;
    },
    crash(downMs) {
      world.mode = "down";
      setTimeout(() => {
        world.mode = "up";
      }, downMs);
      world.kill();
    },
    report() {
      for (const task of tasks.values()) {
        if (isLegacy) say("notifications/tasks/status", shown(task));
        say("notifications/elicitation/complete", { elicitationId: `question-of-${task.mark}` });
      }
      for (const mark of MARKS) say("notifications/resources/updated", { uri: `job://${mark}` });
    },
  };
}

/** Resolves on abort, or after a time. */
function until(signal: AbortSignal, ms?: number): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) return resolve();
    const timer = ms === undefined ? undefined : setTimeout(resolve, ms);
    signal.addEventListener("abort", () => {
      clearTimeout(timer);
      resolve();
    });
  });
}

const refused = () => Object.assign(new Error("The server is down"), { code: "ECONNREFUSED" });
