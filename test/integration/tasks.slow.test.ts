/** Long-running tools in both eras: a call waits for its task. */
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { createToolport, type Progress, type ToolportOptions } from "toolport";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { endsAfter, startTaskServer, type TaskServer, textResult } from "../fixtures/servers/task-server.js";
import { failure } from "../support/failure.js";
import { type LeakSnapshot, takeLeakSnapshot, waitForNoLeaks } from "../support/leaks.js";
import { waitFor } from "../support/wait-for.js";

const require = createRequire(import.meta.url);

let before: LeakSnapshot;
beforeEach(() => {
  before = takeLeakSnapshot();
});
afterEach(() => waitForNoLeaks(before));

const open = (server: TaskServer, options: ToolportOptions = {}) =>
  createToolport({ mcpServers: { jobs: server.entry }, ...options });

const elicitation = {
  method: "elicitation/create",
  params: {
    mode: "form",
    message: "Your name?",
    requestedSchema: { type: "object", properties: { name: { type: "string" } }, required: ["name"] },
  },
};

describe.each(["legacy", "modern"] as const)("tasks on the %s wire", (wire) => {
  test("a call waits for its task without showing it", async () => {
    await using server = await startTaskServer(wire);
    server.onTask = endsAfter(3, { result: textResult("done") });
    await using toolport = open(server);
    const result = await toolport.callTool("jobs__work", { text: "x" });
    expect(result).toMatchObject({ text: "done", isError: false, server: "jobs", attempts: 1 });
    expect(server.made).toHaveLength(1);
    expect(server.made[0]!.polls).toBe(3);
    expect(server.count("tasks/result")).toBe(wire === "legacy" ? 1 : 0);
    // The record is deleted after the result.
    await waitFor(async () => (await toolport.tasks()).length === 0);
  });

  test("polls at the interval of the server", async () => {
    await using server = await startTaskServer(wire);
    server.pollIntervalMs = 400;
    server.onTask = endsAfter(3, { result: textResult("done") });
    await using toolport = open(server);
    const { durationMs } = await toolport.callTool("jobs__work");
    expect(durationMs).toBeGreaterThanOrEqual(1_200);
  });

  test("a failed tool is a result; its status messages are progress", async () => {
    await using server = await startTaskServer(wire);
    const said: Progress[] = [];
    server.onTask = (task) => {
      task.onPoll = () => {
        task.statusMessage = `step ${Math.min(task.polls, 2)}`;
        if (task.polls < 3) return;
        task.status = wire === "legacy" ? "failed" : "completed";
        task.result = textResult("no luck", { isError: true });
      };
    };
    await using toolport = open(server);
    const result = await toolport.callTool(
      "jobs__work",
      {},
      { onProgress: (progress) => said.push(progress) },
    );
    expect(result).toMatchObject({ text: "no luck", isError: true });
    expect(said).toEqual([
      { progress: 1, message: "step 1" },
      { progress: 2, message: "step 2" },
    ]);
  });

  test("a failed, cancelled or lost task is reported as such", async () => {
    await using server = await startTaskServer(wire);
    await using toolport = open(server);
    server.onTask = endsAfter(1, { status: "failed", error: { code: -32000, message: "the disk is full" } });
    expect(await failure(toolport.callTool("jobs__work"))).toMatchObject({
      code: "PROTOCOL",
      rpcCode: -32000,
      server: "jobs",
      tool: "work",
      what: expect.stringContaining("the disk is full"),
    });
    server.onTask = endsAfter(1, { status: "cancelled", statusMessage: "out of hours" });
    expect(await failure(toolport.callTool("jobs__work"))).toMatchObject({
      code: "TASK_CANCELLED",
      what: expect.stringContaining("out of hours"),
    });
    server.onTask = (task) => {
      task.onPoll = () => void server.tasks.delete(task.id);
    };
    expect(await failure(toolport.callTool("jobs__work"))).toMatchObject({
      code: "TASK_LOST",
      retryable: false,
    });
    expect(server.made).toHaveLength(3);
    await waitFor(async () => (await toolport.tasks()).length === 0);
  });

  test("an abort passes through at once and cancels the task at the server", async () => {
    await using server = await startTaskServer(wire);
    await using toolport = open(server);
    const caller = new AbortController();
    const call = failure(toolport.callTool("jobs__work", {}, { signal: caller.signal }));
    await waitFor(() => server.made[0]?.polls);
    const reason = new Error("enough");
    caller.abort(reason);
    expect(await call).toBe(reason);
    await waitFor(() => server.made[0]!.status === "cancelled");
    // A pending poll is cancelled; the call itself was answered when the task started.
    const given = server.asked.filter(({ method }) => method === "notifications/cancelled");
    expect(given.length).toBeLessThanOrEqual(1);
    await waitFor(async () => (await toolport.tasks()).length === 0);
  });

  test("maxTimeoutMs ends it, timeoutMs applies only to silence", async () => {
    await using server = await startTaskServer(wire);
    await using toolport = open(server, { maxTimeoutMs: 1_500, timeoutMs: 500 });
    await toolport.connect();
    const error = await failure(toolport.callTool("jobs__work"));
    expect(error).toMatchObject({ code: "TIMEOUT", phase: "task", retryable: false });
    expect(server.made[0]!.polls).toBeGreaterThan(2);
    await waitFor(() => server.made[0]!.status === "cancelled");
  });

  test("no task is lost when the server is down for a while or loses the session", async () => {
    await using server = await startTaskServer(wire);
    await using toolport = open(server, { retry: false });
    server.onTask = (task) => {
      task.onPoll = () => {
        if (task.polls === 2) server.forgetSessions();
        if (task.polls === 3) {
          server.isAway = true;
          setTimeout(() => {
            server.isAway = false;
          }, 300);
        }
        if (task.polls >= 5) Object.assign(task, { status: "completed", result: textResult("still here") });
      };
    };
    expect((await toolport.callTool("jobs__work")).text).toBe("still here");
    expect(server.made).toHaveLength(1);
    expect(server.count("tools/call")).toBe(1);
  });

  test("a retried call continues its task", async () => {
    await using server = await startTaskServer(wire);
    await using toolport = open(server, { timeoutMs: 200, retry: { baseMs: 300, maxAttempts: 5 } });
    await toolport.connect();
    server.onTask = (task) => {
      server.isAway = true;
      setTimeout(() => {
        server.isAway = false;
      }, 500);
      endsAfter(1, { result: textResult("done") })(task);
    };
    const result = await toolport.callTool("jobs__work", {}, { idempotent: true });
    expect(result.text).toBe("done");
    expect(result.attempts).toBeGreaterThan(1);
    expect(server.made).toHaveLength(1);
  });

  test("a tool with an output schema must return structured content in the end", async () => {
    await using server = await startTaskServer(wire);
    await using toolport = open(server);
    server.onTask = endsAfter(1, { result: textResult("1", { structuredContent: { n: 1 } }) });
    expect((await toolport.callTool("jobs__typed")).structuredContent).toEqual({ n: 1 });
    const good = await toolport.callTool<{ n: number }>("jobs__typed", {}, { task: true });
    expect((await good.result()).structuredContent?.n).toBe(1);
    server.onTask = endsAfter(1, { result: textResult("1", { structuredContent: { n: "one" } }) });
    expect(await failure(toolport.callTool("jobs__typed"))).toMatchObject({ code: "INVALID_OUTPUT" });
    const bad = await toolport.callTool("jobs__typed", {}, { task: true });
    expect(await failure(bad.result())).toMatchObject({ code: "INVALID_OUTPUT" });
  });

  test("a tool that cannot be a task is not called at all", async () => {
    await using server = await startTaskServer(wire, { hasTasks: false });
    await using toolport = open(server);
    const error = await failure(toolport.callTool("jobs__plain", {}, { task: true }));
    expect(error).toMatchObject({ code: "NOT_OFFERED", outcome: "unsent", server: "jobs", tool: "plain" });
    expect(server.count("tools/call")).toBe(0);
    expect((await toolport.callTool("jobs__plain", { text: "hi" })).text).toBe("hi, at once");
  });
});

describe("only on the modern wire", () => {
  test("a task asks its user once for every question", async () => {
    await using server = await startTaskServer("modern");
    server.onTask = (task) => {
      task.onPoll = () => {
        if (task.inputs.length === 0 || task.polls < 4)
          Object.assign(task, { status: "input_required", inputRequests: { name: elicitation } });
        else {
          const { name } = task.inputs[0] as { name: { content: { name: string } } };
          Object.assign(task, { status: "completed", result: textResult(`Hello, ${name.content.name}`) });
        }
      };
    };
    const questions: unknown[] = [];
    await using toolport = open(server, {
      onElicitation: ({ message }, { server: asker, tool }) => {
        questions.push({ server: asker, tool, message });
        return { action: "accept", content: { name: "Ada" } };
      },
    });
    const result = await toolport.callTool("jobs__work");
    expect(result.text).toBe("Hello, Ada");
    expect(result._meta).toMatchObject({ "toolport/input": true });
    expect(questions).toEqual([{ server: "jobs", tool: "work", message: "Your name?" }]);
    expect(server.made[0]!.inputs).toHaveLength(1);
  });

  test("without a callback the call fails and the task is cancelled", async () => {
    await using server = await startTaskServer("modern");
    server.onTask = (task) =>
      Object.assign(task, { status: "input_required", inputRequests: { name: elicitation } });
    await using toolport = open(server);
    expect(await failure(toolport.callTool("jobs__work"))).toMatchObject({ code: "PROTOCOL" });
    await waitFor(() => server.made[0]!.status === "cancelled");
  });

  test("requests about a task name it in a header, and tasks are not declared for the SDK's client", async () => {
    await using server = await startTaskServer("modern");
    server.onTask = endsAfter(1, { result: textResult("done") });
    await using toolport = open(server);
    await toolport.callTool("jobs__work");
    const poll = server.asked.find(({ method }) => method === "tasks/get")!;
    expect(poll.headers).toMatchObject({ "mcp-method": "tasks/get", "mcp-name": server.made[0]!.id });
    const client = await toolport.client("jobs");
    await expect(client.callTool({ name: "work", arguments: {} })).rejects.toMatchObject({ code: -32021 });
  });

  test("a server that answers at once returns a finished handle", async () => {
    await using server = await startTaskServer("modern");
    server.atOnce = true;
    await using toolport = open(server);
    const task = await toolport.callTool("jobs__work", { text: "hi" }, { task: true });
    expect(await task.status()).toEqual({ status: "completed" });
    expect((await task.result()).text).toBe("hi, at once");
    await task.cancel();
    expect(await toolport.tasks()).toEqual([]);
  });
});

describe("only on the legacy wire", () => {
  test("an optional task is created only on request", async () => {
    await using server = await startTaskServer("legacy");
    await using toolport = open(server);
    expect((await toolport.callTool("jobs__maybe", { text: "hi" })).text).toBe("hi, at once");
    expect(server.made).toHaveLength(0);
    expect(await failure(toolport.callTool("jobs__plain", {}, { task: true }))).toMatchObject({
      code: "NOT_OFFERED",
    });
  });

  test("the reference server: a required task that asks its user", async () => {
    const manifest = require.resolve("@modelcontextprotocol/server-everything/package.json");
    const [bin] = Object.values((require(manifest) as { bin: Record<string, string> }).bin);
    const questions: unknown[] = [];
    await using toolport = createToolport({
      mcpServers: { all: { command: process.execPath, args: [join(dirname(manifest), bin!)] } },
      onElicitation: ({ message }, { server, tool }) => {
        questions.push({ server, tool, message });
        return { action: "accept", content: { interpretation: "snake" } };
      },
    });
    const said: (string | undefined)[] = [];
    const { text } = await toolport.callTool(
      "all__simulate-research-query",
      { topic: "python", ambiguous: true },
      { onProgress: ({ message }) => said.push(message) },
    );
    expect(text).toContain("python (snake)");
    expect(questions).toEqual([
      { server: "all", tool: "simulate-research-query", message: expect.stringContaining("python") },
    ]);
    expect(said).toContain("Gathering sources...");
  });

  test("a server without cancellation gets no cancel request", async () => {
    await using server = await startTaskServer("legacy", { hasCancel: false });
    await using toolport = open(server);
    const task = await toolport.callTool("jobs__work", {}, { task: true });
    expect(await failure(task.cancel())).toMatchObject({ code: "NOT_OFFERED" });
    expect(server.count("tasks/cancel")).toBe(0);
  });
});
