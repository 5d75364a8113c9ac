/**
 * Tests your own code that uses tools, against a real server inside the test.
 *
 * Run it on Node 24 or later: npm run build && node examples/own-tests.ts
 */
import assert from "node:assert/strict";
import { fileURLToPath } from "node:url";
import { createToolport, type Toolport } from "toolport";
import { createTestServer } from "toolport/testing";

/** The code to test: adds up the prices of a basket and skips articles that the shop does not have. */
export async function totalOf(toolport: Toolport, articles: readonly string[]): Promise<number> {
  const prices = await Promise.all(
    articles.map((article) => toolport.callTool<{ cents: number }>("shop__price", { article })),
  );
  return prices.reduce((sum, price) => sum + (price.isError ? 0 : (price.structuredContent?.cents ?? 0)), 0);
}

export async function main(print: (line: string) => void = console.log): Promise<void> {
  const cents: Record<string, number> = { tea: 250, cake: 400 };
  await using server = createTestServer({
    tools: {
      price: {
        handler: ({ article }) => {
          const price = cents[String(article)];
          if (price === undefined) throw new Error("No such article");
          return { structuredContent: { cents: price } };
        },
      },
    },
  });
  await using toolport = createToolport({ mcpServers: { shop: server.memory() } });

  assert.equal(await totalOf(toolport, ["tea", "cake", "gold"]), 650);
  assert.deepEqual(
    server.calls.map(({ args }) => args["article"]),
    ["tea", "cake", "gold"],
  );
  print("650 cents, three calls, one of them a tool error: all as expected");
}

if (process.argv[1] === fileURLToPath(import.meta.url)) await main();
