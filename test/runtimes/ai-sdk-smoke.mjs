/** Run by scripts/ai-versions.mjs beside another major version of the AI SDK: a loop of tool calls, streaming and not. */
import assert from "node:assert/strict";
import { createOpenAI } from "@ai-sdk/openai";
import { LLMock } from "@copilotkit/aimock";
import { generateText, stepCountIs, streamText } from "ai";
import { createToolport } from "toolport";
import { toAiSdkTools } from "toolport/ai-sdk";
import { createTestServer } from "toolport/testing";

const double = new LLMock({ port: 0 });
const cities = ["Oslo", "Rome"].map((city) => ({
  name: "weather__forecast",
  arguments: JSON.stringify({ city }),
}));
double.on({ hasToolResult: false }, { toolCalls: cities });
double.on({ toolResultContains: "Rome" }, { content: "Take an umbrella" });
await double.start();
const server = createTestServer({
  tools: { forecast: { description: "The weather", handler: ({ city }) => `Rain in ${city}` } },
});
const toolport = createToolport({ mcpServers: { weather: server.memory() } });
try {
  const model = createOpenAI({ apiKey: "none", baseURL: `${double.url}/v1` }).chat("gpt-5");
  const run = {
    model,
    tools: await toAiSdkTools(toolport),
    stopWhen: stepCountIs(5),
    prompt: "Oslo or Rome?",
  };
  assert.equal((await generateText(run)).text, "Take an umbrella");
  assert.equal(await streamText(run).text, "Take an umbrella");
  assert.equal(server.calls.length, 4);
} finally {
  await toolport.close();
  await server.close();
  await double.stop();
}
