/** `createAgent` with and without middleware: every tool call is answered exactly once, also after failures. */
import { AIMessage, type BaseMessage, HumanMessage, ToolMessage } from "@langchain/core/messages";
import { fakeModel } from "@langchain/core/testing";
import { Command, interrupt, MemorySaver } from "@langchain/langgraph";
import { createAgent, createMiddleware, humanInTheLoopMiddleware } from "langchain";
import { type ClientConfig, MultiServerMCPClient } from "toolport/langchain";
import { createTestServer, type TestServer } from "toolport/testing";
import { describe, expect, it } from "vitest";
import { conversationFaults } from "../../../test/support/conversation-faults.js";

type Calls = { name: string; args: Record<string, unknown> }[];
type Middleware = NonNullable<Parameters<typeof createAgent>[0]["middleware"]>[number];
type Hooks = Omit<ClientConfig, "mcpServers">;

interface Result {
  messages: BaseMessage[];
  __interrupt__?: { value?: unknown }[];
}

/** Only the members used here; the real type depends on the tools and the middleware. */
interface Agent {
  invoke(input: unknown, config?: unknown): Promise<Result>;
}

const createServer = () =>
  createTestServer({
    era: "legacy",
    tools: {
      add: {
        inputSchema: {
          type: "object",
          properties: { a: { type: "number" }, b: { type: "number" }, tenant: { type: "string" } },
          required: ["a", "b"],
        },
        handler: ({ a, b, tenant }) =>
          `${Number(a) + Number(b)}${tenant === undefined ? "" : ` for ${tenant}`}`,
      },
      fail: { handler: () => Promise.reject(new Error("no")) },
    },
  });

/** Calls the tools of each step, then answers "done". */
function scripted(steps: Calls[]) {
  const model = fakeModel();
  for (const [step, calls] of steps.entries())
    model.respondWithTools(calls.map((call, index) => ({ ...call, id: `call-${step}-${index}` })));
  return model.respond(new AIMessage("done"));
}

/** An empty wrapper around every call, which changes how LangChain treats errors. */
const passThrough = (name: string): Middleware =>
  createMiddleware({ name, wrapToolCall: (request, handler) => handler(request) });

const KINDS: [string, Middleware[]][] = [
  ["without middleware", []],
  ["with middleware around tool calls", [passThrough("one")]],
  ["with two of them", [passThrough("one"), passThrough("two")]],
];

interface Setup {
  server: TestServer;
  hooks?: Hooks;
  steps: Calls[];
  middleware: Middleware[];
}

async function withAgent<Value>(
  { server, hooks, steps, middleware }: Setup,
  run: (agent: Agent) => Promise<Value>,
): Promise<Value> {
  await using client = new MultiServerMCPClient({ ...hooks, mcpServers: { math: server.memory() } });
  const agent = createAgent({
    model: scripted(steps),
    tools: await client.getTools(),
    middleware,
    checkpointer: new MemorySaver(),
  });
  return await run(agent as unknown as Agent);
}

const THREAD = { configurable: { thread_id: "t" } };
const GO = { messages: [new HumanMessage("go")] };
const add = (a: unknown, b?: unknown) => ({ name: "add", args: { a, ...(b !== undefined && { b }) } });

const answers = (messages: BaseMessage[]) =>
  messages
    .filter((message) => ToolMessage.isInstance(message))
    .map(({ content, status }) => [status, content]);

describe.each(KINDS)("createAgent %s", (_kind, middleware) => {
  it("lets the model correct invalid arguments", async () => {
    await using server = createServer();
    const steps = [[add(1)], [add(1, 2), add({ not: "a number" }, 1)]];
    const { messages } = await withAgent({ server, steps, middleware }, (agent) => agent.invoke(GO, THREAD));
    expect(conversationFaults(messages)).toEqual([]);
    expect(answers(messages)).toEqual([
      ["error", expect.stringMatching(/did not match expected schema[\s\S]*\$\.b is required/)],
      ["success", "3"],
      ["error", expect.stringContaining("$.a")],
    ]);
    expect(JSON.stringify(messages)).not.toContain("run-tool.");
    expect(messages.at(-1)?.content).toBe("done");
    expect(server.calls.length).toBe(1);
  });

  it("sends arguments that a hook adds, and returns the hook's result", async () => {
    await using server = createServer();
    const shared = new ToolMessage({ id: "same", content: "from the hook", tool_call_id: "id", name: "x" });
    const seen: unknown[] = [];
    const hooks: Hooks = {
      beforeToolCall: () => ({ args: { tenant: "acme" } }),
      afterToolCall: ({ args, result: [content] }) => {
        seen.push([args, content]);
        return { result: shared };
      },
    };
    const steps = [[add(1, 2), add(3, 4)], [add(5, 6)]];
    const { messages } = await withAgent({ server, hooks, steps, middleware }, (agent) =>
      agent.invoke(GO, THREAD),
    );
    expect(conversationFaults(messages)).toEqual([]);
    expect(answers(messages)).toEqual(Array(3).fill(["success", "from the hook"]));
    expect(seen).toContainEqual([{ a: 3, b: 4, tenant: "acme" }, "7 for acme"]);
    expect(shared).toMatchObject({ id: "same", tool_call_id: "id", name: "x" });
  });

  it.each<[string, () => Command, string]>([
    ["no message", () => new Command({ update: {} }), "3"],
    ["no update", () => new Command({}), "3"],
    [
      "a message without a call",
      () => new Command({ update: { messages: [new ToolMessage({ content: "m", tool_call_id: "id" })] } }),
      "m",
    ],
    [
      "a single message without a call",
      () => new Command({ update: { messages: new ToolMessage({ content: "m", tool_call_id: "" }) } }),
      "m",
    ],
    [
      "pairs of names and values",
      () => new Command({ update: [["messages", [new HumanMessage("by command")]]] }),
      "3",
    ],
  ])("answers the call when a hook returns a command with %s", async (_what, create, content) => {
    await using server = createServer();
    const hooks: Hooks = { afterToolCall: () => ({ result: create() }) };
    const steps = [[add(1, 2)]];
    const { messages } = await withAgent({ server, hooks, steps, middleware }, (agent) =>
      agent.invoke(GO, THREAD),
    );
    expect(conversationFaults(messages)).toEqual([]);
    expect(answers(messages)).toEqual([["success", content]]);
    expect(messages.at(-1)?.content).toBe("done");
  });

  it("does not change a command that answers the call itself", async () => {
    await using server = createServer();
    const hooks: Hooks = {
      afterToolCall: (_result, _state, config) => ({
        result: new Command({
          update: {
            messages: [
              {
                role: "tool",
                content: "own",
                name: "add",
                tool_call_id: (config as { toolCall: { id: string } }).toolCall.id,
              },
              new HumanMessage("by command"),
            ],
          },
        }),
      }),
    };
    const { messages } = await withAgent({ server, hooks, steps: [[add(1, 2)]], middleware }, (agent) =>
      agent.invoke(GO, THREAD),
    );
    expect(conversationFaults(messages)).toEqual([]);
    expect(messages.map(({ content }) => content)).toEqual(["go", "go", "own", "by command", "done"]);
  });

  it("continues after a hook interrupted one of two calls, and makes each call once", async () => {
    await using server = createServer();
    const hooks: Hooks = {
      beforeToolCall: ({ args }) => {
        const { a } = args as { a: number };
        return a === 1 ? { args: { a: interrupt(`May I add ${a}?`) } } : undefined;
      },
    };
    const steps = [[add(1, 2), add(3, 4)]];
    await withAgent({ server, hooks, steps, middleware }, async (agent) => {
      const first = await agent.invoke(GO, THREAD);
      expect(first.__interrupt__?.map(({ value }) => value)).toEqual(["May I add 1?"]);
      const { messages } = await agent.invoke(new Command({ resume: 10 }), THREAD);
      expect(conversationFaults(messages)).toEqual([]);
      expect(answers(messages)).toEqual([
        ["success", "12"],
        ["success", "7"],
      ]);
      expect(messages.at(-1)?.content).toBe("done");
    });
    expect(server.calls.length).toBe(2);
  });

  // LangChain removes the other calls of a message with a rejected one.
  it.each<[string, object[], unknown[][], number]>([
    [
      "approved one call and made another invalid",
      [{ type: "approve" }, { type: "edit", editedAction: { name: "add", args: { a: 30 } } }],
      [
        ["success", "3"],
        ["error", expect.stringContaining("$.b is required")],
      ],
      1,
    ],
    ["rejected a call", [{ type: "approve" }, { type: "reject", message: "No" }], [["error", "No"]], 0],
  ])("goes on after a human has %s", async (_what, decisions, expected, sent) => {
    await using server = createServer();
    const human = humanInTheLoopMiddleware({ interruptOn: { add: true } }) as Middleware;
    const steps = [[add(1, 2), add(3, 4)]];
    await withAgent({ server, steps, middleware: [...middleware, human] }, async (agent) => {
      const first = await agent.invoke(GO, THREAD);
      expect(first.__interrupt__?.length).toBe(1);
      expect(server.calls.length).toBe(0);
      const { messages } = await agent.invoke(new Command({ resume: { decisions } }), THREAD);
      expect(conversationFaults(messages)).toEqual([]);
      expect(answers(messages)).toEqual(expected);
      expect(messages.at(-1)?.content).toBe("done");
    });
    expect(server.calls.length).toBe(sent);
  });

  it("reports a failure to the model if failures are messages", async () => {
    await using server = createServer();
    const steps = [[{ name: "fail", args: {} }, add(1, 2)]];
    const hooks: Hooks = { toolErrors: "message", prefixToolNameWithServerName: false };
    const { messages } = await withAgent({ server, hooks, steps, middleware }, (agent) =>
      agent.invoke(GO, THREAD),
    );
    expect(conversationFaults(messages)).toEqual([]);
    expect(answers(messages)).toEqual([
      ["error", "no"],
      ["success", "3"],
    ]);
  });
});
