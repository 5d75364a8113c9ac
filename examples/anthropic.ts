/**
 * Anthropic's client with the tools of MCP servers, as a stream.
 *
 * The model is a local scripted endpoint. Remove `baseURL` and set a key to use a real one.
 * Run it on Node 24 or later: npm run build && node examples/anthropic.ts
 */
import { fileURLToPath } from "node:url";
import Anthropic from "@anthropic-ai/sdk";
import { LLMock } from "@copilotkit/aimock";
import { createToolport } from "toolport";
import { runAnthropicToolCalls, toAnthropicTools } from "toolport/anthropic";
import { createTestServer } from "toolport/testing";

export async function main(print: (line: string) => void = console.log): Promise<void> {
  const double = new LLMock({ port: 0 });
  double.on(
    { hasToolResult: false },
    { toolCalls: [{ name: "shop__stock", arguments: '{"article":"tea"}' }] },
  );
  double.on({ toolResultContains: "sold out" }, { content: "Sorry, no tea today" });
  await double.start();
  await using server = createTestServer({
    tools: {
      stock: {
        description: "How much there is of an article",
        handler: ({ article }) => {
          throw new Error(`${article} is sold out`); // reaches the model as a result with is_error
        },
      },
    },
  });
  await using toolport = createToolport({ mcpServers: { shop: server.memory() } });
  const anthropic = new Anthropic({ apiKey: "none", baseURL: double.url });

  const tools = await toAnthropicTools(toolport);
  const messages: Anthropic.MessageParam[] = [{ role: "user", content: "Is there tea?" }];
  for (;;) {
    const stream = anthropic.messages.stream({
      model: "claude-of-the-script",
      max_tokens: 1024,
      messages,
      tools,
    });
    const message = await stream.finalMessage();
    messages.push({ role: "assistant", content: message.content });
    const answers = await runAnthropicToolCalls(toolport, message, { tools });
    if (answers.length === 0) {
      print(`model: ${message.content.map((block) => (block.type === "text" ? block.text : "")).join("")}`);
      break;
    }
    print(`tool: ${JSON.stringify(answers[0]!.content)}`);
    messages.push(...answers);
  }
  await double.stop();
}

if (process.argv[1] === fileURLToPath(import.meta.url)) await main();
