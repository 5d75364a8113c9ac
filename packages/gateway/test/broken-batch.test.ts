/** A batch that is refused runs none of its requests, and leaves no stream behind. */
import { createToolport } from "toolport";
import { createGateway } from "toolport/serve";
import { createTestServer } from "toolport/testing";
import { expect, onTestFinished, test, vi } from "vitest";

const META = {
  "io.modelcontextprotocol/protocolVersion": "2026-07-28",
  "io.modelcontextprotocol/clientCapabilities": {},
};
const CALL = { jsonrpc: "2.0", id: 1, method: "tools/call", params: { name: "up__work" } };

test.each([
  ["a modern request", { jsonrpc: "2.0", id: 2, method: "tools/list", params: { _meta: META } }],
  ["a cancellation without an id", { jsonrpc: "2.0", method: "notifications/cancelled", params: {} }],
])("%s", async (_title, bad) => {
  const up = createTestServer({ tools: { work: { handler: () => "worked" } } });
  const toolport = createToolport({ mcpServers: { up: up.memory() } });
  const gateway = createGateway(toolport, { auth: false });
  onTestFinished(async () => {
    vi.useRealTimers();
    await gateway.close({ drainMs: 0 });
    await toolport.close();
    await up.close();
  });
  let session: Record<string, string> = {};
  const send = (message: unknown) =>
    gateway.fetch(
      new Request("http://localhost/mcp", {
        method: "POST",
        headers: { "content-type": "application/json", accept: "text/event-stream", ...session },
        body: JSON.stringify(message),
      }),
    );
  const { headers } = await send({ jsonrpc: "2.0", id: 0, method: "initialize", params: {} });
  session = { "mcp-session-id": headers.get("mcp-session-id")! };
  expect(await (await send([CALL])).text()).toContain("worked");
  vi.useFakeTimers({ toFake: ["setInterval", "clearInterval", "setTimeout", "clearTimeout", "performance"] });
  const timers = vi.getTimerCount();
  expect((await send([CALL, bad])).status).toBe(400);
  await vi.advanceTimersByTimeAsync(120_000);
  expect(vi.getTimerCount()).toBe(timers);
  expect(up.calls).toHaveLength(1);
});
