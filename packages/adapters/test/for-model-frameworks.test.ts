/** `forModel` in frameworks, for calls that waited for a person, and in the drop-in replacements, which have no limit. */
import { MemorySaver } from "@langchain/langgraph";
import { generateText, type ModelMessage, stepCountIs } from "ai";
import { isSuspended } from "toolport";
import { Agent } from "toolport/agents";
import { hasSuspended, resumeMessages, toAiSdkTools } from "toolport/ai-sdk";
import { loadMcpTools, MultiServerMCPClient, toLangChainTools } from "toolport/langchain";
import { resumeOpenAIToolCalls, runOpenAIToolCalls } from "toolport/openai";
import { describe, expect, test, vi } from "vitest";
import { failure } from "../../../test/support/failure.js";
import { Conversation, createGraph } from "../../../test/suspend/langgraph-graphs.js";
import { scriptedAiSdkModel } from "./ai-sdk-model.js";
import { ISSUES, openLargeResults } from "./large-results-scene.js";

const answerWith = (name: string, args: object = {}) => ({
  tool_calls: [{ id: "1", type: "function" as const, function: { name, arguments: JSON.stringify(args) } }],
});

const idIn = (text: string): string => /read_artifact with \{"id":"([\w-]+)"/.exec(text)?.[1] ?? "none";

describe("calls that waited for a person", () => {
  const approve = { when: "always" } as const;

  test("of a provider's loop", async () => {
    await using scene = openLargeResults({ approve });
    const run = await runOpenAIToolCalls(scene.toolport, answerWith("github__list_issues"), {
      suspend: true,
    });
    const answers = { [run.pending[0]!.token]: { approve: true } };
    const { messages } = await resumeOpenAIToolCalls(scene.toolport, run, answers);
    const { content } = messages[0] as { content: string };
    expect(content.length).toBeLessThan(2_000);
    expect(await scene.toolport.callTool("read_artifact", { id: idIn(content) })).toMatchObject({
      isError: false,
    });
  });

  test("of the AI SDK", async () => {
    await using scene = openLargeResults({ approve });
    const model = scriptedAiSdkModel([[{ name: "github__list_issues", args: {} }], "never"]);
    const tools = await toAiSdkTools(scene.toolport, { suspend: true });
    const stopWhen = [hasSuspended(), stepCountIs(3)];
    const { response, toolResults } = await generateText({ model, tools, stopWhen, prompt: "List" });
    const { output } = toolResults[0]!;
    if (!isSuspended(output)) throw new Error("The call did not wait");
    const answers = { [output.token]: { approve: true } };
    const resume = (forModel?: false) =>
      resumeMessages<ModelMessage>(
        scene.toolport,
        response.messages,
        answers,
        forModel === false ? { forModel } : {},
      );
    const { messages } = await resume();
    const text = JSON.stringify(messages);
    expect(text.length).toBeLessThan(3_000);
    const [, id] = /read_artifact with \{\\"id\\":\\"([\w-]+)/.exec(text) ?? [];
    expect(await scene.toolport.callTool("read_artifact", { id })).toMatchObject({ isError: false });
  });

  test("of a graph", async () => {
    await using scene = openLargeResults({ approve });
    const tools = await toLangChainTools(scene.toolport, { approval: "interrupt" });
    const script = [{ name: "github__list_issues", args: {} }];
    const graph = createGraph("ToolNode", { script, tools, checkpointer: new MemorySaver() });
    const talk = await new Conversation(graph).start();
    await talk.answer({ [talk.calls[0]!.token]: { approve: true } });
    const messages = talk.state!.messages;
    const message = messages.find((each) => each.getType() === "tool") as unknown as {
      content: string;
      artifact: { text: string }[];
    };
    expect(message.content.length).toBeLessThan(2_000);
    expect(message.artifact[0]!.text === ISSUES).toBe(true);
  });
});

test("the AI SDK converts outputs again in every step, from copies: the text is the same, and nothing is parsed again", async () => {
  await using scene = openLargeResults();
  const tools = await toAiSdkTools(scene.toolport);
  const convert = tools["github__list_issues"]!.toModelOutput as unknown as (given: object) => object;
  const output = await scene.toolport.callTool("github__list_issues");
  const first = convert({ input: {}, output });
  const parse = vi.spyOn(JSON, "parse");
  try {
    expect(convert({ input: {}, output: structuredClone(output) })).toEqual(first);
    expect(parse).not.toHaveBeenCalled();
  } finally {
    parse.mockRestore();
  }
});

describe("LangChain", () => {
  test("the message of an exception is cut too; the exception has everything", async () => {
    await using scene = openLargeResults();
    const fail = (await toLangChainTools(scene.toolport)).find(({ name }) => name === "github__fail");
    const error = await failure<Error & { content: { text: string }[] }>(fail!.invoke({}));
    expect(error.message.length).toBeLessThan(2_000);
    expect(error.message).toContain("read_artifact with");
    expect(error.content[0]!.text === ISSUES).toBe(true);
  });

  test("the drop-in replacements cut nothing and offer nothing", async () => {
    await using scene = openLargeResults();
    const { entry } = await scene.server.http();
    const client = new MultiServerMCPClient({ mcpServers: { github: { url: entry.url as string } } });
    const tools = await client.getTools();
    expect(tools.map(({ name }) => name)).not.toContain("read_artifact");
    const content = await tools.find(({ name }) => name === "list_issues")!.invoke({});
    expect(content === ISSUES).toBe(true);
    await client.close();
    const loaded = await loadMcpTools("github", {
      listTools: async () => ({ tools: [{ name: "list_issues", inputSchema: { type: "object" } }] }),
      callTool: async () => ({ content: [{ type: "text", text: ISSUES }] }),
    });
    expect(loaded.map(({ name }) => name)).toEqual(["list_issues"]);
    expect((await loaded[0]!.invoke({})) === ISSUES).toBe(true);
  });
});

test("the tools of an agent are not limited either", async () => {
  await using scene = openLargeResults();
  const { entry } = await scene.server.http();
  const agent = new Agent();
  try {
    await agent.addMcpServer("GitHub", entry.url as string);
    const tools = agent.mcp.getAITools();
    expect(Object.keys(tools)).not.toContain("read_artifact");
    const name = Object.keys(tools).find((each) => each.endsWith("list_issues"))!;
    const convert = tools[name]!.toModelOutput as unknown as (given: object) => { value: string };
    const output = await scene.toolport.callTool("github__list_issues");
    expect(convert({ input: {}, output }).value === ISSUES).toBe(true);
  } finally {
    await agent.mcp.close();
  }
});
