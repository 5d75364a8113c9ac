/**
 * A connection is lost and restored while the program keeps using the same tool name.
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
          return new Promise<string>(() => {}); // never returns: the connection is cut meanwhile
        },
      },
    },
  });
  const socket = await server.webSocket();
  await using toolport = createToolport({ mcpServers: { shop: socket.entry } });
  toolport.on("state", ({ from, to, reason }) => print(`${from} -> ${to}: ${reason}`));
  print((await toolport.callTool("shop__stock")).text);

  // A read after a loss works: the call waits for the new connection.
  const lost = connectionLost(toolport);
  socket.dropConnections();
  await lost;
  print((await toolport.callTool("shop__stock")).text);

  // A call in flight may have run. Toolport reports it and does not repeat it, so nothing is ordered twice.
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
