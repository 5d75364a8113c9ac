/**
 * A typical LangChain program. `module-formats.test.ts` compiles and runs it against the packed package, once for every module
 * resolution. It prints its results as one line of JSON.
 */
import { existsSync } from "node:fs";
import { AIMessage, ToolMessage } from "@langchain/core/messages";
import { fakeModel } from "@langchain/core/testing";
import { DynamicStructuredTool, type StructuredToolInterface } from "@langchain/core/tools";
import { createAgent } from "langchain";
import { createToolport, ToolportError } from "toolport";
import { toAiSdkTools } from "toolport/ai-sdk";
import { startConsole } from "toolport/console";
import { MultiServerMCPClient, toLangChainTools } from "toolport/langchain";
import type { loadConfig } from "toolport/node";
import { sqliteStore } from "toolport/sqlite";
import { createTestServer } from "toolport/testing";

/** `true` only for `any`, which a declaration becomes when one of its imports is not found. */
type IsAny<T> = 0 extends 1 & T ? true : false;

const server = createTestServer({
  tools: {
    greet: {
      inputSchema: {
        type: "object",
        // The pattern makes the validator run in a script with a time limit.
        properties: { name: { type: "string", pattern: "^(a+|[A-Za-z]+)*$" } },
        required: ["name"],
      },
      handler: ({ name }) => `Hello ${name}`,
    },
  },
});

async function runAgent() {
  const stdio = await server.stdio();
  const client = new MultiServerMCPClient({ test: { command: stdio.command, args: [...stdio.args] } });
  const tools = await client.getTools();
  const typed: IsAny<(typeof tools)[number]> = false;
  const assignable: StructuredToolInterface[] = tools;
  const name = assignable[0]?.name ?? "none";
  const model = fakeModel()
    .respondWithTools([{ name, args: { name: "Ada" }, id: "call-1" }])
    .respond(new AIMessage("done"));
  const agent = createAgent({ model, tools });
  const { messages } = await agent.invoke({ messages: [{ role: "user", content: "Greet Ada." }] });
  const answer = messages.find((message) => ToolMessage.isInstance(message));
  await client.close();
  return {
    typed,
    answer: answer?.content,
    isTool: tools.every((tool) => tool instanceof DynamicStructuredTool),
  };
}

async function runPort() {
  const [http, socket] = await Promise.all([server.http(), server.webSocket()]);
  const store = sqliteStore("./state.db");
  const toolport = createToolport({
    mcpServers: { memory: server.memory(), http: http.entry, socket: socket.entry },
    store,
  });
  const page = await startConsole({ toolport });
  try {
    const results = await Promise.all(
      ["memory", "http", "socket"].map((name) => toolport.callTool(`${name}__greet`, { name: "Ada" })),
    );
    const texts = results.flatMap(({ content }) =>
      content.map((part) => (part.type === "text" ? part.text : part)),
    );
    const sdkClient = await toolport.client("http");
    const typed: IsAny<typeof sdkClient> = false;
    const refused = await toolport.callTool("http__greet", {}).catch((error: unknown) => error);
    return {
      typed,
      texts,
      page: (await fetch(new URL("/app.js", page.url))).status,
      langChain: (await toLangChainTools(toolport)).every((tool) => tool instanceof DynamicStructuredTool),
      aiSdk: Object.keys(await toAiSdkTools(toolport)).length,
      refused: refused instanceof ToolportError && refused.code,
      sdk: typeof sdkClient.listTools,
      saved: existsSync("./state.db"),
    };
  } finally {
    await page.close();
    await toolport.close();
    await store.close();
  }
}

async function main() {
  try {
    const agent = await runAgent();
    const port = await runPort();
    const config: IsAny<ReturnType<typeof loadConfig>> = false;
    process.stdout.write(JSON.stringify({ agent, port, config }));
  } finally {
    await server.close();
  }
}

void main();
