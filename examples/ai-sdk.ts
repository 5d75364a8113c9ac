/**
 * The AI SDK with the tools of MCP servers: `generateText` runs the whole loop.
 *
 * The model is the AI SDK's own scripted mock; replace it with any model.
 * Run it on Node 24 or later: npm run build && node examples/ai-sdk.ts
 */
import { fileURLToPath } from "node:url";
import { generateText, stepCountIs } from "ai";
import { MockLanguageModelV3 } from "ai/test";
import { createToolport } from "toolport";
import { toAiSdkTools } from "toolport/ai-sdk";
import { createTestServer } from "toolport/testing";

const usage = {
  inputTokens: { total: 1, noCache: 1, cacheRead: 0, cacheWrite: 0 },
  outputTokens: { total: 1, text: 1, reasoning: 0 },
};

const model = () =>
  new MockLanguageModelV3({
    doGenerate: [
      {
        content: [
          { type: "tool-call", toolCallId: "1", toolName: "math__add", input: '{"a":2,"b":3}' },
          { type: "tool-call", toolCallId: "2", toolName: "clock__year", input: "{}" },
        ],
        finishReason: { unified: "tool-calls", raw: undefined },
        usage,
        warnings: [],
      },
      {
        content: [{ type: "text", text: "5 in 2026" }],
        finishReason: { unified: "stop", raw: undefined },
        usage,
        warnings: [],
      },
    ],
  });

export async function main(print: (line: string) => void = console.log): Promise<void> {
  await using math = createTestServer({
    tools: { add: { handler: ({ a, b }) => ({ structuredContent: { sum: Number(a) + Number(b) } }) } },
  });
  await using clock = createTestServer({ tools: { year: { handler: () => "2026" } } });
  await using toolport = createToolport({ mcpServers: { math: math.memory(), clock: clock.memory() } });

  const { text, steps } = await generateText({
    model: model(),
    tools: await toAiSdkTools(toolport),
    stopWhen: stepCountIs(5),
    prompt: "What is 2 + 3, and which year is it?",
  });
  for (const { toolName, output } of steps[0]!.toolResults)
    print(`${toolName}: ${(output as { text: string }).text}`);
  print(`model: ${text}`);
}

if (process.argv[1] === fileURLToPath(import.meta.url)) await main();
