/** The context budget of an agent: a search instead of all tools, and results that fit, when its options ask for them. */
import { createOpenAI } from "@ai-sdk/openai";
import { estimateTokens } from "@toolport/base";
import { generateText, stepCountIs } from "ai";
import { Agent, McpClientManager, type McpClientManagerOptions } from "toolport/agents";
import { createTestServer, type TestTool } from "toolport/testing";
import { expect, test } from "vitest";
import { ISSUES, openLargeResults } from "./large-results-scene.js";
import { type LiveTurn, startModelDouble } from "./model-double.js";
import { LOOPS } from "./model-loops.js";

const { results, names, problems } = LOOPS["AI SDK"]!;

/** An agent with one server, named "GitHub". */
async function openAgent(options: McpClientManagerOptions) {
  const scene = openLargeResults();
  class Assistant extends Agent {
    override mcpOptions() {
      return options;
    }
  }
  const agent = new Assistant();
  const { entry } = await scene.server.http();
  await agent.addMcpServer("GitHub", entry.url as string);
  return {
    mcp: agent.mcp,
    async [Symbol.asyncDispose]() {
      await agent.mcp.close();
      await scene[Symbol.asyncDispose]();
    },
  };
}

async function ask(mcp: McpClientManager, url: string) {
  const model = createOpenAI({ apiKey: "test", baseURL: `${url}/v1` }).chat("gpt-5");
  const run = { model, tools: mcp.getAITools(), stopWhen: stepCountIs(5), prompt: "Who wrote issue 1234?" };
  const { text, steps } = await generateText(run);
  const outputs = steps.flatMap(({ toolResults }) =>
    toolResults.map(({ output }) => output as { text: string }),
  );
  return { text, lengths: outputs.map((output) => output.text.length) };
}

const idIn = (result = "") => /read_artifact with \{"id":"([\w-]+)"/.exec(result)?.[1];
const loginIn = (result = "") => `It was ${/"user.login":"(\w+)"/.exec(result)?.[1]}`;

test("forModel: big result, read_artifact, answer", async () => {
  await using agent = await openAgent({ forModel: {} });
  const shown = Object.keys(agent.mcp.getAITools());
  const list = shown.find((name) => name.endsWith("__list_issues"))!;
  await using double = await startModelDouble([
    [{ name: list, args: {} }],
    (request) => [
      {
        name: "read_artifact",
        args: { id: idIn(results(request)[0]), find: '"number":1234,', fields: ["user.login"] },
      },
    ],
    (request) => loginIn(results(request)[1]),
  ]);
  const { text, lengths } = await ask(agent.mcp, double.url);
  expect(text).toBe("It was user2");
  // The program gets everything.
  expect(lengths).toContain(ISSUES.length);
  expect(double.requests.flatMap(problems)).toEqual([]);
  for (const request of double.requests) expect(names(request)).toEqual(shown);
  expect(shown.at(-1)).toBe("read_artifact");
  expect(estimateTokens(results(double.requests.at(-1))[0]!)).toBeLessThan(450);
});

test("deferTools: search_tools, call_tool, read_artifact, answer", async () => {
  await using agent = await openAgent({ deferTools: true, forModel: { bytes: 100_000 } });
  const call: LiveTurn = (request) => {
    const { tools } = JSON.parse(results(request)[0]!) as { tools: { name: string }[] };
    return [{ name: "call_tool", args: { name: tools[0]!.name, arguments: {} } }];
  };
  const read: LiveTurn = (request) => [
    {
      name: "read_artifact",
      args: { id: idIn(results(request)[1]), from: 1_234, count: 1, fields: ["user.login"] },
    },
  ];
  await using double = await startModelDouble([
    [{ name: "search_tools", args: { query: "list issues" } }],
    call,
    read,
    (request) => loginIn(results(request)[2]),
  ]);
  const { text, lengths } = await ask(agent.mcp, double.url);
  expect(text).toBe("It was user2");
  expect(lengths).toContain(ISSUES.length);
  expect(double.requests.flatMap(problems)).toEqual([]);
  for (const request of double.requests)
    expect(names(request)).toEqual(["search_tools", "call_tool", "read_artifact"]);
  expect(estimateTokens(results(double.requests.at(-1)).join())).toBeLessThan(1_500);
  // The description names the server as the program did, not by its id.
  expect(agent.mcp.getAITools()["search_tools"]!.description).toContain("The tools come from: GitHub.");
});

test("tools that are always visible stand beside the search, and a disconnected server has neither", async () => {
  await using agent = await openAgent({ deferTools: { alwaysVisible: ["small"] } });
  const shown = Object.keys(agent.mcp.getAITools());
  expect(shown).toEqual(["search_tools", "call_tool", expect.stringMatching(/__small$/)]);
  await agent.mcp.closeAllConnections();
  expect(agent.mcp.getAITools()).toEqual({});
});

test("a wrong limit is named", async () => {
  await using mcp = new McpClientManager({ forModel: { bytes: 0 } });
  expect(() => mcp.getAITools()).toThrow(/forModel\.bytes/);
});

test("a tool for interfaces only is not offered to the model", async () => {
  const button = { handler: () => "", _meta: { ui: { visibility: ["app"] } } } as TestTool;
  await using server = createTestServer({ tools: { button, plain: { handler: () => "" } } });
  await using mcp = new McpClientManager();
  const { url } = await server.http();
  const { id } = await mcp.addServer("Clock", url);
  expect(Object.keys(mcp.getAITools())).toEqual([`${id}__plain`]);
});

test("resources and prompts are offered as tools, if the options say so", async () => {
  await using server = createTestServer({ resources: { "docs://index": { text: "one" } } });
  await using mcp = new McpClientManager({ resourcesAsTools: true });
  expect(mcp.getAITools()).toEqual({});
  await mcp.addServer("Docs", (await server.http()).url);
  const tools = mcp.getAITools();
  expect(Object.keys(tools)).toEqual(["list_resources", "read_resource"]);
  const list = tools["list_resources"]!.execute as unknown as (
    input: object,
    options: object,
  ) => Promise<{ text: string }>;
  expect((await list({}, { toolCallId: "1", messages: [] })).text).toContain("docs://index");
});
