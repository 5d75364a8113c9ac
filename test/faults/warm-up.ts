/** Loads once what a process loads lazily (SDK, HTTP client, guardian), so that it does not count for the first fault. */
import { createToolport } from "toolport";
import { startMcpServer } from "../fixtures/servers/http-mcp.js";
import { LEAN_SERVER } from "../fixtures/stdio-peer.js";

let warm: Promise<void> | undefined;

/** Shared by all callers. */
export function warmUp(): Promise<void> {
  warm ??= run();
  return warm;
}

async function run(): Promise<void> {
  const web = await startMcpServer();
  const toolport = createToolport({
    mcpServers: { web: { url: web.url }, process: { command: process.execPath, args: [LEAN_SERVER] } },
  });
  await toolport.callTool("web__echo", { text: "warm" });
  await toolport.callTool("process__echo", { text: "warm" });
  await toolport.close();
  await web.close();
}
