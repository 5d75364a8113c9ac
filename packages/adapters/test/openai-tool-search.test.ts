/** OpenAI's client with deferred tools: searches by OpenAI, by Toolport through OpenAI, and by Toolport's own tools. */
import OpenAI from "openai";
import { createToolport, type Toolport, type ToolportError } from "toolport";
import {
  type OpenAIResponsesOutput,
  type OpenAIRunOptions,
  type OpenAIToolsOptions,
  resumeOpenAIToolCalls,
  runOpenAIToolCalls,
  toOpenAITools,
} from "toolport/openai";
import { createTestServer } from "toolport/testing";
import { describe, expect, test } from "vitest";
import { failure } from "../../../test/support/failure.js";
import { type SearchDouble, type SearchStep, startSearchDouble } from "./tool-search-double.js";
import { openWorkshop } from "./workshop.js";

const DEFERRED = { deferTools: { alwaysVisible: ["art__picture"] } } as const;
const MODES = ["native", "client", "own"] as const;

const clientOf = ({ url }: SearchDouble) =>
  new OpenAI({ apiKey: "test", baseURL: `${url}/v1`, maxRetries: 0 });

/** A program's loop, with the tools as Toolport gives them. */
async function respond(
  toolport: Toolport,
  double: SearchDouble,
  {
    more = [],
    run = {},
    ...options
  }: Omit<OpenAIToolsOptions, "api"> & { more?: OpenAI.Responses.Tool[]; run?: OpenAIRunOptions } = {},
): Promise<string> {
  const client = clientOf(double);
  const tools = [...(await toOpenAITools(toolport, { ...options, api: "responses" })), ...more];
  const input: OpenAI.Responses.ResponseInput = [{ role: "user", content: "Do your work" }];
  for (let turn = 0; turn < 10; turn += 1) {
    const response = await client.responses.create({ model: "gpt-5.4", input: [...input], tools });
    input.push(...(response.output as OpenAI.Responses.ResponseInput));
    const outputs = await runOpenAIToolCalls(toolport, response, { ...run, tools });
    if (outputs.length === 0) return response.output_text;
    input.push(...outputs);
  }
  throw new Error("The model did not come to an end");
}

const SCRIPT: readonly SearchStep[] = [
  { search: "adds numbers" },
  { calls: [{ name: "math__add", args: { a: 2, b: 3 } }] },
  "The sum is 5",
];

/** What a scripted search answers, without a model. */
const search = (toolport: Toolport, args: unknown, options: OpenAIRunOptions = {}) =>
  runOpenAIToolCalls(
    toolport,
    [{ type: "tool_search_call", call_id: "s1", execution: "client", arguments: args } as { type: string }],
    { ...options, deferred: "client" },
  ) as Promise<Extract<OpenAIResponsesOutput, { type: "tool_search_output" }>[]>;

describe.each(MODES)("%s", (deferred) => {
  test.each([false, true])("the model searches, then calls what it found (strict: %s)", async (strict) => {
    await using workshop = openWorkshop(DEFERRED);
    await using double = await startSearchDouble(SCRIPT);
    const { toolport, servers } = workshop;
    expect(await respond(toolport, double, { deferred, strict })).toBe("The sum is 5");
    expect(servers.math.calls).toMatchObject([{ args: { a: 2, b: 3 } }]);
    const { tools, input } = double.requests.at(-1);
    // Tools that stay visible are plain functions in every mode.
    expect(tools.filter(({ name }: { name: string }) => name === "art__picture")).toEqual([
      expect.not.objectContaining({ defer_loading: true }),
    ]);
    expect(input.at(-1)).toMatchObject({ type: "function_call_output", output: '{"sum":5}' });
  });
});

test("native: one namespace for each server, split if it has many tools", async () => {
  await using workshop = openWorkshop(DEFERRED);
  const tools = await toOpenAITools(workshop.toolport, { api: "responses", deferred: "native" });
  expect(
    tools.map((tool) => (tool.type === "tool_search" ? tool : [tool.type, tool.name])).slice(0, 7),
  ).toEqual([
    ["function", "art__picture"],
    ["function", "read_artifact"],
    { type: "tool_search" },
    ["namespace", "math"],
    ["namespace", "lab"],
    ["namespace", "art"],
    ["namespace", "many"],
  ]);
  const spaces = tools.flatMap((tool) => (tool.type === "namespace" ? [tool] : []));
  const inside = spaces.flatMap((space) => space.tools);
  expect(inside.map(({ name }) => name).sort()).toEqual(
    (await workshop.toolport.tools({ deferred: true })).map(({ name }) => name).sort(),
  );
  expect(inside.every((tool) => tool.defer_loading === true && tool.type === "function")).toBe(true);
  expect(Math.max(...spaces.map((space) => space.tools.length))).toBeLessThan(10);
});

test.each(MODES)("%s: no search if no tool is deferred, or none of the selection", async (deferred) => {
  await using workshop = openWorkshop({ deferTools: { mode: "auto", above: 1_000_000 } });
  const all = await toOpenAITools(workshop.toolport, { api: "responses", deferred });
  expect(all.every(({ type }) => type === "function")).toBe(true);
  await using hidden = openWorkshop(DEFERRED);
  const some = await toOpenAITools(hidden.toolport, {
    api: "responses",
    deferred,
    only: ["art__picture"],
    forModel: false,
  });
  if (deferred !== "own") expect(some).toMatchObject([{ type: "function", name: "art__picture" }]);
});

test("client: the search tool says how to call what it finds", async () => {
  await using workshop = openWorkshop(DEFERRED);
  const tools = await toOpenAITools(workshop.toolport, { api: "responses", deferred: "client" });
  expect(tools).toEqual([
    expect.objectContaining({ name: "art__picture" }),
    expect.objectContaining({ name: "read_artifact" }),
    {
      type: "tool_search",
      execution: "client",
      description: expect.stringMatching(/math, lab, art, many.*by its name\.$/s),
      parameters: expect.objectContaining({ type: "object", required: ["query"] }),
    },
  ]);
  expect(JSON.stringify(tools)).not.toContain("call_tool");
});

test("client: finds only deferred tools of the selection, as toOpenAITools defines them", async () => {
  await using workshop = openWorkshop(DEFERRED);
  const { toolport } = workshop;
  const options = { strict: true, servers: ["math", "art"], except: ["art__search"] };
  const tools = await toOpenAITools(toolport, { ...options, api: "responses", deferred: "client" });
  const found = { ...options, strict: undefined, tools };
  const [answer] = await search(toolport, { query: "search picture add" }, found);
  expect(answer).toMatchObject({ type: "tool_search_output", call_id: "s1", status: "completed" });
  expect(answer?.tools.map(({ name, strict }) => [name, strict]).sort()).toEqual([
    ["math__add", true],
    ["math__search", false],
  ]);
  await using plain = openWorkshop();
  const native = await toOpenAITools(plain.toolport, {
    ...options,
    api: "responses",
    only: ["math__*"],
    forModel: false,
  });
  expect(answer?.tools).toEqual(
    expect.arrayContaining(native.map((tool) => ({ ...tool, defer_loading: true }))),
  );
});

test("client: limits the answer, and says that nothing was found", async () => {
  await using workshop = openWorkshop(DEFERRED);
  const { toolport } = workshop;
  const lengthOf = async (args: unknown) => (await search(toolport, args))[0]?.tools.length;
  expect(await lengthOf({ query: "tool" })).toBe(5);
  expect(await lengthOf({ query: "tool", limit: 7 })).toBe(7);
  expect(await lengthOf('{"query":"tool","limit":1000000}')).toBe(20);
  expect(await lengthOf({ query: "xylophone" })).toBe(0);
  expect(await lengthOf({})).toBe(0);
  expect(await lengthOf(undefined)).toBe(0);
});

test("client: the definitions of one answer have a limit, but the best match is whole", async () => {
  const large = { type: "object", properties: { text: { type: "string", description: "x".repeat(20_000) } } };
  const tool = { description: "Large", inputSchema: large, handler: () => "" };
  const server = createTestServer({ tools: { one: tool, two: tool, small: { ...tool, inputSchema: {} } } });
  await using toolport = createToolport({ mcpServers: { big: server.memory() }, deferTools: true });
  const [answer] = await search(toolport, { query: "large" });
  expect(answer?.tools.map(({ name }) => name)).toEqual(["big__one", "big__small"]);
  const [first] = await search(toolport, { query: "big__two" });
  expect(first?.tools[0]).toMatchObject({ name: "big__two", parameters: large });
  await server.close();
});

test("client: a failed search is reported, and the other calls have their results", async () => {
  await using workshop = openWorkshop(DEFERRED);
  const { toolport } = workshop;
  const errors: string[] = [];
  const onError = (error: ToolportError, { name }: { name: string }) =>
    void errors.push(`${name} ${error.code}`);
  const broken = Object.create(toolport, {
    searchTools: { value: () => toolport.callTool("lab__nothing", {}) },
  }) as Toolport;
  const items = [
    { type: "tool_search_call", call_id: "s1", execution: "client", arguments: "{nonsense" },
    { type: "tool_search_call", call_id: "s2", execution: "client", arguments: { query: "add" } },
    { type: "function_call", call_id: "c1", name: "math__add", arguments: '{"a":1,"b":1}' },
    { type: "tool_search_call", call_id: null, execution: "server", arguments: {} },
  ];
  const failed = { type: "tool_search_output", execution: "client", status: "incomplete", tools: [] };
  expect(await runOpenAIToolCalls(broken, items, { onError })).toEqual([
    { ...failed, call_id: "s1" },
    { ...failed, call_id: "s2" },
    { type: "function_call_output", call_id: "c1", output: '{"sum":2}' },
  ]);
  expect(errors.toSorted()).toEqual(["tool_search INVALID_ARGUMENTS", "tool_search TOOL_NOT_FOUND"]);
});

test("client: an abort ends the run", async () => {
  await using workshop = openWorkshop(DEFERRED);
  const reason = new Error("The user left");
  const signal = AbortSignal.abort(reason);
  await expect(search(workshop.toolport, { query: "add" }, { signal })).rejects.toBe(reason);
});

test("client: a search beside a call that waits for a person keeps its place", async () => {
  await using workshop = openWorkshop({
    ...DEFERRED,
    approve: ({ tool }) => (tool.name === "math__add" ? "suspend" : true),
  });
  const { toolport } = workshop;
  const items = [
    { type: "function_call", call_id: "c1", name: "math__add", arguments: '{"a":1,"b":1}' },
    { type: "tool_search_call", call_id: "s1", execution: "client", arguments: { query: "picture" } },
    { type: "function_call", call_id: "c2", name: "lab__search", arguments: "{}" },
  ];
  const run = await runOpenAIToolCalls(toolport, items, { suspend: { key: "r1" }, deferred: "client" });
  expect(run.messages.map(({ call_id: id }) => id)).toEqual(["s1", "c2"]);
  expect(run.pending).toMatchObject([{ call: { id: "c1" }, index: 0 }]);
  const saved: typeof run = JSON.parse(JSON.stringify(run));
  const done = await resumeOpenAIToolCalls(toolport, saved, { [run.pending[0]!.token]: { approve: true } });
  expect(done.messages.map(({ call_id: id }) => id)).toEqual(["c1", "s1", "c2"]);
  expect(done.pending).toEqual([]);
});

test("calls of hidden tools respect the selection and the schema that was offered", async () => {
  await using workshop = openWorkshop(DEFERRED);
  const { toolport, servers } = workshop;
  const only = ["math__*"];
  const tools = await toOpenAITools(toolport, {
    only,
    api: "responses",
    deferred: "native",
    strict: true,
  });
  const selection = { only, tools };
  const call = (name: string, args: object) => ({
    type: "function_call",
    call_id: name,
    name,
    namespace: "math",
    arguments: JSON.stringify(args),
  });
  const calls = [call("math__add", { a: 1, b: 2, round: null }), call("lab__search", {}), call("mine", {})];
  const [added, other, mine] = await runOpenAIToolCalls(toolport, calls, selection);
  expect(added?.output).toBe('{"sum":3}');
  expect(servers.math.calls[0]?.args).toEqual({ a: 1, b: 2 });
  expect([other?.output, mine?.output].every((text) => String(text).includes("TOOL_NOT_FOUND"))).toBe(true);
  expect(await runOpenAIToolCalls(toolport, calls, { ...selection, unknownTools: "skip" })).toHaveLength(1);
});

test("a program of the model calls tools: results are JSON, and the caller is given back", async () => {
  const outputSchema = { type: "object", properties: { city: { type: "string" } }, required: ["city"] };
  const server = createTestServer({
    tools: {
      find: {
        description: "Finds a city",
        outputSchema,
        handler: () => ({
          content: [{ type: "text", text: "Here you are" }],
          structuredContent: { city: "Oslo" },
        }),
      },
      other: { handler: () => "plain" },
    },
  });
  await using toolport = createToolport({ mcpServers: { map: server.memory() }, deferTools: true });
  await using double = await startSearchDouble([
    { search: "city" },
    { calls: [{ name: "map__find", args: {} }], by: "program" },
    { calls: [{ name: "map__find", args: {} }] },
    "Oslo",
  ]);
  const allowedCallers: OpenAIToolsOptions["allowedCallers"] = ({ sourceName }) =>
    sourceName === "find" ? ["direct", "programmatic"] : undefined;
  const more: OpenAI.Responses.Tool[] = [{ type: "programmatic_tool_calling" }];
  expect(await respond(toolport, double, { deferred: "native", allowedCallers, more })).toBe("Oslo");
  const { tools, input } = double.requests.at(-1);
  expect(tools.find(({ type }: { type: string }) => type === "namespace").tools).toMatchObject([
    { name: "map__find", allowed_callers: ["direct", "programmatic"], output_schema: outputSchema },
    expect.not.objectContaining({ allowed_callers: expect.anything() }),
  ]);
  const outputs = input.filter(({ type }: { type: string }) => type === "function_call_output");
  expect(outputs).toEqual([
    expect.objectContaining({
      output: '{"city":"Oslo"}',
      caller: { type: "program", caller_id: expect.any(String) },
    }),
    { type: "function_call_output", call_id: expect.any(String), output: 'Here you are\n{"city":"Oslo"}' },
  ]);
  // The same definitions come from a search that Toolport answers.
  const [found] = await search(toolport, { query: "city" }, { allowedCallers });
  expect(found?.tools[0]).toMatchObject({
    allowed_callers: ["direct", "programmatic"],
    output_schema: outputSchema,
  });
  await server.close();
});

test("a program gets a large result whole, also after a person approved the call; the model gets a part of it", async () => {
  const rows = Array.from({ length: 20_000 }, (_, index) => ({ index }));
  const server = createTestServer({ tools: { rows: { handler: () => ({ structuredContent: { rows } }) } } });
  const mcpServers = { data: server.memory() };
  await using toolport = createToolport({ mcpServers });
  const caller = { type: "program", caller_id: "p1" };
  const call = { type: "function_call", call_id: "c1", name: "data__rows", arguments: "{}" };
  const programs = [{ ...call, caller }];
  const [whole] = await runOpenAIToolCalls(toolport, programs);
  const [part] = await runOpenAIToolCalls(toolport, [call as { type: string }]);
  expect(JSON.parse(String(whole?.output))).toEqual({ rows });
  expect(String(part?.output).length).toBeLessThan(3_000);
  await using asking = createToolport({ mcpServers, approve: () => "suspend" });
  const run = await runOpenAIToolCalls(asking, programs, { suspend: true });
  const { messages } = await resumeOpenAIToolCalls(asking, run, {
    [run.pending[0]!.token]: { approve: true },
  });
  expect(messages).toEqual([whole]);
  await server.close();
});

test("refuses options that the chat API does not have, and values that do not exist", async () => {
  await using workshop = openWorkshop(DEFERRED);
  const { toolport } = workshop;
  const refused = async (options: object) =>
    failure(toOpenAITools(toolport, options as { api: "responses" }));
  for (const options of [{ deferred: "native" }, { deferred: "client" }, { allowedCallers: ["direct"] }])
    expect(await refused(options)).toMatchObject({
      code: "INVALID_CONFIG",
      message: expect.stringContaining("responses API"),
    });
  expect(await refused({ deferred: "nativ" })).toMatchObject({ issues: [{ path: "deferred" }] });
  for (const allowedCallers of [[], ["direct", ""], "direct", [1], () => []])
    expect(await refused({ api: "responses", allowedCallers })).toMatchObject({
      code: "INVALID_CONFIG",
      issues: [{ path: "allowedCallers" }],
    });
});

test("a model cannot call a tool that no search loaded", async () => {
  await using workshop = openWorkshop(DEFERRED);
  for (const deferred of ["native", "client"] as const) {
    await using double = await startSearchDouble(SCRIPT.slice(1));
    await expect(respond(workshop.toolport, double, { deferred })).rejects.toMatchObject({ status: 422 });
  }
});
