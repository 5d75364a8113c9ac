/** Where calls can interrupt a graph: what is refused before anything is sent, subgraphs, own nodes and own interrupts. */
import { AIMessage, type BaseMessage, HumanMessage, type ToolMessage } from "@langchain/core/messages";
import { type DynamicStructuredTool, tool } from "@langchain/core/tools";
import {
  Annotation,
  END,
  interrupt,
  MemorySaver,
  MessagesAnnotation,
  START,
  StateGraph,
} from "@langchain/langgraph";
import { createMiddleware } from "langchain";
import { createToolport, type ToolportOptions } from "toolport";
import { MultiServerMCPClient, ToolException, toLangChainTools } from "toolport/langchain";
import { expect, test, vi } from "vitest";
import { failure } from "../support/failure.js";
import { createBookingServer } from "./booking-server.js";
import { Conversation, createGraph, type Graph, seat } from "./langgraph-graphs.js";

async function open(options: ToolportOptions = {}) {
  const { server, seen } = createBookingServer();
  const toolport = createToolport({ mcpServers: { travel: server.memory() }, ...options });
  const tools = await toLangChainTools(toolport, { elicitation: "interrupt", approval: "interrupt" });
  const tool = (name: string) => tools.find((item) => item.name === `travel__${name}`)!;
  return {
    seen,
    toolport,
    tools,
    tool,
    server,
    async [Symbol.asyncDispose]() {
      await toolport.close();
      await server.close();
    },
  };
}

const toolCall = (name: string, to: string, id?: string) => ({
  name: `travel__${name}`,
  args: { to },
  type: "tool_call" as const,
  ...(id !== undefined && { id }),
});

/** A graph with one node, whose input contains a message of the model. */
function oneNode(
  run: (messages: BaseMessage[], config: Record<string, unknown>) => Promise<BaseMessage[]>,
  checkpointer: MemorySaver | undefined = new MemorySaver(),
): Graph {
  return new StateGraph(MessagesAnnotation)
    .addNode("own", async ({ messages }, config) => ({
      messages: await run(messages, config as unknown as Record<string, unknown>),
    }))
    .addEdge(START, "own")
    .addEdge("own", END)
    .compile({ checkpointer }) as unknown as Graph;
}

const thread = { configurable: { thread_id: "1" } };
const withCalls = (...tool_calls: ReturnType<typeof toolCall>[]) => ({
  messages: [new HumanMessage("go"), new AIMessage({ id: "ai-1", content: "", tool_calls })],
});

const asMessage = (output: unknown): BaseMessage[] => [output as ToolMessage];

test("outside of a graph, the call is NOT_OFFERED and nothing is sent", async () => {
  await using scene = await open();
  const error = await failure(scene.tool("note").invoke(toolCall("note", "Oslo", "call-0")));
  expect(error).toBeInstanceOf(ToolException);
  expect(error.cause).toMatchObject({
    name: "SuspensionError",
    code: "NOT_OFFERED",
    outcome: "unsent",
    server: "travel",
    tool: "note",
  });
  expect(scene.seen.requests).toBe(0);
});

test("without a checkpointer, the call is NOT_OFFERED and nothing is sent", async () => {
  await using scene = await open();
  const script = [toolCall("note", "Oslo", "call-0")];
  const conversation = new Conversation(createGraph("ToolNode", { script, tools: scene.tools }));
  await conversation.start();
  expect(conversation.outputs).toEqual([expect.stringContaining("(NOT_OFFERED)")]);
  expect(scene.seen.requests).toBe(0);
});

test.each([
  ["has no tool call id", { name: "travel__note", args: { to: "Oslo" }, type: "tool_call" }, "ai-1"],
  ["is not in the state", toolCall("note", "Oslo", "other"), "ai-1"],
  ["is in a message without an id", toolCall("note", "Oslo", "call-0"), undefined],
])("a call that %s is NOT_OFFERED", async (_title, called, id) => {
  await using scene = await open();
  const graph = new StateGraph(Annotation.Root({ messages: Annotation<BaseMessage[]> }))
    .addNode("own", async (_state, config) => {
      await scene.tool("note").invoke(called as never, config);
      return {};
    })
    .addEdge(START, "own")
    .compile({ checkpointer: new MemorySaver() });
  const tool_calls = [toolCall("note", "Oslo", "call-0")];
  const messages = [new AIMessage({ content: "", tool_calls, ...(id !== undefined && { id }) })];
  const error = await failure(graph.invoke({ messages }, thread));
  expect(error.cause).toMatchObject({ code: "NOT_OFFERED" });
  expect(scene.seen.requests).toBe(0);
});

test("two calls of a message with the same id are NOT_OFFERED", async () => {
  await using scene = await open();
  const script = [toolCall("note", "Oslo", "call"), toolCall("note", "Rome", "call")];
  const graph = createGraph("ToolNode", { script, tools: scene.tools, checkpointer: new MemorySaver() });
  const conversation = await new Conversation(graph).start();
  expect(conversation.outputs).toEqual(Array(2).fill(expect.stringContaining("(NOT_OFFERED)")));
  expect(scene.seen.requests).toBe(0);
});

test("a node that invokes the tool without its configuration can be interrupted", async () => {
  await using scene = await open();
  const graph = oneNode(async (messages) => {
    const [call] = (messages.at(-1) as AIMessage).tool_calls!;
    return asMessage(await scene.tool("book").invoke(call as never));
  });
  const first = await graph.invoke(withCalls(toolCall("book", "Oslo", "call-0")), thread);
  const conversation = new Conversation(graph, "1");
  conversation.state = first;
  await conversation.answer({ [conversation.calls[0]!.token]: seat("1A") });
  expect(conversation.outputs).toEqual(["booked Oslo, seat 1A, meal none"]);
});

test("an interrupt of the node itself, before or after a tool that asked, gets its own value", async () => {
  await using scene = await open();
  const seen: unknown[] = [];
  const graph = oneNode(async (messages, config) => {
    const calls = (messages.at(-1) as AIMessage).tool_calls!;
    seen.push(interrupt("before?"));
    const outputs = [];
    for (const call of calls) {
      outputs.push(await scene.tool("book").invoke(call as never, config));
      seen.push(interrupt("after?"));
    }
    return outputs.flatMap(asMessage);
  });
  const conversation = new Conversation(graph, "1");
  const calls = [toolCall("book", "Oslo", "call-0"), toolCall("book", "Rome", "call-1")];
  conversation.state = await graph.invoke(withCalls(...calls), thread);
  // LangGraph gives a plain value to a later interrupt again if the next value is by interrupt id, so all are plain here.
  await conversation.resume("first");
  await conversation.resume({ [conversation.calls[0]!.token]: seat("1A") });
  await conversation.resume("second");
  await conversation.resume({ [conversation.calls[0]!.token]: seat("2B") });
  await conversation.resume("third");
  expect(conversation.outputs).toEqual([
    "booked Oslo, seat 1A, meal none",
    "booked Rome, seat 2B, meal none",
  ]);
  expect(seen.slice(-3)).toEqual(["first", "second", "third"]);
  expect(scene.seen.requests).toBe(4);
});

test("an agent as a subgraph is interrupted and resumed by the id of its interrupt", async () => {
  await using scene = await open();
  const script = [toolCall("book", "Oslo", "call-0"), toolCall("note", "Bonn", "call-1")];
  const agent = createGraph("ToolNode", { script, tools: scene.tools });
  const graph = new StateGraph(MessagesAnnotation)
    .addNode("agent", agent as never)
    .addEdge(START, "agent")
    .compile({ checkpointer: new MemorySaver() }) as unknown as Graph;
  const conversation = await new Conversation(graph).start();
  await conversation.answer({ [conversation.calls[0]!.token]: seat("1A") });
  expect(conversation.outputs).toEqual(["booked Oslo, seat 1A, meal none", "noted Bonn"]);
  expect(scene.seen.requests).toBe(3);
});

test("calls with callbacks that are slow to start are in the same interrupt", async () => {
  await using scene = await open();
  const script = [toolCall("book", "Oslo", "call-0"), toolCall("book", "Rome", "call-1")];
  const graph = createGraph("ToolNode", { script, tools: scene.tools, checkpointer: new MemorySaver() });
  const conversation = new Conversation(graph);
  let release = () => {};
  const suspended = new Promise<void>((resolve) => {
    release = resolve;
  });
  scene.toolport.on("suspension", () => release());
  let started = 0;
  conversation.config["callbacks"] = [
    {
      awaitHandlers: true,
      async handleToolStart() {
        started += 1;
        if (started === 2) await suspended;
      },
    },
  ];
  await conversation.start();
  expect(conversation.interrupts).toHaveLength(1);
  expect(conversation.calls).toHaveLength(2);
});

test("MultiServerMCPClient: the options, and NOT_OFFERED for the headers of a caller", async () => {
  const { server, seen } = createBookingServer();
  await using client = new MultiServerMCPClient({
    mcpServers: { travel: { url: (await server.http()).url } },
    elicitation: "interrupt",
  });
  const script = [{ name: "book", args: { to: "Oslo" } }];
  const run = async (tools: DynamicStructuredTool[]) =>
    new Conversation(createGraph("ToolNode", { script, tools, checkpointer: new MemorySaver() })).start();
  const conversation = await run(await client.getTools());
  await conversation.answer({ [conversation.calls[0]!.token]: seat("1A") });
  expect(conversation.outputs).toEqual(["booked Oslo, seat 1A, meal none"]);
  const other = await run(await client.getTools(["travel"], { headers: { "x-user": "ada" } }));
  expect(other.outputs).toEqual([expect.stringContaining("(NOT_OFFERED)")]);
  expect(seen.requests).toBe(2);
  await client.close();
  await server.close();
});

test("other values of the options are refused", async () => {
  await using scene = await open();
  expect(await failure(toLangChainTools(scene.toolport, { approval: true as never }))).toMatchObject({
    code: "INVALID_CONFIG",
    issues: [{ path: "approval" }],
  });
  expect(
    () =>
      new MultiServerMCPClient({
        mcpServers: { a: { url: "http://127.0.0.1:1/" } },
        elicitation: "live" as never,
      }),
  ).toThrow(/elicitation/);
});

test("when the saved results are gone, calls are not sent again", async () => {
  await using scene = await open();
  const script = [toolCall("book", "Oslo", "call-0"), toolCall("note", "Bonn", "call-1")];
  for (const kind of ["ToolNode", "createAgent"] as const) {
    const graph = createGraph(kind, { script, tools: scene.tools, checkpointer: new MemorySaver() });
    const conversation = await new Conversation(graph, kind).start();
    const { requests } = scene.seen;
    try {
      vi.useFakeTimers({ toFake: ["Date"], now: Date.now() + 8 * 24 * 3_600_000 });
      await conversation.answer({ [conversation.calls[0]!.token]: seat("1A") });
    } finally {
      vi.useRealTimers();
    }
    const unknown = expect.stringContaining("(OUTCOME_UNKNOWN)");
    expect(conversation.outputs).toEqual([unknown, kind === "ToolNode" ? unknown : "noted Bonn"]);
    expect(scene.seen.requests).toBe(requests);
  }
});

test("a tool that interrupts by itself ends the node, and its siblings still run once", async () => {
  await using scene = await open();
  const sure = tool(() => `sure: ${interrupt("sure?")}`, { name: "sure", schema: { type: "object" } });
  const script = [
    { name: "sure", args: {}, id: "call-0" },
    toolCall("note", "Bonn", "call-1"),
    toolCall("book", "Oslo", "call-2"),
  ];
  const tools = [...scene.tools, sure as unknown as DynamicStructuredTool];
  const graph = createGraph("ToolNode", { script, tools, checkpointer: new MemorySaver() });
  const conversation = await new Conversation(graph).start();
  expect(conversation.interrupts).toMatchObject([{ value: "sure?" }]);
  await conversation.resume("yes");
  await conversation.resume({ [conversation.calls[0]!.token]: seat("1A") });
  expect(conversation.outputs).toEqual(["sure: yes", "noted Bonn", "booked Oslo, seat 1A, meal none"]);
  expect(scene.seen.requests).toBe(3);
});

test("middleware around tool calls that tries again does not send a call again", async () => {
  await using scene = await open();
  const twice = createMiddleware({
    name: "twice",
    wrapToolCall: async (request, handler) => {
      await handler(request);
      return handler(request);
    },
  });
  const script = [toolCall("book", "Oslo", "call-0"), toolCall("note", "Bonn", "call-1")];
  const graph = createGraph("createAgent", {
    script,
    tools: scene.tools,
    checkpointer: new MemorySaver(),
    middleware: [twice],
  });
  const conversation = await new Conversation(graph).start();
  await conversation.answer({ [conversation.calls[0]!.token]: seat("1A") });
  expect(conversation.outputs).toEqual(["booked Oslo, seat 1A, meal none", "noted Bonn"]);
  expect(scene.seen.requests).toBe(3);
});

test("the same answer twice at once is sent once", async () => {
  await using scene = await open();
  const script = [toolCall("book", "Oslo", "call-0"), toolCall("note", "Bonn", "call-1")];
  for (const kind of ["ToolNode", "createAgent"] as const) {
    const graph = createGraph(kind, { script, tools: scene.tools, checkpointer: new MemorySaver() });
    const first = await new Conversation(graph, kind).start();
    const second = new Conversation(graph, kind);
    second.state = first.state;
    const { requests } = scene.seen;
    const answers = { [first.calls[0]!.token]: seat("1A") };
    await Promise.all([first.answer(answers), second.answer(answers)]);
    for (const { outputs } of [first, second])
      expect(outputs).toEqual(["booked Oslo, seat 1A, meal none", "noted Bonn"]);
    expect(scene.seen.requests).toBe(requests + 1);
  }
});

test("when the server is down, the graph asks again; after its restart the same token works", async () => {
  const { server, seen } = createBookingServer();
  const { url } = await server.http();
  await using toolport = createToolport({
    mcpServers: { travel: { url, reconnect: { enabled: false } } },
    retry: false,
    breaker: false,
  });
  const tools = await toLangChainTools(toolport, { elicitation: "interrupt" });
  const script = [toolCall("book", "Oslo", "call-0")];
  const graph = createGraph("ToolNode", { script, tools, checkpointer: new MemorySaver() });
  const conversation = await new Conversation(graph).start();
  const { token } = conversation.calls[0]!;
  await server.close();
  await conversation.answer({ [token]: seat("1A") });
  expect(conversation.calls).toMatchObject([{ token, problem: { code: "UNREACHABLE" } }]);
  await server.http({ port: Number(new URL(url).port) });
  await toolport.connectServer("travel");
  await conversation.answer({ [token]: seat("1A") });
  expect(conversation.outputs).toEqual(["booked Oslo, seat 1A, meal none"]);
  expect(seen.booked).toHaveLength(1);
  await server.close();
});
