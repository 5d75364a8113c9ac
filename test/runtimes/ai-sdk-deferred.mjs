/** Run by packages/adapters/test/ai-sdk-7.slow.test.ts beside version 7 of the AI SDK: every way to reach deferred tools, on the wire. */
import assert from "node:assert/strict";
import { createAnthropic } from "@ai-sdk/anthropic";
import { createOpenAI } from "@ai-sdk/openai";
import { generateText, isStepCount } from "ai";
import { createToolport } from "toolport";
import { toAiSdkToolSearch, toAiSdkTools } from "toolport/ai-sdk";
import { createTestServer } from "toolport/testing";
import { createSearchDouble } from "../../packages/adapters/test/search-double.js";

const city = { type: "object", properties: { city: { type: "string" } }, required: ["city"] };
const server = createTestServer({
  tools: {
    forecast: {
      description: "The forecast for a city",
      inputSchema: city,
      outputSchema: { type: "object", properties: { sky: { type: "string" } } },
      handler: ({ city }) => ({
        content: [{ type: "text", text: `Rain in ${city}` }],
        structuredContent: { sky: "rain" },
      }),
    },
    history: { description: "The weather of past days", inputSchema: city, handler: () => "It was dry" },
    now: { description: "The time", handler: () => "Noon" },
  },
});
const toolport = createToolport({
  mcpServers: { weather: server.memory() },
  deferTools: { alwaysVisible: ["now"] },
});

const FORECAST = { call: "weather__forecast", args: { city: "Oslo" } };
const SEARCH = { search: "forecast" };
const END = "Take an umbrella";
const providers = {
  openai: (fetch) => createOpenAI({ apiKey: "none", fetch }),
  anthropic: (fetch) => createAnthropic({ apiKey: "none", fetch }),
};
const models = { openai: "gpt-5.4", anthropic: "claude-sonnet-4-5" };

/** Runs the script and returns the tools of each request, by name. */
async function run(name, script, toolsOf) {
  const before = server.calls.length;
  const double = createSearchDouble(script);
  const provider = providers[name](double.fetch);
  const { text } = await generateText({
    model: provider(models[name]),
    tools: await toolsOf(provider.tools),
    stopWhen: isStepCount(5),
    prompt: "Will it rain in Oslo?",
    maxRetries: 0,
  });
  assert.equal(text, END);
  assert.equal(server.calls.length, before + 1);
  return double.requests;
}

const namesOf = ({ tools }) =>
  tools.map(({ name, type, defer_loading: isDeferred }) => [name ?? type, isDeferred]);

try {
  const native = await toAiSdkTools(toolport, { deferred: "native", forModel: false });
  for (const searchOf of [
    (tools) => tools.toolSearch(),
    async (tools) => tools.toolSearch(await toAiSdkToolSearch(toolport)),
  ]) {
    const [first] = await run("openai", [SEARCH, FORECAST, END], async (tools) => ({
      ...native,
      tool_search: await searchOf(tools),
    }));
    assert.deepEqual(namesOf(first), [
      ["weather__now", undefined],
      ["weather", undefined],
      ["tool_search", undefined],
    ]);
    assert.deepEqual(namesOf(first.tools[1]), [
      ["weather__forecast", true],
      ["weather__history", true],
    ]);
  }

  const [nativeFirst] = await run("anthropic", [SEARCH, FORECAST, END], (tools) => ({
    ...native,
    search: tools.toolSearchBm25_20251119(),
  }));
  assert.deepEqual(namesOf(nativeFirst).slice(0, 2), [
    ["weather__now", undefined],
    ["weather__forecast", true],
  ]);

  const [, second] = await run("anthropic", [SEARCH, FORECAST, END], () =>
    toAiSdkTools(toolport, { deferred: "client", forModel: false }),
  );
  assert.deepEqual(second.messages.at(-1).content[0].content, [
    { type: "tool_reference", tool_name: "weather__forecast" },
  ]);

  for (const name of ["openai", "anthropic"]) {
    const script = [{ call: "search_tools", args: { query: "forecast" } }, FORECAST, END];
    const requests = await run(name, script, () =>
      toAiSdkTools(toolport, { deferred: "sdk", forModel: false }),
    );
    const shown = [
      ["search_tools", undefined],
      ["weather__now", undefined],
    ];
    assert.deepEqual(namesOf(requests[0]), shown);
    assert.deepEqual(namesOf(requests[1]), [...shown, ["weather__forecast", undefined]]);
    assert.match(requests[0].tools[0].description, /come from: weather\./);
  }

  const allowedCallers = ["direct", "programmatic", "code_execution_20260120"];
  const program = { ...FORECAST, caller: "program_1" };
  const [called] = await run("openai", [SEARCH, program, END], async (tools) => ({
    ...(await toAiSdkTools(toolport, { deferred: "native", forModel: false, allowedCallers })),
    tool_search: tools.toolSearch(),
  }));
  const [forecast] = called.tools[1].tools;
  assert.deepEqual(forecast.allowed_callers, ["direct", "programmatic"]);
  assert.equal(forecast.output_schema.type, "object");
} finally {
  await toolport.close();
  await server.close();
}
console.log("passed");
