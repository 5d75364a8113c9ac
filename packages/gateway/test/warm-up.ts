/** Loads what the first connection needs. A gateway waits a second for lists, and a busy machine may need longer to load the SDK. */
import { createToolport } from "toolport";
import { createTestServer } from "toolport/testing";

export async function warmUp(): Promise<void> {
  await using server = createTestServer({ tools: { ping: { handler: () => "pong" } } });
  await using toolport = createToolport({ mcpServers: { server: server.memory() } });
  await toolport.tools();
}
