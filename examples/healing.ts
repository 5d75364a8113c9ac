/**
 * A connection that is lost and comes back, while the program goes on with the same tool name.
 *
 * Run it on Node 24 or later: npm run build && node examples/healing.ts
 */
import { fileURLToPath } from "node:url";
import { createToolport, type Toolport, ToolportError } from "toolport";
import { createTestServer } from "toolport/testing";

export async function main(print: (line: string) => void = console.log): Promise<void> {
  let orders = 0;
  await using server = createTestServer({
    tools: {
      stock: { handler: () => "3 left" },
      order: {
        handler: () => {
          orders += 1;
          return new Promise<string>(() => {}); // never answers: the line is cut meanwhile
        },
      },
    },
  });
  const socket = await server.webSocket();
  await using toolport = createToolport({ mcpServers: { shop: socket.entry } });
  toolport.on("state", ({ from, to, reason }) => print(`${from} -> ${to}: ${reason}`));
  print((await toolport.callTool("shop__stock")).text);

  // A read between two losses simply works: the call waits for the new connection.
  const lost = connectionLost(toolport);
  socket.dropConnections();
  await lost;
  print((await toolport.callTool("shop__stock")).text);

  // A call that was under way may have run. It is reported, not repeated: nobody wants to order twice.
  const order = toolport.callTool("shop__order").catch((error: unknown) => error);
  while (orders === 0) await new Promise((resolve) => setTimeout(resolve, 5));
  socket.dropConnections();
  const error = await order;
  if (!ToolportError.isInstance(error)) throw new Error("The order should have failed");
  print(`${error.code}, outcome ${error.outcome}, ordered ${orders} time`);

  print((await toolport.callTool("shop__stock")).text);
}

function connectionLost(toolport: Toolport): Promise<void> {
  return new Promise((resolve) => {
    const stop = toolport.on("state", ({ from }) => {
      if (from !== "ready") return;
      stop();
      resolve();
    });
  });
}

if (process.argv[1] === fileURLToPath(import.meta.url)) await main();
