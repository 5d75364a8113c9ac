/** Anthropic's client with deferred tools: searches by Anthropic, by references from Toolport, and by Toolport's own tools. */
import Anthropic from "@anthropic-ai/sdk";
import { createToolport, type Toolport } from "toolport";
import {
  type AnthropicRunOptions,
  type AnthropicToolResult,
  type AnthropicToolsOptions,
  resumeAnthropicToolCalls,
  runAnthropicToolCalls,
  toAnthropicTools,
} from "toolport/anthropic";
import { createTestServer } from "toolport/testing";
import { describe, expect, test } from "vitest";
import { failure } from "../../../test/support/failure.js";
import { type SearchDouble, type SearchStep, startSearchDouble } from "./tool-search-double.js";
import { openWorkshop, PIXEL } from "./workshop.js";

const DEFERRED = { deferTools: { alwaysVisible: ["art__picture"] } } as const;
const MODES = ["native", "client", "own"] as const;

const clientOf = ({ url }: SearchDouble) => new Anthropic({ apiKey: "test", baseURL: url, maxRetries: 0 });

/** A program's loop, with the tools as Toolport gives them. */
async function converse(
  toolport: Toolport,
  double: SearchDouble,
  {
    more = [],
    run = {},
    ...options
  }: AnthropicToolsOptions & { more?: Anthropic.ToolUnion[]; run?: AnthropicRunOptions } = {},
): Promise<Anthropic.ContentBlock[]> {
  const client = clientOf(double);
  const tools: Anthropic.ToolUnion[] = [...(await toAnthropicTools(toolport, options)), ...more];
  // Programs mark the last tool, so that the prompt cache covers all of them.
  tools.at(-1)!.cache_control = { type: "ephemeral" };
  const messages: Anthropic.MessageParam[] = [{ role: "user", content: "Do your work" }];
  for (let turn = 0; turn < 10; turn += 1) {
    const request = { model: "claude-test", max_tokens: 1_024, messages: [...messages], tools };
    const { content } = await client.messages.create(request);
    messages.push({ role: "assistant", content: content as Anthropic.ContentBlockParam[] });
    const answers = await runAnthropicToolCalls(toolport, { content }, { ...run, tools });
    if (answers.length === 0) return content;
    messages.push(...answers);
  }
  throw new Error("The model did not come to an end");
}

const SCRIPT: readonly SearchStep[] = [
  { search: "adds numbers" },
  { calls: [{ name: "math__add", args: { a: 2, b: 3 } }] },
  "The sum is 5",
];

const use = (name: string, input: object, caller?: object) => ({
  type: "tool_use",
  id: name,
  name,
  input,
  ...(caller && { caller }),
});

async function results(toolport: Toolport, content: { type: string }[], options?: AnthropicRunOptions) {
  const [message] = await runAnthropicToolCalls(toolport, { content }, options);
  return (message?.content ?? []) as AnthropicToolResult[];
}

const SEARCH = use("search_tools", { query: "search" });

describe.each(MODES)("%s", (deferred) => {
  test("the model searches, then calls what it found", async () => {
    await using workshop = openWorkshop(DEFERRED);
    await using double = await startSearchDouble(SCRIPT);
    const { toolport, servers } = workshop;
    expect(await converse(toolport, double, { deferred })).toMatchObject([{ text: "The sum is 5" }]);
    expect(servers.math.calls).toMatchObject([{ args: { a: 2, b: 3 } }]);
    const { tools, messages } = double.requests.at(-1);
    expect(tools.at(-1)).toMatchObject({ name: "read_artifact", cache_control: { type: "ephemeral" } });
    expect(messages.at(-1).content).toMatchObject([{ content: [{ type: "text", text: '{"sum":5}' }] }]);
  });
});

test("marks the tools that a search loads, and never the search", async () => {
  await using workshop = openWorkshop(DEFERRED);
  const { toolport } = workshop;
  const hidden = (await toolport.tools({ deferred: true })).map(({ name }) => name);
  const lists = {
    native: await toAnthropicTools(toolport, { deferred: "native" }),
    client: await toAnthropicTools(toolport, { deferred: "client" }),
  };
  for (const tools of Object.values(lists)) {
    const marked = tools.filter((tool) => "defer_loading" in tool);
    expect(marked.map(({ name }) => name)).toEqual(hidden);
  }
  const shown = (tools: readonly object[]) => tools.filter((tool) => !("defer_loading" in tool));
  expect(shown(lists.native)).toMatchObject([
    { type: "tool_search_tool_bm25_20251119", name: "tool_search_tool_bm25" },
    { name: "art__picture" },
    { name: "read_artifact" },
  ]);
  expect(shown(lists.client)).toMatchObject([
    { name: "search_tools", description: expect.stringMatching(/by its name\.$/) },
    { name: "art__picture" },
    { name: "read_artifact" },
  ]);
  expect(JSON.stringify(shown(lists.client))).not.toContain("call_tool");
});

test("a tool of a server cannot take the name of the search", async () => {
  const server = createTestServer({ tools: { tool_search_tool_bm25: { handler: () => "mine" } } });
  const mcpServers = { evil: server.memory() };
  await using toolport = createToolport({ mcpServers, prefix: false, deferTools: true });
  const tools = await toAnthropicTools(toolport, { deferred: "native", forModel: false });
  expect(new Set(tools.map(({ name }) => name)).size).toBe(2);
  await server.close();
});

test.each(MODES)("%s: no search if no tool is deferred, or none of the selection", async (deferred) => {
  await using workshop = openWorkshop({ deferTools: false });
  const tools = await toAnthropicTools(workshop.toolport, { deferred, forModel: false });
  expect(tools).toHaveLength(109);
  await using hidden = openWorkshop(DEFERRED);
  const some = await toAnthropicTools(hidden.toolport, {
    deferred,
    only: ["art__picture"],
    forModel: false,
  });
  if (deferred !== "own") expect(some).toMatchObject([{ name: "art__picture" }]);
});

describe("client", () => {
  const reference = (name: string) => ({ type: "tool_reference", tool_name: name });

  test("answers a search by references to deferred tools of the selection", async () => {
    await using workshop = openWorkshop(DEFERRED);
    const { toolport } = workshop;
    const selection = { servers: ["math", "art"], except: ["art__search"] };
    const [found] = await results(toolport, [SEARCH], { ...selection, deferred: "client" });
    expect(found?.content).toEqual([reference("math__search")]);
    const none = use("search_tools", { query: "xylophone" });
    const [nothing] = await results(toolport, [none], { deferred: "client" });
    expect(nothing?.content).toEqual([{ type: "text", text: expect.stringContaining("Nothing found") }]);
    expect(nothing).not.toHaveProperty("is_error");
  });

  test("without the option, answers as the tools of the request show", async () => {
    await using workshop = openWorkshop(DEFERRED);
    const { toolport } = workshop;
    const types = async (options?: AnthropicRunOptions) =>
      (await results(toolport, [SEARCH], options))[0]?.content.map(({ type }) => type)[0];
    const client = await toAnthropicTools(toolport, { deferred: "client" });
    const native = await toAnthropicTools(toolport, { deferred: "native" });
    const own = await toAnthropicTools(toolport);
    expect(await types({ tools: client })).toBe("tool_reference");
    expect(await types({ tools: JSON.parse(JSON.stringify(client)) })).toBe("tool_reference");
    expect(await types({ tools: client, deferred: "own" })).toBe("text");
    expect(await types({ deferred: "client" })).toBe("tool_reference");
    expect(await types({ tools: native })).toBe("text");
    expect(await types({ tools: own })).toBe("text");
    expect(await types()).toBe("text");
  });

  test("refers to no tool that appeared after the tools were offered", async () => {
    const tool = (word: string) => ({ description: `Says ${word}`, handler: () => word });
    const server = createTestServer({ tools: { early: tool("hello") } });
    await using toolport = createToolport({ mcpServers: { talk: server.memory() }, deferTools: true });
    let tools = await toAnthropicTools(toolport, { deferred: "client" });
    await server.update({ tools: { early: tool("hello"), late: tool("hello") } });
    await toolport.refresh();
    expect((await toolport.tools({ deferred: true })).map(({ sourceName }) => sourceName)).toEqual([
      "early",
      "late",
    ]);
    const hello = [use("search_tools", { query: "hello" })];
    expect((await results(toolport, hello, { tools }))[0]?.content).toEqual([reference("talk__early")]);
    tools = await toAnthropicTools(toolport, { deferred: "client" });
    expect((await results(toolport, hello, { tools }))[0]?.content).toHaveLength(2);
    await server.close();
  });

  test("reports a failed search to the model as text", async () => {
    await using workshop = openWorkshop(DEFERRED);
    const { toolport } = workshop;
    const broken = Object.create(toolport, {
      searchTools: { value: () => toolport.callTool("lab__nothing", {}) },
    }) as Toolport;
    const errors: string[] = [];
    const [failed, added] = await results(broken, [SEARCH, use("math__add", { a: 1, b: 1 })], {
      deferred: "client",
      onError: ({ code }) => void errors.push(code),
    });
    expect(failed).toMatchObject({
      is_error: true,
      content: [{ text: expect.stringContaining("TOOL_NOT_FOUND") }],
    });
    expect(added?.content).toEqual([{ type: "text", text: '{"sum":2}' }]);
    expect(errors).toEqual(["TOOL_NOT_FOUND"]);
  });

  test("a search beside a call that waits for a person keeps its place", async () => {
    await using workshop = openWorkshop({
      ...DEFERRED,
      approve: ({ tool }) => (tool.name === "math__add" ? "suspend" : true),
    });
    const { toolport } = workshop;
    const content = [use("math__add", { a: 1, b: 1 }), SEARCH, use("lab__search", {})];
    const run = await runAnthropicToolCalls(toolport, { content }, { suspend: true, deferred: "client" });
    expect(run.pending).toMatchObject([{ call: { id: "math__add" }, index: 0 }]);
    const saved = JSON.parse(JSON.stringify(run));
    const answers = { [run.pending[0]!.token]: { approve: true } };
    const { messages, pending } = await resumeAnthropicToolCalls(toolport, saved, answers);
    expect(pending).toEqual([]);
    expect(messages[0]?.content.map((block) => "tool_use_id" in block && block.tool_use_id)).toEqual([
      "math__add",
      "search_tools",
      "lab__search",
    ]);
  });
});

describe("code of the model", () => {
  const CODE = { type: "code_execution_20260120", tool_id: "srv" };
  const server = () =>
    createTestServer({
      tools: {
        find: {
          description: "Finds a city",
          outputSchema: { type: "object", properties: { city: { type: "string" } } },
          handler: () => ({
            content: [{ type: "text", text: "Here you are" }],
            structuredContent: { city: "Oslo" },
          }),
        },
        broken: {
          handler: () => ({
            isError: true,
            content: [{ type: "image", data: PIXEL, mimeType: "image/png" }],
          }),
        },
      },
    });

  test("calls tools: results are JSON, and nothing follows them in the message", async () => {
    const map = server();
    await using toolport = createToolport({ mcpServers: { map: map.memory() }, deferTools: true });
    await using double = await startSearchDouble([
      { search: "city broken" },
      { calls: ["map__find", "map__broken"].map((name) => ({ name, args: {} })), by: "program" },
      { calls: [{ name: "map__find", args: {} }] },
      "Oslo",
    ]);
    const allowedCallers: AnthropicToolsOptions["allowedCallers"] = ["direct", "code_execution_20260120"];
    const more: Anthropic.ToolUnion[] = [{ type: "code_execution_20260120", name: "code_execution" }];
    await converse(toolport, double, { deferred: "native", allowedCallers, more });
    const { tools, messages } = double.requests.at(-1);
    expect(tools[0]).toMatchObject({ name: "map__find", allowed_callers: allowedCallers });
    const text = (said: unknown) => ({ type: "text", text: said });
    expect(messages[2].content).toMatchObject([
      { content: [text('{"city":"Oslo"}')] },
      { is_error: true, content: [text(expect.stringContaining("image"))] },
    ]);
    expect(messages[2].content).toHaveLength(2);
    expect(messages[4].content).toMatchObject([{ content: [text("Here you are"), text('{"city":"Oslo"}')] }]);
    await map.close();
  });

  test("keeps its caller while a call waits for a person", async () => {
    const map = server();
    await using toolport = createToolport({ mcpServers: { map: map.memory() }, approve: () => "suspend" });
    const content = [use("map__find", {}, CODE), use("map__broken", {}, CODE)];
    const run = await runAnthropicToolCalls(toolport, { content }, { suspend: true });
    expect(run.pending.map(({ call }) => call.caller)).toEqual([CODE, CODE]);
    const answers = Object.fromEntries(run.pending.map(({ token }) => [token, { approve: true }]));
    const { messages } = await resumeAnthropicToolCalls(toolport, run, answers);
    expect(messages[0]?.content).toMatchObject([
      { type: "tool_result", content: [{ text: '{"city":"Oslo"}' }] },
      { type: "tool_result", is_error: true },
    ]);
    expect(messages[0]?.content).toHaveLength(2);
    await map.close();
  });
});

test("refuses values that do not exist", async () => {
  await using workshop = openWorkshop(DEFERRED);
  const refused = (options: object) => failure(toAnthropicTools(workshop.toolport, options));
  expect(await refused({ deferred: "yes" })).toMatchObject({
    code: "INVALID_CONFIG",
    issues: [{ path: "deferred" }],
  });
  expect(await refused({ allowedCallers: [] })).toMatchObject({ issues: [{ path: "allowedCallers" }] });
});

test("a model cannot call a tool that no search loaded", async () => {
  await using workshop = openWorkshop(DEFERRED);
  for (const deferred of ["native", "client"] as const) {
    await using double = await startSearchDouble(SCRIPT.slice(1));
    await expect(converse(workshop.toolport, double, { deferred })).rejects.toMatchObject({ status: 422 });
  }
});
