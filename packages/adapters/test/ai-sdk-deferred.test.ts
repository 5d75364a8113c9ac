/** Deferred tools in the AI SDK: what reaches the provider, and a scripted model that searches for a tool and calls it. */
import { type AnthropicToolOptions, createAnthropic } from "@ai-sdk/anthropic";
import { createOpenAI, type OpenAIToolOptions } from "@ai-sdk/openai";
import { generateText, stepCountIs, type ToolResultPart, type ToolSet } from "ai";
import { toAiSdkToolSearch, toAiSdkTools } from "toolport/ai-sdk";
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { failure } from "../../../test/support/failure.js";
import { openDeferred } from "./deferred-servers.js";
import { createSearchDouble, type SearchDouble } from "./search-double.js";
import type { Body, SearchTurn } from "./search-turns.js";

const PROMPT = { prompt: "Will it rain in Oslo?", stopWhen: stepCountIs(5), maxRetries: 0 };
const FORECAST = { call: "weather__forecast", args: { city: "Oslo" } };
const SCRIPT: SearchTurn[] = [{ search: "weather forecast" }, FORECAST, "Take an umbrella"];

const openaiAt = ({ fetch }: SearchDouble) => createOpenAI({ apiKey: "test", fetch });
const anthropicAt = ({ fetch }: SearchDouble) => createAnthropic({ apiKey: "test", fetch });

/** Two copies of `@ai-sdk/provider-utils` are installed here, so the types of Anthropic's tools do not match those of `ai`. */
const run = (provider: ReturnType<typeof openaiAt> | ReturnType<typeof anthropicAt>, tools: object) =>
  generateText({ model: provider("claude-sonnet-4-5"), tools: tools as ToolSet, ...PROMPT });

const WEATHER = { name: "weather", description: "Weather of the whole world." };

describe("native", () => {
  test.each([true, false])(
    "OpenAI gets one namespace for each server, and its search finds the tool (store: %s)",
    async (store) => {
      await using servers = openDeferred();
      const double = createSearchDouble(SCRIPT);
      const provider = openaiAt(double);
      const tools = {
        ...(await toAiSdkTools(servers.toolport, { deferred: "native", forModel: false })),
        tool_search: provider.tools.toolSearch(),
      };
      const options = {
        model: provider("gpt-5.4"),
        tools,
        ...PROMPT,
        providerOptions: { openai: { store } },
      };
      const { text, steps } = await generateText(options);
      expect(text).toBe("Take an umbrella");
      expect(steps.flatMap(({ toolResults }) => toolResults.map(({ toolName }) => toolName))).toEqual([
        "tool_search",
        "weather__forecast",
      ]);
      const [first] = double.requests;
      expect(first.tools).toMatchObject([
        { type: "function", name: "mail__inbox" },
        {
          type: "namespace",
          ...WEATHER,
          tools: [
            { type: "function", name: "weather__forecast", defer_loading: true },
            { type: "function", name: "weather__history", defer_loading: true },
          ],
        },
        { type: "namespace", name: "mail", tools: [{ name: "mail__send", defer_loading: true }] },
        { type: "tool_search" },
      ]);
      expect(first.tools[0]).not.toHaveProperty("defer_loading");
      expect(servers.weather.calls).toMatchObject([{ name: "forecast", args: { city: "Oslo" } }]);
    },
  );

  test("Anthropic gets deferred tools, and its search finds the tool", async () => {
    await using servers = openDeferred();
    const double = createSearchDouble(SCRIPT);
    const provider = anthropicAt(double);
    const { text } = await run(provider, {
      ...(await toAiSdkTools(servers.toolport, { deferred: "native", forModel: false })),
      search: provider.tools.toolSearchBm25_20251119(),
    });
    expect(text).toBe("Take an umbrella");
    expect(double.requests[0].tools.map(({ name, defer_loading }: Body) => [name, defer_loading])).toEqual([
      ["mail__inbox", undefined],
      ["weather__forecast", true],
      ["weather__history", true],
      ["mail__send", true],
      ["tool_search_tool_bm25", undefined],
    ]);
    expect(servers.weather.calls).toHaveLength(1);
  });

  test("without a search beside them, the provider's refusal reaches the program", async () => {
    await using servers = openDeferred();
    const double = createSearchDouble(SCRIPT);
    const tools = await toAiSdkTools(servers.toolport, { deferred: "native", forModel: false });
    const error = await failure(run(openaiAt(double), tools));
    expect(String(error)).toContain("defer_loading needs a tool_search");
  });

  test("with nothing deferred, the tools are as ever", async () => {
    await using servers = openDeferred({ deferTools: false });
    const plain = await toAiSdkTools(servers.toolport, { forModel: false });
    for (const deferred of ["native", "client"] as const) {
      const tools = await toAiSdkTools(servers.toolport, { deferred, forModel: false });
      expect(Object.keys(tools)).toEqual(Object.keys(plain));
      expect(Object.values(tools).every(({ providerOptions }) => providerOptions === undefined)).toBe(true);
    }
  });

  test("a tool that is deferred between the two lists is offered once", async () => {
    await using servers = openDeferred({ deferTools: false });
    const { toolport } = servers;
    const moved = await toolport.tools();
    const changing = { ...toolport, tools: async () => moved };
    const double = createSearchDouble(["Fine"]);
    const provider = openaiAt(double);
    const tools = await toAiSdkTools(changing, { deferred: "native", forModel: false });
    expect(Object.keys(tools)).toEqual(moved.map(({ name }) => name));
    const { text } = await run(provider, { ...tools, tool_search: provider.tools.toolSearch() });
    expect(text).toBe("Fine");
  });

  test("a selection applies to deferred tools too, and typed tools may be deferred", async () => {
    await using servers = openDeferred();
    const some = await toAiSdkTools(servers.toolport, {
      deferred: "native",
      forModel: false,
      servers: ["mail"],
    });
    expect(Object.keys(some)).toEqual(["mail__inbox", "mail__send"]);
    const typed = await toAiSdkTools(servers.toolport, {
      deferred: "native",
      forModel: false,
      schemas: { weather__forecast: { inputSchema: z.object({ city: z.string() }) } },
    });
    expect(Object.keys(typed)).toEqual(["weather__forecast"]);
    expect(typed.weather__forecast.providerOptions).toMatchObject({ openai: { namespace: WEATHER } });
  });
});

describe("client", () => {
  test("Anthropic gets references to what Toolport's index finds", async () => {
    await using servers = openDeferred();
    const double = createSearchDouble(SCRIPT);
    const { text, steps } = await run(
      anthropicAt(double),
      await toAiSdkTools(servers.toolport, { deferred: "client", forModel: false }),
    );
    expect(text).toBe("Take an umbrella");
    const [first, second] = double.requests;
    expect(first.tools.map(({ name, defer_loading }: Body) => [name, defer_loading])).toEqual([
      ["search_tools", undefined],
      ["mail__inbox", undefined],
      ["weather__forecast", true],
      ["weather__history", true],
      ["mail__send", true],
    ]);
    expect(first.tools[0].description).toMatch(/come from: weather, mail\..* by its name/);
    expect(second.messages.at(-1).content[0].content).toEqual([
      { type: "tool_reference", tool_name: "weather__forecast" },
      { type: "tool_reference", tool_name: "weather__history" },
    ]);
    expect(steps[0]?.toolResults[0]?.output).toMatchObject({
      server: "toolport",
      structuredContent: { tools: [{ name: "weather__forecast" }, { name: "weather__history" }] },
    });
  });

  test("finds only tools of the selection, and says so when there are none", async () => {
    await using servers = openDeferred();
    const double = createSearchDouble([{ search: "forecast" }, { search: "" }, "Sorry"]);
    const tools = await toAiSdkTools(servers.toolport, {
      deferred: "client",
      forModel: false,
      except: ["forecast", "history"],
    });
    const { text } = await run(anthropicAt(double), tools);
    expect(text).toBe("Sorry");
    const answers = double.requests.at(-1).messages.flatMap(({ content }: Body) => content);
    expect(answers.filter(({ type }: Body) => type === "tool_result")).toMatchObject([
      { content: "Nothing found. Try other words." },
      { content: "Nothing found. Try other words." },
    ]);
  });

  test("names no tool that is not offered any more, which Anthropic would reject", async () => {
    await using servers = openDeferred();
    const { search_tools: search } = await toAiSdkTools(servers.toolport, {
      deferred: "client",
      forModel: false,
    });
    const execution = { toolCallId: "1", messages: [] };
    const output = await search!.execute!({ query: "weather forecast" }, execution);
    const { search_tools: later } = await toAiSdkTools(servers.toolport, {
      deferred: "client",
      forModel: false,
      except: ["weather__*"],
    });
    // A chat that was saved and loaded again.
    const given = { toolCallId: "1", input: {}, output: JSON.parse(JSON.stringify(output)) };
    expect(await later!.toModelOutput!(given)).toEqual({
      type: "text",
      value: "These tools are not offered any more.",
    });
    for (const broken of [undefined, null, 1, {}, { structuredContent: { tools: [null, { name: 1 }] } }])
      expect(await later!.toModelOutput!({ ...given, output: broken })).toMatchObject({ type: "text" });
  });

  test("an aborted search ends the run", async () => {
    await using servers = openDeferred();
    const { search_tools: search } = await toAiSdkTools(servers.toolport, {
      deferred: "client",
      forModel: false,
    });
    const stop = AbortSignal.abort(new Error("Enough"));
    const execution = { toolCallId: "1", messages: [], abortSignal: stop };
    await expect(search!.execute!({ query: "mail" }, execution)).rejects.toThrow("Enough");
  });

  test.each([true, false])("OpenAI's models search through toAiSdkToolSearch (store: %s)", async (store) => {
    await using servers = openDeferred();
    const double = createSearchDouble(SCRIPT);
    const provider = openaiAt(double);
    const tools = {
      ...(await toAiSdkTools(servers.toolport, { deferred: "native", forModel: false })),
      tool_search: provider.tools.toolSearch(await toAiSdkToolSearch(servers.toolport)),
    };
    const options = { model: provider("gpt-5.4"), tools, ...PROMPT, providerOptions: { openai: { store } } };
    const { text } = await generateText(options);
    expect(text).toBe("Take an umbrella");
    expect(double.requests[0].tools.at(-1)).toMatchObject({
      type: "tool_search",
      execution: "client",
      description: expect.stringContaining("weather, mail"),
      parameters: { required: ["query"] },
    });
    const answer = double.requests[1].input.find(({ type }: Body) => type === "tool_search_output");
    // Exactly what the request defines, so that both describe the same functions.
    expect(answer.tools).toEqual([double.requests[0].tools[1]]);
    expect(servers.weather.calls).toHaveLength(1);
  });

  test("a search that fails finds nothing, because OpenAI accepts no error", async () => {
    await using servers = openDeferred();
    const { execute } = await toAiSdkToolSearch(servers.toolport);
    expect((await execute({ arguments: '{"query":"mail"}' })).tools).toMatchObject([{ name: "mail" }]);
    expect(await execute({ arguments: "forecast" })).toMatchObject({ tools: [{ name: "weather" }] });
    expect(await execute({})).toEqual({ tools: [] });
    await servers.toolport.close();
    expect(await execute({ arguments: { query: "mail" } })).toEqual({ tools: [] });
  });
});

describe("own", () => {
  test("the model searches and calls through the two tools of Toolport", async () => {
    await using servers = openDeferred();
    const double = createSearchDouble([
      { call: "search_tools", args: { query: "forecast" } },
      { call: "call_tool", args: { name: FORECAST.call, arguments: FORECAST.args } },
      "Take an umbrella",
    ]);
    const tools = await toAiSdkTools(servers.toolport, { deferred: "own", forModel: false });
    const { text } = await run(openaiAt(double), tools);
    expect(text).toBe("Take an umbrella");
    expect(double.requests[0].tools.map(({ name }: Body) => name).slice(0, 3)).toEqual([
      "search_tools",
      "call_tool",
      "mail__inbox",
    ]);
    expect(servers.weather.calls).toHaveLength(1);
  });
});

describe("allowedCallers", () => {
  test("each provider gets the names that it knows, and a program's call keeps its caller", async () => {
    await using servers = openDeferred();
    const double = createSearchDouble([
      { search: "forecast" },
      { ...FORECAST, caller: "code_execution_20250825" },
      "Take an umbrella",
    ]);
    const provider = anthropicAt(double);
    const tools = await toAiSdkTools(servers.toolport, {
      deferred: "native",
      forModel: false,
      allowedCallers: ({ server }) =>
        server === "weather" ? ["code_execution_20250825", "programmatic"] : undefined,
    });
    expect(tools["weather__forecast"]?.providerOptions).toMatchObject({
      openai: { deferLoading: true, allowedCallers: ["programmatic"], outputSchema: { type: "object" } },
      anthropic: { deferLoading: true, allowedCallers: ["code_execution_20250825"] },
    });
    expect(tools["mail__inbox"]?.providerOptions).toBeUndefined();
    const { text } = await run(provider, { ...tools, search: provider.tools.toolSearchBm25_20251119() });
    expect(text).toBe("Take an umbrella");
    const forecast = double.requests[0].tools.find(({ name }: Body) => name === "weather__forecast");
    expect(forecast.allowed_callers).toEqual(["code_execution_20250825"]);
    expect(double.betas[0]).toContain("advanced-tool-use-2025-11-20");
  });

  test("works without deferral, for all tools", async () => {
    await using servers = openDeferred({ deferTools: false });
    const tools = await toAiSdkTools(servers.toolport, { allowedCallers: ["direct", "programmatic"] });
    expect(tools["mail__send"]?.providerOptions).toEqual({
      openai: { allowedCallers: ["direct", "programmatic"] },
      anthropic: { allowedCallers: ["direct"] },
    });
  });
});

test("every shape has the type of the SDKs", async () => {
  await using servers = openDeferred();
  const openai = { deferLoading: true, namespace: WEATHER } satisfies OpenAIToolOptions;
  const anthropic = {
    deferLoading: true,
    allowedCallers: ["direct", "code_execution_20260120"],
  } satisfies AnthropicToolOptions;
  const tools = await toAiSdkTools(servers.toolport, {
    deferred: "native",
    forModel: false,
    allowedCallers: ["direct", "code_execution_20260120"],
  });
  // `allowedCallers` for OpenAI has a type from version 4 on: see ai-sdk-7.slow.test.ts.
  expect(tools["weather__forecast"]?.providerOptions).toEqual({
    openai: { ...openai, allowedCallers: ["direct"] },
    anthropic,
  });
  const { search_tools: search } = await toAiSdkTools(servers.toolport, {
    deferred: "client",
    forModel: false,
  });
  const reference = { type: "tool-reference", toolName: "mail__send" };
  const expected: ToolResultPart["output"] = {
    type: "content",
    value: [{ type: "custom", providerOptions: { anthropic: reference } }],
  };
  const output = await search!.execute!({ query: "send" }, { toolCallId: "1", messages: [] });
  expect(await search!.toModelOutput!({ toolCallId: "1", input: {}, output })).toEqual(expected);
});

test.each([
  [{ deferred: "nativ" }, "must be one of own, native, client, sdk"],
  [{ deferred: "sdk", forModel: false }, "Install ai 7.0.104 or later"],
])("%j is a ConfigError", async (options, message) => {
  await using servers = openDeferred();
  expect(await failure(toAiSdkTools(servers.toolport, options as never))).toMatchObject({
    name: "ConfigError",
    message: expect.stringContaining(message),
  });
});
