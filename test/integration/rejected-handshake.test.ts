/** A server that answers the handshake with a JSON-RPC error: docs/errors.md names this `HANDSHAKE_FAILED`. */
import { createToolport, memoryStore } from "toolport";
import { createTestServer } from "toolport/testing";
import { expect, onTestFinished, test } from "vitest";
import { sendJson, startScriptedServer } from "../fixtures/servers/http-scripted.js";

test.each([
  [-32000, false],
  [-32602, false],
  [-32603, true],
])("error %i is HANDSHAKE_FAILED with the text of the server", async (code, retryable) => {
  const server = await startScriptedServer(({ message }, response) => {
    if (message?.id === undefined) return response.writeHead(405).end();
    const error = { code: message.method === "initialize" ? code : -32601, message: "No license" };
    return sendJson(response, { jsonrpc: "2.0", id: message.id, error });
  });
  onTestFinished(() => server.close());
  await using toolport = createToolport({ mcpServers: { it: { url: server.url } } });
  const { error } = (await toolport.connect()).servers["it"]!;
  expect(error).toMatchObject({
    name: "ConnectionError",
    code: "HANDSHAKE_FAILED",
    server: "it",
    outcome: "unsent",
    retryable,
    cause: { rpcCode: code },
  });
  expect(error?.message).toContain("No license");
});

test("a server that was remembered as legacy and rejects initialize is asked for the modern era", async () => {
  const tools = { hello: { handler: () => "hello" } };
  const store = memoryStore();
  const before = createTestServer({ era: "legacy", tools });
  const { url } = await before.http();
  await using first = createToolport({ mcpServers: { it: { url } }, store });
  await first.connect();
  expect(first.snapshot().servers["it"]).toMatchObject({ era: "legacy" });
  await first.close();
  await before[Symbol.asyncDispose]();

  await using after = createTestServer({ era: "modern", tools });
  await after.http({ port: Number(new URL(url).port) });
  await using second = createToolport({ mcpServers: { it: { url } }, store });
  await second.connect();
  expect(second.snapshot().servers["it"]).toMatchObject({ state: "ready", era: "modern" });
});
