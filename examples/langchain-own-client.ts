/**
 * Uses the tools of an MCP client that the program created itself with the SDK.
 *
 * Run it on Node 24 or later: npm run build && node examples/langchain-own-client.ts
 */
import { fileURLToPath } from "node:url";
import { AIMessage } from "@langchain/core/messages";
import { fakeModel } from "@langchain/core/testing";
import { createReactAgent } from "@langchain/langgraph/prebuilt";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { loadMcpTools } from "toolport/langchain";
import { createTestServer } from "toolport/testing";

export async function main(print: (line: string) => void = console.log): Promise<void> {
  await using math = createTestServer({
    tools: { add: { handler: ({ a, b }) => String(Number(a) + Number(b)) } },
  });
  const { command, args } = await math.stdio();
  const transport = new StdioClientTransport({ command, args: [...args] });
  const client = new Client({ name: "math-client", version: "1.0.0" });

  try {
    await client.connect(transport);
    const tools = await loadMcpTools("math", client, {
      throwOnLoadError: true,
      prefixToolNameWithServerName: true,
      additionalToolNamePrefix: "",
      useStandardContentBlocks: false,
    });
    print(tools.map(({ name }) => name).join(", "));
    const model = fakeModel()
      .respondWithTools([{ name: "math__add", args: { a: 3, b: 5 } }])
      .respond(new AIMessage("It is 8"));
    const agent = createReactAgent({ llm: model, tools });
    const { messages } = await agent.invoke({ messages: [{ role: "user", content: "what's 3 + 5?" }] });
    print(`model: ${messages.at(-1)?.content}`);
  } finally {
    await client.close();
  }
}

if (process.argv[1] === fileURLToPath(import.meta.url)) await main();
