/** Questions of servers that the page answers; roots, progress, tasks and subscriptions. */
import { createToolport, type Toolport } from "toolport";
import { createTestServer, type TestServer } from "toolport/testing";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { sendRaw } from "../../../test/support/raw-request.js";
import { waitFor } from "../../../test/support/wait-for.js";
import type { CallSummary, ServerQuestionView, StateView, TaskView } from "../src/console-api.js";
import { createConsoleAnswers } from "../src/server-questions.js";
import { type RunningConsole, startConsole } from "../src/start-console.js";
import { buildPage } from "./build-page.js";

const EVERYTHING = "node_modules/@modelcontextprotocol/server-everything/dist/index.js";

let page: Awaited<ReturnType<typeof buildPage>>;
let server: TestServer;
let toolport: Toolport;
let running: RunningConsole;

beforeAll(async () => {
  page = await buildPage();
  server = createTestServer({
    name: "steps",
    resources: { "memo://steps": { text: "none yet" } },
    tools: {
      walk: {
        handler: async (_args, { progress, signal }) => {
          await progress(1, 4, "one step");
          await new Promise((resolve) => signal.addEventListener("abort", resolve));
          return "stopped";
        },
      },
    },
  });
  const answers = createConsoleAnswers();
  toolport = createToolport({
    mcpServers: {
      everything: { command: process.execPath, args: [EVERYTHING] },
      steps: server.memory(),
    },
    ...answers.options,
  });
  await toolport.connect();
  running = await startConsole({ toolport, answers, pageFolder: page.folder });
});
afterAll(async () => {
  await running?.close();
  await toolport?.close();
  await server?.close();
  await page?.remove();
});
beforeEach(async () => expect(await questions()).toEqual([]));

async function ask<Value>(action: string, body: object = {}): Promise<Value> {
  const { text, status } = await sendRaw(running.url, `/api/${action}`, {
    method: "POST",
    headers: {
      "content-type": "application/json",
      authorization: `Bearer ${new URL(running.url).hash.slice(3)}`,
    },
    body: JSON.stringify(body),
  });
  if (status !== 200) throw Object.assign(new Error(text.trim()), { status });
  const { value, error } = JSON.parse(text);
  if (error) throw Object.assign(new Error(error.message), error);
  return value;
}

const questions = () => ask<ServerQuestionView[]>("questions");
const nextQuestion = () => waitFor(async () => (await questions())[0]);
const call = (tool: string, args: object = {}) =>
  ask<{ text: string }>("callTool", { name: `everything__${tool}`, args });

describe("the everything server", () => {
  it("offers all tools that depend on the client", () => {
    const names = toolport
      .snapshot()
      .tools.filter(({ server }) => server === "everything")
      .map((tool) => tool.sourceName);
    expect(names).toHaveLength(19);
    for (const kind of ["elicitation", "sampling"])
      expect(names).toEqual(
        expect.arrayContaining([`trigger-${kind}-request`, `trigger-${kind}-request-async`]),
      );
    expect(names).toEqual(expect.arrayContaining(["get-roots-list", "trigger-url-elicitation"]));
  });

  it("asks with tasks, which it cancels when the call is cancelled", async () => {
    const name = "everything__trigger-elicitation-request-async";
    const called = ask("callTool", { name, run: "async-1" });
    expect(await nextQuestion()).toMatchObject({ tool: "trigger-elicitation-request-async" });
    expect(await ask("cancel", { run: "async-1" })).toBe(true);
    await expect(called).rejects.toThrow("cancelled");
    await waitFor(async () => (await questions()).length === 0);
  });

  it("asks the user with a form, and gets the checked answer", async () => {
    const called = call("trigger-elicitation-request");
    const asked = await nextQuestion();
    expect(asked).toMatchObject({ kind: "elicitation", server: "everything", question: { mode: "form" } });
    const wrong = ask("answer", { id: asked.id, action: "accept", content: { age: "old" } });
    await expect(wrong).rejects.toMatchObject({
      code: "INVALID_ARGUMENTS",
      issues: expect.arrayContaining([{ path: `${asked.id}.content.name`, message: "is required" }]),
    });
    expect(await questions()).toHaveLength(1);
    await ask("answer", { id: asked.id, action: "accept", content: { name: "Ada" } });
    expect((await called).text).toContain("Ada");
  });

  it("asks for a completion, which the user writes or declines", async () => {
    const called = call("trigger-sampling-request", { prompt: "Say hi" });
    const asked = await nextQuestion();
    expect(JSON.stringify(asked)).toContain("Say hi");
    await ask("answer", { id: asked.id, action: "accept", text: "Hello from a person", model: "me" });
    expect((await called).text).toContain("Hello from a person");
    const declined = call("trigger-sampling-request", { prompt: "Again" });
    await ask("answer", { id: (await nextQuestion()).id, action: "decline" });
    await declined.catch(() => {});
  });

  it("withdraws the question of a call that is cancelled", async () => {
    const called = ask("callTool", { name: "everything__trigger-elicitation-request", run: "r1" });
    const asked = await nextQuestion();
    expect(await ask("cancel", { run: "r1" })).toBe(true);
    await expect(called).rejects.toThrow("cancelled");
    await waitFor(async () => (await questions()).length === 0);
    await expect(ask("answer", { id: asked.id, action: "accept" })).rejects.toMatchObject({ status: 404 });
  });

  it("gets the roots of the page", async () => {
    await expect(ask("setRoots", { roots: [{ uri: "/etc" }] })).rejects.toThrow("file:// URL");
    await ask("setRoots", { roots: [{ uri: "file:///srv/project" }] });
    expect(await ask("roots")).toEqual([{ uri: "file:///srv/project" }]);
    await waitFor(async () => (await call("get-roots-list")).text.includes("file:///srv/project"));
  });

  it("runs a tool as a task", async () => {
    const { task } = await ask<{ task: TaskView }>("callTool", {
      name: "everything__simulate-research-query",
      args: { topic: "tides" },
      task: true,
    });
    expect(await ask<TaskView[]>("tasks")).toEqual([
      expect.objectContaining({ id: task.id, status: "working", server: "everything" }),
    ]);
    await ask("cancelTask", { id: task.id });
    await expect(ask("taskResult", { id: task.id })).rejects.toThrow();
  });
});

it("reports updates of a subscribed resource", async () => {
  const body = { server: "steps", uri: "memo://steps" };
  await ask("subscribe", body);
  expect((await ask<StateView>("state")).subscriptions).toEqual([{ ...body, updates: 0, updatedAt: null }]);
  await server.resourceUpdated(body.uri);
  await waitFor(async () => (await ask<StateView>("state")).subscriptions[0]?.updates === 1);
  await ask("unsubscribe", body);
  expect((await ask<StateView>("state")).subscriptions).toEqual([]);
});

describe("a running call", () => {
  it("shows its progress and can be cancelled", async () => {
    const called = ask("callTool", { name: "steps__walk", run: "walk-1" });
    const seen = await waitFor(async () =>
      (await ask<CallSummary[]>("calls")).find(({ run, progress }) => run === "walk-1" && progress),
    );
    expect(seen.progress).toEqual({ progress: 1, total: 4, message: "one step" });
    await ask("cancel", { run: "walk-1" });
    await expect(called).rejects.toThrow("cancelled");
    expect(await ask("cancel", { run: "walk-1" })).toBe(false);
  });

  it("of the program that hosts the console shows its progress and can be cancelled, too", async () => {
    const reported: number[] = [];
    const caller = new AbortController();
    const called = toolport.callTool(
      "steps__walk",
      {},
      {
        onProgress: ({ progress }) => reported.push(progress),
        signal: caller.signal,
      },
    );
    const failed = expect(called).rejects.toMatchObject({ code: "REFUSED", server: "steps", tool: "walk" });
    const seen = await waitFor(async () =>
      (await ask<CallSummary[]>("calls")).find(({ canCancel, progress }) => canCancel && progress),
    );
    expect(seen).toMatchObject({ run: null, progress: { progress: 1, total: 4, message: "one step" } });
    expect(await ask("cancelCall", { id: seen.id })).toBe(true);
    await failed;
    expect(reported).toEqual([1]);
    expect(await ask("cancelCall", { id: seen.id })).toBe(false);
    expect(await ask("cancelCall", { id: 99_999 })).toBe(false);
    const [ended] = await ask<CallSummary[]>("calls");
    expect(ended).toMatchObject({ outcome: "error", canCancel: false });
    expect(ended?.error).toContain("The user cancelled the call in the console");
  });
});

it("cancels open questions when the console is closed", async () => {
  const answers = createConsoleAnswers();
  await using plain = createToolport({
    mcpServers: { everything: { command: process.execPath, args: [EVERYTHING] } },
    ...answers.options,
  });
  await plain.connect();
  const other = await startConsole({ toolport: plain, answers, pageFolder: page.folder });
  const called = plain.callTool("everything__trigger-elicitation-request");
  const list = (answers as unknown as { list(): unknown[] }).list.bind(answers);
  await waitFor(() => list().length === 1);
  await other.close();
  expect((await called).text).toContain("cancel");
});
