/**
 * A server changes its tools while the agent works: the program lists them again at every step.
 *
 * Run it on Node 24 or later: npm run build && node examples/langchain-changing-tools.ts
 */
import { fileURLToPath } from "node:url";
import { AIMessage, type BaseMessage, HumanMessage } from "@langchain/core/messages";
import { fakeModel } from "@langchain/core/testing";
import { MultiServerMCPClient } from "toolport/langchain";
import { createTestServer, type TestServerDefinition } from "toolport/testing";

export async function main(print: (line: string) => void = console.log): Promise<void> {
  const open: TestServerDefinition["tools"] = { open_door: { handler: () => "The door is open" } };
  await using house = createTestServer({
    tools: {
      // After this call the server has another tool and sends list_changed.
      take_key: {
        handler: async () => {
          await house.update({ tools: open });
          return "You have the key";
        },
      },
    },
  });
  let changed = () => {};
  const listChanged = new Promise<void>((resolve) => {
    changed = resolve;
  });
  await using client = new MultiServerMCPClient({
    mcpServers: { house: (await house.stdio()).entry },
    onToolsListChanged: () => changed(),
  });

  const model = fakeModel()
    .respondWithTools([{ name: "take_key", args: {} }])
    .respondWithTools([{ name: "open_door", args: {} }])
    .respond(new AIMessage("I am inside"));
  const messages: BaseMessage[] = [new HumanMessage("Go in")];
  for (;;) {
    const tools = await client.getTools(); // no request unless the list changed
    print(`tools: ${tools.map(({ name }) => name).join(", ")}`);
    const answer = await model.bindTools(tools).invoke(messages);
    messages.push(answer);
    if (!answer.tool_calls?.length) break;
    for (const call of answer.tool_calls) {
      const chosen = tools.find(({ name }) => name === call.name);
      messages.push(await chosen!.invoke({ ...call, type: "tool_call" }));
      print(`${call.name}: ${messages.at(-1)?.content}`);
    }
    await listChanged;
  }
  print(`model: ${messages.at(-1)?.content}`);
}

if (process.argv[1] === fileURLToPath(import.meta.url)) await main();
