/**
 * LangGraph's agent with several MCP servers, using the class name of `@langchain/mcp-adapters`.
 *
 * Run it on Node 24 or later: npm run build && node examples/langchain-react-agent.ts
 */
import { fileURLToPath } from "node:url";
import { AIMessage } from "@langchain/core/messages";
import { fakeModel } from "@langchain/core/testing";
import { createReactAgent } from "@langchain/langgraph/prebuilt";
import { MultiServerMCPClient } from "toolport/langchain";
import { createTestServer } from "toolport/testing";

export async function main(print: (line: string) => void = console.log): Promise<void> {
  // In your program these are external servers; here they run on this machine.
  await using math = createTestServer({
    tools: {
      add: { handler: ({ a, b }) => String(Number(a) + Number(b)) },
      multiply: { handler: ({ a, b }) => String(Number(a) * Number(b)) },
    },
  });
  await using weather = createTestServer({
    tools: { forecast: { handler: ({ city }) => `Sunny in ${city}` } },
  });
  const { command, args } = await math.stdio();
  const { url } = await weather.http();

  const client = new MultiServerMCPClient({
    throwOnLoadError: true,
    prefixToolNameWithServerName: false,
    additionalToolNamePrefix: "",
    useStandardContentBlocks: true,
    mcpServers: {
      math: {
        transport: "stdio",
        command,
        args: [...args],
        restart: { enabled: true, maxAttempts: 3, delayMs: 1_000 },
      },
      weather: { url, headers: { Authorization: "Bearer token123" }, automaticSSEFallback: false },
    },
  });
  const tools = await client.getTools();

  // A scripted model, so that this runs without a key. In your program: `new ChatOpenAI({ model: "…" })`.
  const model = fakeModel()
    .respondWithTools([{ name: "add", args: { a: 3, b: 5 } }])
    .respondWithTools([{ name: "multiply", args: { a: 8, b: 12 } }])
    .respond(new AIMessage("It is 96"));
  const agent = createReactAgent({ llm: model, tools });

  try {
    const { messages } = await agent.invoke({
      messages: [{ role: "user", content: "what's (3 + 5) x 12?" }],
    });
    for (const message of messages) if (message.type === "tool") print(`tool: ${message.content}`);
    print(`model: ${messages.at(-1)?.content}`);
  } catch (error) {
    if (error instanceof Error && error.name === "ToolException")
      print(`Tool execution failed: ${error.message}`);
    throw error;
  } finally {
    await client.close();
  }
}

if (process.argv[1] === fileURLToPath(import.meta.url)) await main();
