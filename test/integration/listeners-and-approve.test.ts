/** Listeners, interceptors and approve: the functions that see, change or refuse a call. */
import {
  type CallEndEvent,
  type CallEvent,
  type CallInterceptor,
  cacheResults,
  createToolport,
} from "toolport";
import { createTestServer, type TestTool } from "toolport/testing";
import { describe, expect, test } from "vitest";
import { failure } from "../support/failure.js";

const tools: Record<string, TestTool> = {
  ask: { handler: ({ q }) => `asked ${q}` },
  fail: {
    handler() {
      throw new Error("no");
    },
  },
  read: { annotations: { readOnlyHint: true }, handler: () => "read" },
  count: { handler: ({ n }) => `${n}: ${++counted}` },
};
let counted = 0;

const makeServer = () =>
  createTestServer({
    tools,
    resources: { "test://a": { text: "A" } },
    prompts: { hello: { get: ({ who }) => `Hello ${who}` } },
  });

describe("listeners", () => {
  test("run before and after every tool call, prompt and resource, with message, outcome and context", async () => {
    await using server = makeServer();
    const before: CallEvent[] = [];
    const after: CallEndEvent[] = [];
    await using toolport = createToolport({
      mcpServers: { s: server.memory() },
      listeners: [{ before: (event) => before.push(event), after: (event) => after.push(event) }],
    });
    const context = { request: 7 };
    await toolport.callTool("s__ask", { q: 1 }, { context, meta: { k: "v" } });
    await toolport.callTool("s__fail", {}, { context });
    await toolport.getPrompt("s", "hello", { who: "Ada" }, { context });
    await toolport.readResource("s", "test://a", { context });
    await failure(toolport.readResource("s", "test://none", { context }));
    await failure(toolport.getPrompt("s", "helo", {}, { context }));
    expect(before.map(({ kind, server: name, name: what, uri }) => [kind, name, what ?? uri])).toEqual([
      ["tool", "s", "s__ask"],
      ["tool", "s", "s__fail"],
      ["prompt", "s", "hello"],
      ["resource", "s", "test://a"],
      ["resource", "s", "test://none"],
      ["prompt", "s", "helo"],
    ]);
    expect(before[0]?.message).toEqual({ name: "ask", arguments: { q: 1 }, _meta: { k: "v" } });
    expect(before[2]?.message).toEqual({ name: "hello", arguments: { who: "Ada" } });
    expect(after.map(({ outcome, attempts }) => [outcome, attempts])).toEqual([
      ["ok", 1],
      ["tool_error", 1],
      ["ok", 1],
      ["ok", 1],
      ["error", 1],
      ["error", 1],
    ]);
    for (const event of [...before, ...after]) expect(event.context).toBe(context);
    for (const { durationMs } of after) expect(durationMs).toBeGreaterThan(0);
    expect(after[0]?.result).toMatchObject({ text: "asked 1" });
    expect(after[4]?.error).toMatchObject({ code: "RESOURCE_NOT_FOUND", server: "s" });
    expect(after[5]?.error).toMatchObject({ code: "PROMPT_NOT_FOUND", suggestions: ["hello"] });
  });

  test("get the server that answered after a fallback, and the number of attempts", async () => {
    await using main = makeServer();
    await using spare = makeServer();
    const http = await main.http();
    const after: CallEndEvent[] = [];
    await using toolport = createToolport({
      mcpServers: { main: { ...http.entry, fallback: "spare" }, spare: spare.memory() },
      listeners: [{ after: (event) => after.push(event) }],
    });
    await toolport.connect();
    await main.close();
    await toolport.callTool("main__ask", { q: 1 });
    expect(after).toMatchObject([
      { kind: "tool", name: "main__ask", server: "spare", attempts: 2, outcome: "ok" },
    ]);
  });

  test("that throw or reject are reported and change nothing", async () => {
    await using server = makeServer();
    const warnings: string[] = [];
    const reported: string[] = [];
    await using toolport = createToolport({
      mcpServers: { s: server.memory() },
      listeners: [
        {
          before() {
            throw new Error("before broke");
          },
          after: () => Promise.reject(new Error("after broke")),
        },
        { before: () => reported.push("before"), after: () => reported.push("after") },
      ],
    });
    toolport.on("warning", ({ message }) => warnings.push(message));
    expect((await toolport.callTool("s__ask", { q: 2 })).text).toBe("asked 2");
    expect(reported).toEqual(["before", "after"]);
    expect(warnings).toEqual([
      expect.stringContaining("before broke"),
      expect.stringContaining("after broke"),
    ]);
  });
});

describe("approve", () => {
  const ports = (trustAnnotations: boolean, asked: string[], verdict = true) => {
    const server = makeServer();
    const toolport = createToolport({
      mcpServers: { s: { ...server.memory(), trustAnnotations } },
      approve: ({ server: from, tool, args, context }) => {
        asked.push(`${from.name} ${tool.sourceName} ${JSON.stringify(args)} ${context}`);
        return verdict;
      },
    });
    return {
      server,
      toolport,
      async [Symbol.asyncDispose]() {
        await toolport.close();
        await server.close();
      },
    };
  };

  test("runs before a call with all its details; a refusal is REFUSED and nothing is sent", async () => {
    const asked: string[] = [];
    await using scene = ports(true, asked, false);
    expect(await failure(scene.toolport.callTool("s__ask", { q: 1 }, { context: "ada" }))).toMatchObject({
      code: "REFUSED",
      server: "s",
      tool: "ask",
      outcome: "unsent",
      retryable: false,
    });
    expect(asked).toEqual(['s ask {"q":1} ada']);
    expect(scene.server.calls).toHaveLength(0);
  });

  test("is skipped for read-only tools of a trusted server, and for no others", async () => {
    const asked: string[] = [];
    await using trusted = ports(true, asked);
    expect((await trusted.toolport.callTool("s__read")).text).toBe("read");
    expect(asked).toEqual([]);
    await trusted.toolport.callTool("s__ask", { q: 1 });
    expect(asked).toHaveLength(1);
    await using other = ports(false, asked);
    await other.toolport.callTool("s__read");
    expect(asked).toHaveLength(2);
  });

  test.each<[string, "always" | ((call: { args: object }) => boolean), string[]]>([
    ["always", "always", ["read", "ask"]],
    ["by choice", ({ args }) => "q" in args, ["ask"]],
  ])("may be asked %s", async (_case, when, expected) => {
    await using server = makeServer();
    const asked: string[] = [];
    await using toolport = createToolport({
      mcpServers: { s: { ...server.memory(), trustAnnotations: true } },
      approve: {
        ask: async ({ tool }) => {
          asked.push(tool.sourceName);
          return true;
        },
        when,
      },
    });
    await toolport.callTool("s__read");
    await toolport.callTool("s__ask", { q: 1 });
    expect(asked).toEqual(expected);
  });
});

describe("interceptors", () => {
  const noting =
    (name: string, notes: string[]): CallInterceptor =>
    (next) =>
    async (call) => {
      notes.push(`${name} in ${call.options.context}`);
      const result = await next(call);
      notes.push(`${name} out ${result.server}`);
      return result;
    };

  test("wrap a call in their order, and see its context", async () => {
    await using server = makeServer();
    const notes: string[] = [];
    await using toolport = createToolport({
      mcpServers: { s: server.memory() },
      interceptors: [noting("first", notes), noting("second", notes)],
    });
    await toolport.callTool("s__ask", { q: 1 }, { context: "c" });
    expect(notes).toEqual(["first in c", "second in c", "second out s", "first out s"]);
  });

  test("may change arguments and results, answer themselves, or refuse", async () => {
    await using server = makeServer();
    const change: CallInterceptor = (next) => async (call) => {
      if (call.args["q"] === "refuse") throw new Error("not here");
      if (call.args["q"] === "self")
        return { text: "self", content: [], isError: false, server: "me", attempts: 0, durationMs: 0 };
      const result = await next({ ...call, args: { ...call.args, q: `${call.args["q"]}!` } });
      return { ...result, text: result.text.toUpperCase() };
    };
    await using toolport = createToolport({ mcpServers: { s: server.memory() }, interceptors: [change] });
    expect((await toolport.callTool("s__ask", { q: "a" })).text).toBe("ASKED A!");
    expect(await toolport.callTool("s__ask", { q: "self" })).toMatchObject({
      text: "self",
      server: "me",
      attempts: 0,
    });
    expect(await failure<Error>(toolport.callTool("s__ask", { q: "refuse" }))).toMatchObject({
      message: "not here",
    });
    expect(server.calls).toHaveLength(1);
  });

  test("a result of cacheResults reports 0 attempts, to the caller and to listeners", async () => {
    await using server = makeServer();
    const after: number[] = [];
    await using toolport = createToolport({
      mcpServers: { s: server.memory() },
      interceptors: [cacheResults({ tools: ["s__count"], ttlMs: 60_000 })],
      listeners: [{ after: ({ attempts }) => after.push(attempts) }],
    });
    const asked = await toolport.callTool("s__count", { n: 1 });
    const cached = await toolport.callTool("s__count", { n: 1 });
    expect([asked.text, asked.attempts]).toEqual([cached.text, 1]);
    expect(cached.attempts).toBe(0);
    // Equal parallel calls share one request to the server.
    const shared = await Promise.all([2, 2, 2].map((n) => toolport.callTool("s__count", { n })));
    expect(shared.map(({ attempts }) => attempts).sort()).toEqual([0, 0, 1]);
    expect(after.sort()).toEqual([0, 0, 0, 1, 1]);
    expect(server.calls).toHaveLength(2);
  });

  test("cacheResults answers a repeated call from memory, separately for each user", async () => {
    await using server = makeServer();
    await using toolport = createToolport({
      mcpServers: { s: server.memory() },
      interceptors: [cacheResults({ tools: ["s__count", "s__fail"], ttlMs: 60_000 })],
    });
    const count = (port = toolport, n = 1) => port.callTool("s__count", { n }).then(({ text }) => text);
    const first = await count();
    expect(await count()).toBe(first);
    expect(await count(toolport, 2)).not.toBe(first);
    expect(await count(toolport.as("ada"))).not.toBe(first);
    await toolport.callTool("s__fail");
    await toolport.callTool("s__fail");
    await toolport.callTool("s__ask", { q: 1 });
    await toolport.callTool("s__ask", { q: 1 });
    expect(server.calls.map(({ name }) => name)).toEqual([
      "count",
      "count",
      "count",
      "fail",
      "fail",
      "ask",
      "ask",
    ]);
  });
});

test("a call's own headers and _meta reach the server, and no other call's", async () => {
  await using server = createTestServer({
    tools: {
      echo: {
        handler: (_args, { request }) =>
          JSON.stringify([request.http?.req?.headers.get("x-call"), request.mcpReq._meta?.["example/k"]]),
      },
    },
  });
  const http = await server.http();
  await using toolport = createToolport({ mcpServers: { s: http.entry } });
  const own = await toolport.callTool(
    "s__echo",
    {},
    { headers: { "x-call": "1" }, meta: { "example/k": "v" } },
  );
  expect(JSON.parse(own.text)).toEqual(["1", "v"]);
  expect(JSON.parse((await toolport.callTool("s__echo")).text)).toEqual([null, null]);
});
