/**
 * LangChain's `createAgent` with three servers; one of them dies between two steps, and the run continues.
 *
 * Run it on Node 24 or later: npm run build && node examples/langchain-agent.ts
 */
import { fileURLToPath } from "node:url";
import { AIMessage } from "@langchain/core/messages";
import { fakeModel } from "@langchain/core/testing";
import { type ClientTool, tool } from "@langchain/core/tools";
import { createAgent } from "langchain";
import { createToolport } from "toolport";
import { toLangChainTools } from "toolport/langchain";
import { createTestServer } from "toolport/testing";
import { z } from "zod";

const PIXEL =
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";

export async function main(print: (line: string) => void = console.log): Promise<void> {
  await using stock = createTestServer({ tools: { count: { handler: ({ article }) => `3 of ${article}` } } });
  await using camera = createTestServer({
    tools: { photo: { handler: () => [{ type: "image", data: PIXEL, mimeType: "image/png" }] } },
  });
  await using notes = createTestServer({ tools: { write: { handler: ({ text }) => `Noted: ${text}` } } });
  const stdio = await stock.stdio();

  await using toolport = createToolport({
    mcpServers: { stock: stdio.entry, camera: (await camera.http()).entry, notes: (await notes.sse()).entry },
    prefix: false,
  });
  // Your own tool next to those of the servers. This one kills a server.
  const accident = tool(
    async () => {
      const lost = new Promise<void>((resolve) => {
        toolport.on("state", ({ server, from }) =>
          server === "stock" && from === "ready" ? resolve() : undefined,
        );
      });
      stdio.dropConnections();
      await lost;
      return "The stock server is gone";
    },
    { name: "accident", description: "Kills a server", schema: z.object({}) },
  );

  const model = fakeModel()
    .respondWithTools([
      { name: "count", args: { article: "tea" } },
      { name: "photo", args: {} },
    ])
    .respondWithTools([{ name: "accident", args: {} }])
    .respondWithTools([{ name: "count", args: { article: "cake" } }])
    .respondWithTools([{ name: "write", args: { text: "tea and cake" } }])
    .respond(new AIMessage("All counted"));
  const tools: ClientTool[] = [...(await toLangChainTools(toolport)), accident];
  const agent = createAgent({ model, tools });

  const { messages } = await agent.invoke({ messages: [{ role: "user", content: "Count everything" }] });
  for (const { type, name, content } of messages) {
    const shown = typeof content === "string" ? content : content.map((block) => block.type).join(", ");
    if (type === "tool") print(`${name}: ${shown}`);
  }
  print(`model: ${messages.at(-1)?.content}`);
}

if (process.argv[1] === fileURLToPath(import.meta.url)) await main();
