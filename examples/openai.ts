/**
 * OpenAI's client with the tools of MCP servers: call the model, run the tool calls, append the results, repeat.
 *
 * The model is a local scripted endpoint. Remove `baseURL` and set a key to use a real one.
 * Run it on Node 24 or later: npm run build && node examples/openai.ts
 */
import { fileURLToPath } from "node:url";
import { LLMock } from "@copilotkit/aimock";
import OpenAI from "openai";
import { createToolport } from "toolport";
import { runOpenAIToolCalls, toOpenAITools } from "toolport/openai";
import { createTestServer } from "toolport/testing";

export async function main(print: (line: string) => void = console.log): Promise<void> {
  const double = new LLMock({ port: 0 });
  const cities = ["Oslo", "Rome"].map((city) => ({
    name: "weather__forecast",
    arguments: JSON.stringify({ city }),
  }));
  double.on({ hasToolResult: false }, { toolCalls: cities });
  double.on({ toolResultContains: "Rome" }, { content: "Take an umbrella to Oslo" });
  await double.start();
  await using server = createTestServer({
    tools: { forecast: { description: "The weather", handler: ({ city }) => `Rain in ${city}` } },
  });
  await using toolport = createToolport({ mcpServers: { weather: server.memory() } });
  const openai = new OpenAI({ apiKey: "none", baseURL: `${double.url}/v1` });

  const tools = await toOpenAITools(toolport);
  const messages: OpenAI.ChatCompletionMessageParam[] = [{ role: "user", content: "Oslo or Rome?" }];
  for (;;) {
    const completion = await openai.chat.completions.create({ model: "gpt-5", messages, tools });
    const message = completion.choices[0]!.message;
    messages.push(message);
    const answers = await runOpenAIToolCalls(toolport, message, { tools });
    if (answers.length === 0) break;
    for (const { role, content } of answers) print(`${role}: ${content}`);
    messages.push(...answers);
  }
  print(`model: ${messages.at(-1)!.content}`);
  await double.stop();
}

if (process.argv[1] === fileURLToPath(import.meta.url)) await main();
