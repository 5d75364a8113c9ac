/** One scenario of the load run, given as JSON; writes its figures as JSON. */
import { createToolport } from "../../packages/toolport/dist/index.js";
import { nodeServers, shellServers, startHttpServers } from "./lean-servers.mjs";
import { compareInFlight, measureConnections } from "./scenarios.mjs";

const { what, kind, count, calls } = JSON.parse(process.argv[2]);
const http = kind === "http" ? await startHttpServers(count) : undefined;
const mcpServers = http?.entries ?? (kind === "shell" ? shellServers : nodeServers)(count);
await warmUp();
const toolport = createToolport({ mcpServers, timeoutMs: 120_000 });
try {
  if (what === "in-flight") await toolport.connect();
  const figures =
    what === "connections"
      ? await measureConnections(toolport, count)
      : await compareInFlight(toolport, { calls, servers: count });
  console.log(JSON.stringify(figures));
} finally {
  await toolport.close();
  await http?.close();
}

/** Loads modules first: they are not a cost of a connection. */
async function warmUp() {
  const first = Object.entries(mcpServers).slice(0, 1);
  const port = createToolport({ mcpServers: Object.fromEntries(first) });
  await port.callTool("s0__echo", { text: "warm" });
  await port.close();
}
