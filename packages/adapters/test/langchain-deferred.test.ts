/** Deferred tools in LangChain: agents with `providerToolSearchMiddleware`, what reaches the provider, and a scripted model. */
import { ChatAnthropic } from "@langchain/anthropic";
import { ChatOpenAI } from "@langchain/openai";
import { createAgent, providerToolSearchMiddleware, type ToolMessage } from "langchain";
import { toLangChainTools } from "toolport/langchain";
import { describe, expect, test } from "vitest";
import { failure } from "../../../test/support/failure.js";
import { openDeferred } from "./deferred-servers.js";
import { createSearchDouble, type SearchDouble } from "./search-double.js";
import type { Body, SearchTurn } from "./search-turns.js";

const FORECAST = { call: "weather__forecast", args: { city: "Oslo" } };
const SCRIPT: SearchTurn[] = [{ search: "weather forecast" }, FORECAST, "Take an umbrella"];
const QUESTION = { messages: [{ role: "user" as const, content: "Will it rain in Oslo?" }] };

const openaiAt = ({ fetch }: SearchDouble) =>
  new ChatOpenAI({ model: "gpt-5.4", apiKey: "test", maxRetries: 0, configuration: { fetch } });
const anthropicAt = ({ fetch }: SearchDouble) =>
  new ChatAnthropic({ model: "claude-sonnet-4-5", apiKey: "test", maxRetries: 0, clientOptions: { fetch } });

const namesOf = (tools: Body[]) =>
  tools.map(({ name, type, defer_loading }) => [name ?? type, defer_loading]);

describe("native", () => {
  test.each([
    ["OpenAI", openaiAt, "tool_search"],
    ["Anthropic", anthropicAt, "tool_search_tool_bm25"],
  ] as const)("the search of %s finds the tool", async (_provider, modelAt, search) => {
    await using servers = openDeferred();
    const double = createSearchDouble(SCRIPT);
    const agent = createAgent({
      model: modelAt(double),
      tools: await toLangChainTools(servers.toolport, { deferred: "native", forModel: false }),
      middleware: [providerToolSearchMiddleware()],
    });
    const { messages } = await agent.invoke(QUESTION);
    expect(messages.at(-1)?.text).toBe("Take an umbrella");
    expect(messages.filter(({ type }) => type === "tool")).toMatchObject([
      { name: "weather__forecast", content: "Rain in Oslo" },
    ]);
    for (const { tools } of double.requests)
      expect(namesOf(tools)).toEqual([
        ["mail__inbox", undefined],
        ["weather__forecast", true],
        ["weather__history", true],
        ["mail__send", true],
        [search, undefined],
      ]);
    expect(servers.weather.calls).toMatchObject([{ name: "forecast", args: { city: "Oslo" } }]);
  });

  test("searchableTools defers further tools", async () => {
    await using servers = openDeferred({ deferTools: false });
    const double = createSearchDouble(SCRIPT);
    const tools = await toLangChainTools(servers.toolport, { deferred: "native", forModel: false });
    expect(tools.every(({ extras }) => extras === undefined)).toBe(true);
    const searchableTools = tools.filter(({ name }) => name.startsWith("weather__"));
    const middleware = [providerToolSearchMiddleware({ searchableTools })];
    const agent = createAgent({ model: anthropicAt(double), tools, middleware });
    await agent.invoke(QUESTION);
    expect(namesOf(double.requests[0].tools)).toContainEqual(["weather__forecast", true]);
  });

  test("a selection applies to deferred tools too; all offers everything", async () => {
    await using servers = openDeferred();
    const { toolport } = servers;
    const list = async (options: object) =>
      (await toLangChainTools(toolport, { deferred: "native", forModel: false, ...options })).map(
        ({ name }) => name,
      );
    expect(await list({ servers: ["mail"] })).toEqual(["mail__inbox", "mail__send"]);
    expect(await list({ except: ["history"] })).toEqual(["mail__inbox", "weather__forecast", "mail__send"]);
    expect((await list({ all: true })).sort()).toEqual(
      (await toolport.tools({ all: true })).map(({ name }) => name).sort(),
    );
  });
});

test("own: the agent searches and calls through the two tools of Toolport", async () => {
  await using servers = openDeferred();
  const double = createSearchDouble([
    { call: "search_tools", args: { query: "forecast" } },
    { call: "call_tool", args: { name: FORECAST.call, arguments: FORECAST.args } },
    "Take an umbrella",
  ]);
  const agent = createAgent({
    model: anthropicAt(double),
    tools: await toLangChainTools(servers.toolport, { forModel: false }),
  });
  const { messages } = await agent.invoke(QUESTION);
  expect(messages.at(-1)?.text).toBe("Take an umbrella");
  expect((messages.at(-2) as ToolMessage).content).toBe("Rain in Oslo");
  expect(namesOf(double.requests[0].tools)).toEqual([
    ["search_tools", undefined],
    ["call_tool", undefined],
    ["mail__inbox", undefined],
  ]);
});

test("allowedCallers reaches Anthropic, and a program's call keeps its caller", async () => {
  await using servers = openDeferred();
  const double = createSearchDouble([
    { search: "forecast" },
    { ...FORECAST, caller: "code_execution_20260120" },
    "Take an umbrella",
  ]);
  const tools = await toLangChainTools(servers.toolport, {
    deferred: "native",
    forModel: false,
    allowedCallers: ({ server }) => (server === "weather" ? ["code_execution_20260120"] : undefined),
  });
  const middleware = [providerToolSearchMiddleware()];
  const { messages } = await createAgent({ model: anthropicAt(double), tools, middleware }).invoke(QUESTION);
  expect(messages.at(-1)?.text).toBe("Take an umbrella");
  const callers = double.requests[0].tools.map(({ name, allowed_callers }: Body) => [name, allowed_callers]);
  expect(callers).toContainEqual(["weather__forecast", ["code_execution_20260120"]]);
  expect(callers).toContainEqual(["mail__inbox", undefined]);
});

test("an unknown value is a ConfigError; `@langchain/anthropic` passes no tool references on, so there is no client search", async () => {
  await using servers = openDeferred();
  const error = await failure(toLangChainTools(servers.toolport, { deferred: "client" as never }));
  expect(error).toMatchObject({
    name: "ConfigError",
    message: expect.stringContaining("deferred: must be one of own, native"),
  });
});
