/**
 * Resources read by the program, which subscribes to changes, and by a model through two tools.
 *
 * Run it on Node 24 or later: npm run build && node examples/resources.ts
 */
import { fileURLToPath } from "node:url";
import { createToolport } from "toolport";
import { createTestServer } from "toolport/testing";

export async function main(print: (line: string) => void = console.log): Promise<void> {
  let hours = "Shop closes at 8";
  await using shop = createTestServer({
    resources: {
      "shop://hours": { name: "hours", description: "When the shop is open", read: () => hours },
    },
    resourceTemplates: {
      "shop://article/{name}": { name: "article", read: (uri) => `All about ${uri.split("/").pop()}` },
    },
  });
  await using toolport = createToolport({ mcpServers: { shop: shop.memory() }, resourcesAsTools: true });

  // By the program.
  for (const { server, uri } of await toolport.resources()) print(`${server} has ${uri}`);
  const [article] = await toolport.readResource("shop", {
    template: "shop://article/{name}",
    args: { name: "tea" },
  });
  print(article?.text ?? "");

  let stop = async () => {};
  const changed = new Promise<void>((resolve, reject) => {
    const subscribing = toolport.subscribe("shop", "shop://hours", async ({ server, uri }) => {
      const [page] = await toolport.readResource(server, uri);
      print(`read again: ${page?.text}`);
      resolve();
    });
    subscribing.then(async (end) => {
      stop = end;
      hours = "Shop closes at 6";
      await shop.resourceUpdated("shop://hours");
    }, reject);
  });
  await changed;
  await stop();

  // By a model: these are what it calls.
  print((await toolport.callTool("list_resources")).text);
  print((await toolport.callTool("read_resource", { mcpServer: "shop", uri: "shop://hours" })).text);
}

if (process.argv[1] === fileURLToPath(import.meta.url)) await main();
