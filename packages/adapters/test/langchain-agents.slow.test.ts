/** Agents of LangChain and LangGraph with a scripted model, with servers over three transports, one of which is killed during the run. */
import { AIMessage, type BaseMessage, HumanMessage, ToolMessage } from "@langchain/core/messages";
import { fakeModel } from "@langchain/core/testing";
import { type DynamicStructuredTool, tool } from "@langchain/core/tools";
import { createReactAgent } from "@langchain/langgraph/prebuilt";
import { createAgent } from "langchain";
import { MultiServerMCPClient } from "toolport/langchain";
import { createTestServer } from "toolport/testing";
import { describe, expect, it } from "vitest";
import { waitFor } from "../../../test/support/wait-for.js";

interface Agent {
  invoke(input: { messages: BaseMessage[] }): Promise<{ messages: BaseMessage[] }>;
}

type Script = { name: string; args: Record<string, unknown> }[][];

/** Calls the tools of each step, then answers "done". */
function scripted(script: Script) {
  const model = fakeModel();
  for (const [step, calls] of script.entries()) {
    model.respondWithTools(calls.map((call, index) => ({ ...call, id: `call-${step}-${index}` })));
  }
  return model.respond(new AIMessage("done"));
}

const AGENTS: [string, (script: Script, tools: DynamicStructuredTool[]) => Agent][] = [
  ["createAgent", (script, tools) => createAgent({ model: scripted(script), tools }) as unknown as Agent],
  [
    "createReactAgent",
    (script, tools) => createReactAgent({ llm: scripted(script), tools }) as unknown as Agent,
  ],
];

async function startServers() {
  const math = createTestServer({
    tools: {
      add: {
        inputSchema: {
          type: "object",
          properties: { a: { type: "number" }, b: { type: "number" } },
          required: ["a", "b"],
        },
        handler: ({ a, b }) => String(Number(a) + Number(b)),
      },
    },
  });
  const camera = createTestServer({
    tools: { photo: { handler: () => [{ type: "image", data: "aW1n", mimeType: "image/png" }] } },
  });
  const notes = createTestServer({
    tools: {
      note: { handler: ({ text }) => `noted: ${text}` },
      fail: { handler: () => Promise.reject(new Error("no")) },
    },
  });
  const stdio = await math.stdio();
  return {
    stdio,
    math,
    mcpServers: {
      math: { command: stdio.command, args: [...stdio.args] },
      camera: { url: (await camera.http()).url },
      notes: { transport: "sse" as const, url: (await notes.sse()).url },
    },
    async [Symbol.asyncDispose]() {
      await Promise.all([math, camera, notes].map((server) => server.close()));
    },
  };
}

const toolMessages = (messages: BaseMessage[]) =>
  messages
    .filter((message) => ToolMessage.isInstance(message))
    .map(({ content, status }) => ({ content, status }));

describe.each(AGENTS)("%s", (_name, create) => {
  it("calls tools of three servers and gets an image", async () => {
    await using servers = await startServers();
    await using client = new MultiServerMCPClient({ mcpServers: servers.mcpServers });
    const agent = create(
      [
        [
          { name: "add", args: { a: 3, b: 5 } },
          { name: "photo", args: {} },
        ],
        [{ name: "note", args: { text: "8" } }],
      ],
      await client.getTools(),
    );
    const { messages } = await agent.invoke({ messages: [new HumanMessage("go")] });
    expect(toolMessages(messages)).toMatchObject([
      { content: "8", status: "success" },
      { content: [{ type: "image_url", image_url: { url: "data:image/png;base64,aW1n" } }] },
      { content: "noted: 8" },
    ]);
    expect(messages.at(-1)?.content).toBe("done");
  });

  it("completes if a server is killed between two steps", async () => {
    await using servers = await startServers();
    let starts = 0;
    await using client = new MultiServerMCPClient({
      mcpServers: servers.mcpServers,
      onInitialized: ({ server }) => {
        if (server === "math") starts += 1;
      },
    });
    const kill = tool(
      async () => {
        servers.stdio.dropConnections();
        await waitFor(() => starts === 2);
        return "killed";
      },
      { name: "kill", description: "Kills a server", schema: { type: "object", properties: {} } },
    );
    const agent = create(
      [
        [{ name: "add", args: { a: 1, b: 1 } }],
        [{ name: "kill", args: {} }],
        [{ name: "add", args: { a: 2, b: 2 } }],
      ],
      [...(await client.getTools()), kill as unknown as DynamicStructuredTool],
    );
    const { messages } = await agent.invoke({ messages: [new HumanMessage("go")] });
    expect(toolMessages(messages).map(({ content }) => content)).toEqual(["2", "killed", "4"]);
    expect(messages.at(-1)?.content).toBe("done");
    expect(servers.math.calls.length).toBe(2);
  });

  it("reports failed tools and invalid arguments to the model", async () => {
    await using servers = await startServers();
    await using client = new MultiServerMCPClient({ mcpServers: servers.mcpServers });
    const agent = create(
      [[{ name: "fail", args: {} }], [{ name: "add", args: { a: "one" } }]],
      await client.getTools(),
    );
    const { messages } = await agent.invoke({ messages: [new HumanMessage("go")] });
    expect(toolMessages(messages)).toMatchObject([
      { content: expect.stringContaining("returned an error: no"), status: "error" },
      { content: expect.stringContaining("$.b is required"), status: "error" },
    ]);
  });

  it("returns failures as answers if configured", async () => {
    await using servers = await startServers();
    await using client = new MultiServerMCPClient({ mcpServers: servers.mcpServers, toolErrors: "message" });
    const agent = create([[{ name: "fail", args: {} }]], await client.getTools());
    const { messages } = await agent.invoke({ messages: [new HumanMessage("go")] });
    expect(toolMessages(messages)).toEqual([{ content: "no", status: "error" }]);
  });
});
