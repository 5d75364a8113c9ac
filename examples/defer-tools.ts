/**
 * Hundreds of tools without hundreds of definitions: the model searches for what it needs, then calls it.
 *
 * Run it on Node 24 or later: npm run build && node examples/defer-tools.ts
 */
import { fileURLToPath } from "node:url";
import { createToolport } from "toolport";
import { createTestServer, type TestTool } from "toolport/testing";

const THINGS = ["invoice", "customer", "order", "shipment", "ticket", "contract", "payment", "meeting"];
const DEEDS = ["create", "find", "update", "archive", "export"];

/** Forty typical tools of a business server. */
function makeTools(department: string): Record<string, TestTool> {
  const pairs = THINGS.flatMap((thing) => DEEDS.map((deed) => ({ thing, deed })));
  return Object.fromEntries(
    pairs.map(({ thing, deed }) => [
      `${deed}_${thing}`,
      {
        description: `Use this to ${deed} one ${thing} of the ${department} department`,
        inputSchema: {
          type: "object",
          properties: { id: { type: "string", description: `Number of the ${thing}` } },
          required: ["id"],
        },
        handler: ({ id }) => `${deed} ${thing} ${id}: done by ${department}`,
      },
    ]),
  );
}

export async function main(print: (line: string) => void = console.log): Promise<void> {
  await using sales = createTestServer({ tools: makeTools("sales") });
  await using support = createTestServer({ tools: makeTools("support") });
  await using toolport = createToolport({
    mcpServers: { sales: sales.memory(), support: support.memory() },
    deferTools: { alwaysVisible: ["support__find_ticket"] },
  });

  const all = await toolport.tools({ all: true });
  const shown = await toolport.tools(); // give these to your model
  print(`${all.length} tools, ${shown.length} shown: ${shown.map(({ name }) => name).join(", ")}`);
  const bytes = (tools: typeof all) => JSON.stringify(tools).length;
  print(`${Math.round(100 * (1 - bytes(shown) / bytes(all)))} % less to read`);

  // What a model does with them:
  const found = await toolport.callTool("search_tools", { query: "archive a contract in sales", limit: 1 });
  const [tool] = (JSON.parse(found.text) as { tools: { name: string }[] }).tools;
  const result = await toolport.callTool("call_tool", { name: tool?.name, arguments: { id: "C-7" } });
  print(`${tool?.name}: ${result.text}`);

  // The same search for your own program, without a model:
  const matches = await toolport.searchTools("export payment", { limit: 2 });
  print(matches.map(({ name }) => name).join(", "));
}

if (process.argv[1] === fileURLToPath(import.meta.url)) await main();
