/** A call to a server that is away waits within its time limit, and its error then says why the server is away. */
import { createToolport } from "toolport";
import { createGateway } from "toolport/serve";
import { createTestServer } from "toolport/testing";
import { expect, test } from "vitest";
import { failure } from "../support/failure.js";

async function openLost() {
  const server = createTestServer({ tools: { hello: { handler: () => "hello" } } });
  const { url } = await server.http();
  const toolport = createToolport({ mcpServers: { web: { url } }, timeoutMs: 300 });
  await toolport.callTool("web__hello");
  await server[Symbol.asyncDispose]();
  return toolport;
}

test("the error of the call names the reason and what to do about it", async () => {
  await using toolport = await openLost();
  const error = await failure(toolport.callTool("web__hello"));
  expect(error).toMatchObject({ code: "TIMEOUT", phase: "connect", outcome: "unsent", server: "web" });
  expect(error.message).toContain("ECONNREFUSED");
  expect(error.cause).toMatchObject({ code: "UNREACHABLE", errno: "ECONNREFUSED" });
});

test("the client of a gateway still sees the tool, and gets the reason", async () => {
  await using toolport = await openLost();
  const gateway = createGateway(toolport, { auth: false });
  const send = async (method: string, params: object = {}) => {
    const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method, params });
    const headers = { "content-type": "application/json", accept: "application/json" };
    return (
      await gateway.fetch(new Request("http://localhost/mcp", { method: "POST", headers, body }))
    ).text();
  };
  expect(await send("tools/call", { name: "web__hello" })).toContain("ECONNREFUSED");
  expect(await send("tools/list")).toContain("web__hello");
  await gateway.close();
});
