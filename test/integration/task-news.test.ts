/** Messages of a legacy server while a task runs: status, progress, questions. */
import type { JSONRPCMessage, Transport } from "@modelcontextprotocol/client";
import { createLinkedTransports, createToolport, type Progress } from "toolport";
import { expect, test } from "vitest";
import { waitFor } from "../support/wait-for.js";

type Fields = Record<string, unknown>;
interface Message {
  id?: string | number;
  method?: string;
  params?: Fields;
  result?: Fields;
}

/** A server that the test controls; its tasks should be polled once a minute. */
class Mind {
  readonly got: Message[] = [];
  readonly tasks = new Map<string, { status: string; statusMessage?: string; text?: string }>();
  /** Ids of pending `tasks/result` requests. */
  readonly waiting = new Map<string, string | number>();
  #server: Transport | undefined;

  connect = (): Transport => {
    const [client, server] = createLinkedTransports();
    this.#server = server;
    server.onmessage = (message) => this.#take(message as Message);
    void server.start();
    return client;
  };

  send(message: Message): void {
    void this.#server?.send({ jsonrpc: "2.0", ...message } as JSONRPCMessage);
  }

  /** Changes a task and sends its status. */
  tell(taskId: string, change: { status: string; statusMessage?: string; text?: string }): void {
    this.tasks.set(taskId, { ...this.tasks.get(taskId), ...change });
    this.send({ method: "notifications/tasks/status", params: this.#shown(taskId) });
  }

  #shown(taskId: string): Fields {
    const { text: _, ...shown } = this.tasks.get(taskId)!;
    return {
      taskId,
      ...shown,
      createdAt: "2026-01-01T00:00:00Z",
      lastUpdatedAt: "2026-01-01T00:00:00Z",
      ttl: null,
      pollInterval: 60_000,
    };
  }

  #take(message: Message): void {
    this.got.push(message);
    const { id, method, params = {} } = message;
    if (id === undefined || method === undefined) return;
    const taskId = String(params["taskId"]);
    const answers: Record<string, () => Fields | undefined> = {
      initialize: () => ({
        protocolVersion: "2025-11-25",
        capabilities: { tools: {}, tasks: { cancel: {}, requests: { tools: { call: {} } } } },
        serverInfo: { name: "mind", version: "1" },
      }),
      "tools/list": () => ({
        tools: ["a", "b"].map((name) => ({
          name,
          inputSchema: { type: "object" },
          execution: { taskSupport: "required" },
        })),
      }),
      "tools/call": () => {
        const name = String(params["name"]);
        this.tasks.set(name, { status: "working" });
        return { task: this.#shown(name) };
      },
      "tasks/get": () => this.#shown(taskId),
      "tasks/result": () => {
        const { text } = this.tasks.get(taskId)!;
        if (text !== undefined) return { content: [{ type: "text", text }] };
        this.waiting.set(taskId, id);
        return undefined;
      },
      "tasks/cancel": () => this.#shown(taskId),
    };
    const result = answers[method]?.();
    if (result !== undefined) this.send({ id, result });
  }
}

test("a status notification ends the wait, and progress continues after the answer", async () => {
  const mind = new Mind();
  await using toolport = createToolport({
    mcpServers: { it: { transport: mind.connect, protocol: "legacy" } },
  });
  const seen: Progress[] = [];
  const call = toolport.callTool("it__a", {}, { onProgress: (progress) => seen.push(progress) });
  await waitFor(() => mind.tasks.has("a"));
  const asked = mind.got.find(({ method }) => method === "tools/call")!;
  const { progressToken } = asked.params!["_meta"] as { progressToken: string };
  await waitFor(async () => (await toolport.tasks()).length === 1);
  mind.send({ method: "notifications/progress", params: { progressToken, progress: 0.5, total: 1 } });
  await waitFor(() => seen.length > 0);
  mind.tell("a", { status: "completed", statusMessage: "there it is", text: "done" });
  expect((await call).text).toBe("done");
  expect(seen).toEqual([
    { progress: 0.5, total: 1 },
    { progress: 0.5, total: 1, message: "there it is" },
  ]);
});

test("a question and its answer name the task", async () => {
  const mind = new Mind();
  const origins: unknown[] = [];
  await using toolport = createToolport({
    mcpServers: { it: { transport: mind.connect, protocol: "legacy" } },
    onElicitation: (_request, { tool }) => {
      origins.push(tool);
      return { action: "decline" };
    },
  });
  const calls = [toolport.callTool("it__a"), toolport.callTool("it__b")];
  await waitFor(() => mind.tasks.size === 2);
  for (const task of ["a", "b"]) mind.tell(task, { status: "input_required" });
  await waitFor(() => mind.waiting.size === 2);
  const related = { "io.modelcontextprotocol/related-task": { taskId: "b" } };
  mind.send({
    id: 99,
    method: "elicitation/create",
    params: { message: "?", requestedSchema: { type: "object", properties: {} }, _meta: related },
  });
  const answer = await waitFor(() => mind.got.find(({ id, method }) => id === 99 && method === undefined));
  expect(answer.result).toEqual({ action: "decline", _meta: related });
  expect(origins).toEqual(["b"]);
  // The pending request already returns the result.
  for (const [task, id] of mind.waiting)
    mind.send({ id, result: { content: [{ type: "text", text: task }] } });
  expect((await Promise.all(calls)).map(({ text }) => text)).toEqual(["a", "b"]);
});
