/**
 * A server goes down, and another one answers the calls until it is back.
 *
 * Run it on Node 24 or later: npm run build && node examples/fallback.ts
 */
import { fileURLToPath } from "node:url";
import { createToolport, ToolportError } from "toolport";
import { createTestServer } from "toolport/testing";

export async function main(print: (line: string) => void = console.log): Promise<void> {
  await using bank = createTestServer({
    tools: {
      rate: { handler: () => "1 EUR = 11.80 NOK" },
      transfer: { handler: () => ({ content: [{ type: "text", text: "No money left" }], isError: true }) },
    },
  });
  await using spare = createTestServer({ tools: { exchange_rate: { handler: () => "1 EUR = 11.79 NOK" } } });
  const listening = await bank.http();

  await using toolport = createToolport({
    mcpServers: {
      bank: {
        url: listening.url,
        // Calls may go to this server too; its tool has another name there.
        fallback: { servers: "spare", tools: { rate: "exchange_rate" } },
      },
      spare: spare.memory(),
    },
    beforeFallback: ({ server, next, outcome, context }) => {
      print(`${server.name} cannot answer (${outcome}), ask ${next.name}?`);
      return context !== "only the bank counts";
    },
  });

  const before = await toolport.callTool("bank__rate");
  print(`${before.text}, says ${before.server}`);

  // A tool that reports failure has answered. Toolport does not try another server.
  const failed = await toolport.callTool("bank__transfer");
  print(`${failed.text}, says ${failed.server}`);

  await listening.close();
  const instead = await toolport.callTool("bank__rate");
  print(`${instead.text}, says ${instead.server}`);

  try {
    await toolport.callTool("bank__rate", {}, { context: "only the bank counts" });
  } catch (error) {
    if (!ToolportError.isInstance(error)) throw error;
    print(`No: ${error.code}, outcome ${error.outcome}`);
  }
}

if (process.argv[1] === fileURLToPath(import.meta.url)) await main();
