import { test, expect } from "vitest";
import { createToolport } from "toolport";
import { createTestServer } from "toolport/testing";

test("scratch", async () => {
  const server = createTestServer({ tools: { echo: { inputSchema: { type: "object", properties: { text: { type: "string" } } }, handler: (a: any) => `you said ${a.text}` } } });
  const port = createToolport({
    logger: console as never,
    mcpServers: {
      mem: server.memory(),
      every: { command: "node", args: ["node_modules/@modelcontextprotocol/server-everything/dist/index.js"] },
      fs: { command: "npx", args: ["mcp-server-filesystem", "."] },
      memory: { command: "npx", args: ["mcp-server-memory"] },
      bad: { command: "nope-not-there" },
      exit: { command: "sh", args: ["-c", "echo boom >&2; exit 3"] },
    },
  });
  port.on("state", (s) => console.log(s.server, s.from, "->", s.to, s.reason));
  const r = await port.connect();
  console.log(r);
  console.log((await port.tools()).map((t) => t.name));
  console.log(await port.callTool("mem__echo", { text: "hi" }));
  console.log(await port.callTool("every__echo", { message: "hi" }));
  console.log(port.snapshot().servers);
  await port.close();
  await server.close();
});
