/** Hooks around calls, and notifications of servers. */
import { AIMessage, HumanMessage, ToolMessage } from "@langchain/core/messages";
import { fakeModel } from "@langchain/core/testing";
import { Command, MessagesAnnotation, StateGraph } from "@langchain/langgraph";
import { createReactAgent, ToolNode } from "@langchain/langgraph/prebuilt";
import { type ClientConfig, MultiServerMCPClient } from "toolport/langchain";
import { createTestServer, type TestServer } from "toolport/testing";
import { describe, expect, it } from "vitest";
import { failure } from "../../../test/support/failure.js";
import { waitFor } from "../../../test/support/wait-for.js";

const createEcho = (era: "legacy" | "modern" = "legacy") =>
  createTestServer({
    era,
    capabilities: { logging: {} },
    tools: {
      echo: { handler: (args) => JSON.stringify(args) },
      closed: {
        inputSchema: {
          type: "object",
          properties: { path: { type: "string" }, depth: { type: "integer" } },
          required: ["path"],
          additionalProperties: false,
        },
        handler: (args) => JSON.stringify(args),
      },
      work: {
        handler: async (_args, { progress }) => {
          await progress(1, 2, "half");
          return "worked";
        },
      },
      log: {
        handler: async (_args, { request }) => {
          await request.mcpReq.log("info", { a: 1 }, "part");
          return "logged";
        },
      },
    },
    resources: { "app://x": { text: "x" } },
    prompts: { hi: { get: () => "hi" } },
  });

async function clientOf(server: TestServer, config: Omit<ClientConfig, "mcpServers">) {
  return new MultiServerMCPClient({ ...config, mcpServers: { app: { url: (await server.http()).url } } });
}

describe("beforeToolCall", () => {
  it("gets the call, and its arguments override the model's", async () => {
    await using server = createEcho();
    const seen: unknown[] = [];
    await using client = await clientOf(server, {
      beforeToolCall: (request, state, config) => {
        seen.push([request, state, config.configurable?.["thread_id"]]);
        return { args: { b: 3 } };
      },
    });
    const [echo] = await client.getTools();
    expect(await echo!.invoke({ a: 1, b: 2 }, { configurable: { thread_id: "t" } })).toBe('{"a":1,"b":3}');
    expect(seen).toEqual([[{ name: "echo", serverName: "app", args: { a: 1, b: 2 } }, {}, "t"]]);
  });

  it("gets the state of the graph", async () => {
    await using server = createEcho();
    const states: Record<string, unknown>[] = [];
    await using client = await clientOf(server, {
      beforeToolCall: (_request, state) => void states.push(state),
    });
    const tools = await client.getTools();
    const call = { name: "echo", args: {}, id: "1", type: "tool_call" as const };
    const graph = new StateGraph(MessagesAnnotation)
      .addNode("tools", new ToolNode(tools))
      .addEdge("__start__", "tools")
      .compile();
    await graph.invoke({ messages: [new AIMessage({ content: "", tool_calls: [call] })] });
    expect(states).toEqual([{ messages: [expect.any(AIMessage)] }]);
  });

  it.each<[string, (args: Record<string, unknown>) => { args: unknown } | undefined]>([
    ["returns them", () => ({ args: { injected: true } })],
    [
      "changes the given arguments and returns them",
      (args) => ({ args: Object.assign(args, { injected: true }) }),
    ],
    ["writes them into the arguments", (args) => void Object.assign(args, { injected: true })],
  ])("adds arguments that the tool's closed schema does not list: %s", async (_case, change) => {
    await using server = createEcho();
    await using client = await clientOf(server, {
      beforeToolCall: ({ args }) => change(args as Record<string, unknown>),
    });
    const closed = (await client.getTools()).find(({ name }) => name === "closed");
    expect(JSON.parse(await closed!.invoke({ path: "/a" }))).toEqual({ path: "/a", injected: true });
  });

  it("its changes are checked, and arguments that the model invented are rejected", async () => {
    await using server = createEcho();
    let change: Record<string, unknown> = { depth: "3" };
    await using client = await clientOf(server, { beforeToolCall: () => ({ args: change }) });
    const closed = (await client.getTools()).find(({ name }) => name === "closed")!;
    const args = { path: "/a", depth: 1 };
    expect(JSON.parse(await closed.invoke(args))).toEqual({ path: "/a", depth: 3 });
    change = { depth: "deep" };
    expect(await failure(closed.invoke(args))).toMatchObject({ message: expect.stringContaining("$.depth") });
    change = { path: undefined };
    expect(await failure(closed.invoke(args))).toMatchObject({
      message: expect.stringContaining("$.path is required"),
    });
    change = { injected: true };
    expect(await failure(closed.invoke({ ...args, injected: false, made_up: 1 }))).toMatchObject({
      message: expect.stringMatching(/\$\.injected is not a parameter.*\$\.made_up is not a parameter/s),
    });
  });

  it("that throws is a ToolException with the cause, and nothing is sent", async () => {
    await using server = createEcho();
    const reason = new Error("Not allowed");
    await using client = await clientOf(server, { beforeToolCall: () => Promise.reject(reason) });
    const [echo] = await client.getTools();
    expect(await failure(echo!.invoke({}))).toMatchObject({ name: "ToolException", cause: reason });
    expect(server.calls.length).toBe(0);
  });
});

describe("afterToolCall", () => {
  const call = { type: "tool_call" as const, id: "call-1", name: "echo", args: { a: 1 } };

  it("gets the result and may leave it unchanged", async () => {
    await using server = createEcho();
    const seen: unknown[] = [];
    await using client = await clientOf(server, { afterToolCall: (result) => void seen.push(result) });
    const [echo] = await client.getTools();
    expect(await echo!.invoke(call)).toMatchObject({ content: '{"a":1}' });
    expect(seen).toEqual([{ name: "echo", serverName: "app", args: { a: 1 }, result: ['{"a":1}', []] }]);
  });

  it("may replace it with a text, or with content and artifact", async () => {
    await using server = createEcho();
    let result: string | [string, { type: string }[]] = "a text";
    await using client = await clientOf(server, { afterToolCall: () => ({ result }) });
    const [echo] = await client.getTools();
    expect(await echo!.invoke(call)).toMatchObject({ content: "a text", artifact: [] });
    result = ["other", [{ type: "mine" }]];
    expect(await echo!.invoke(call)).toMatchObject({ content: "other", artifact: [{ type: "mine" }] });
  });

  it.each(["", "id", "call-2"])(
    "may replace it with a message, which gets the call's id (instead of %j), name and status",
    async (tool_call_id) => {
      await using server = createEcho();
      const message = new ToolMessage({ content: "m", tool_call_id, name: "other", artifact: { a: 1 } });
      await using client = await clientOf(server, {
        additionalToolNamePrefix: "mcp",
        afterToolCall: () => ({ result: message }),
      });
      const [echo] = await client.getTools();
      expect(await echo!.invoke({ ...call, name: "mcp__echo" })).toMatchObject({
        content: "m",
        status: "success",
        artifact: { a: 1 },
        name: "mcp__echo",
        tool_call_id: "call-1",
      });
      // The hook may use the same message for other calls: it must not change.
      expect(message).toMatchObject({ tool_call_id, name: "other" });
      expect(await echo!.invoke({ a: 1 })).toBe("m");
    },
  );

  it("may mark the call as failed with the status of a message", async () => {
    await using server = createEcho();
    const message = new ToolMessage({ content: "m", tool_call_id: "id", status: "error" });
    await using client = await clientOf(server, { afterToolCall: () => ({ result: message }) });
    const [echo] = await client.getTools();
    expect(await echo!.invoke(call)).toMatchObject({ status: "error", tool_call_id: "call-1" });
  });

  it("may return a LangGraph command, which the graph executes", async () => {
    await using server = createEcho();
    await using client = await clientOf(server, {
      afterToolCall: ({ result: [content] }) => ({
        result: new Command({
          update: {
            messages: [new ToolMessage({ content, tool_call_id: "c" }), new HumanMessage("by command")],
          },
        }),
      }),
    });
    const model = fakeModel()
      .respondWithTools([{ name: "echo", args: {}, id: "c" }])
      .respond(new AIMessage("done"));
    const agent = createReactAgent({ llm: model, tools: await client.getTools() });
    const { messages } = await agent.invoke({ messages: [new HumanMessage("go")] });
    expect(messages.map(({ content }) => content)).toEqual(["go", "go", "{}", "by command", "done"]);
  });

  it("that returns something else is a ToolException", async () => {
    await using server = createEcho();
    await using client = await clientOf(server, { afterToolCall: () => ({ result: 7 as never }) });
    const [echo] = await client.getTools();
    expect(await failure(echo!.invoke({}))).toMatchObject({
      name: "ToolException",
      message: expect.stringContaining("afterToolCall"),
    });
  });
});

describe("LangGraph's control-flow exceptions", () => {
  it("pass through a hook unchanged", async () => {
    await using server = createEcho();
    const interrupt = Object.assign(new Error("ask a human"), { is_bubble_up: true });
    await using client = await clientOf(server, {
      beforeToolCall: () => {
        throw interrupt;
      },
    });
    const [echo] = await client.getTools();
    expect(await failure(echo!.invoke({}))).toBe(interrupt);
  });
});

describe("notifications of servers", () => {
  it("progress, with the call it belongs to", async () => {
    await using server = createEcho();
    const seen: unknown[] = [];
    await using client = await clientOf(server, { onProgress: (...event) => void seen.push(event) });
    const work = (await client.getTools()).find(({ name }) => name === "work");
    await work!.invoke({ n: 1 });
    expect(seen).toEqual([
      [
        { progress: 1, total: 2, message: "half" },
        { type: "tool", name: "work", args: { n: 1 }, server: "app" },
      ],
    ]);
  });

  it.each(["legacy", "modern"] as const)(
    "log messages of a %s server, after they are requested",
    async (era) => {
      await using server = createEcho(era);
      const seen: unknown[] = [];
      await using client = await clientOf(server, {
        onMessage: (message, { server: name }) => void seen.push([name, message]),
      });
      await client.setLoggingLevel("app", "debug");
      const log = (await client.getTools()).find(({ name }) => name === "log");
      await log!.invoke({});
      await waitFor(() => seen.length > 0);
      expect(seen).toEqual([["app", { level: "info", logger: "part", data: { a: 1 } }]]);
      await client.setLoggingLevel("error");
      await log!.invoke({});
      expect(seen.length).toBe(1);
    },
  );

  it.each(["legacy", "modern"] as const)(
    "changed lists of a %s server, after they were read again",
    async (era) => {
      await using server = createEcho(era);
      const reported: string[] = [];
      let names: string[] = [];
      await using client = await clientOf(server, {
        onInitialized: ({ server: name, options }) =>
          void reported.push(`initialized ${name} ${"url" in options}`),
        onToolsListChanged: async ({ server: name }) => {
          names = (await client.getTools(name)).map((tool) => tool.name);
          reported.push("tools");
        },
        onResourcesListChanged: () => void reported.push("resources"),
        onPromptsListChanged: () => void reported.push("prompts"),
      });
      await client.getTools();
      expect(reported).toEqual(["initialized app true"]);
      await server.update({
        tools: { fresh: { handler: () => "new" } },
        resources: { "app://fresh": { text: "new" } },
        prompts: { fresh: { get: () => "new" } },
      });
      await waitFor(() => ["tools", "resources", "prompts"].every((list) => reported.includes(list)));
      expect(names).toEqual(["fresh"]);
    },
  );

  it("updated resources and cancelled requests", async () => {
    await using server = createEcho();
    const reported: unknown[] = [];
    await using client = await clientOf(server, {
      onResourcesUpdated: ({ uri }, { server: name }) => void reported.push([name, uri]),
      onCancelled: ({ requestId, reason }) => void reported.push([requestId, reason]),
      onRootsListChanged: ({ server: name }) => void reported.push(name),
    });
    const sdkClient = await client.getClient("app");
    await sdkClient!.subscribeResource({ uri: "app://x" });
    await server.resourceUpdated("app://x");
    await waitFor(() => reported.length === 1);
    expect(reported).toEqual([["app", "app://x"]]);
  });
});
