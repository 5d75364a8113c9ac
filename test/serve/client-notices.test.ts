/** Notifications of legacy clients: cancelled requests and changed roots. */
import { once } from "node:events";
import type { createServer, Server as HttpServer } from "node:http";
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { Server } from "@modelcontextprotocol/server";
import { createLinkedTransports, createToolport, memoryStore, type ServerEntry } from "toolport";
import { createGateway } from "toolport/serve";
import { createTestServer } from "toolport/testing";
import { expect, onTestFinished, test } from "vitest";
import { openGateway } from "./gateway-scene.js";
import { post } from "./raw-client.js";

/** A store that counts what a gateway writes about cancellations. */
function countingStore() {
  const store = memoryStore();
  const written: string[] = [];
  const put = store.put.bind(store);
  store.put = (key, ...rest) => {
    if (key.includes("cancelled/")) written.push(key);
    return put(key, ...rest);
  };
  return { store, written };
}

test("cancellations of unknown requests write a limited number of notes to the store", async () => {
  const server = createTestServer({ tools: { echo: { handler: () => "ok" } } });
  onTestFinished(() => server.close());
  const { store, written } = countingStore();
  await using scene = await openGateway({ mcpServers: { up: server.memory() }, store });
  const hello = await post(scene.url, {
    jsonrpc: "2.0",
    id: 1,
    method: "initialize",
    params: { protocolVersion: "2025-03-26", capabilities: {}, clientInfo: { name: "c", version: "1" } },
  });
  const headers = { "mcp-session-id": hello.headers.get("mcp-session-id") ?? "" };
  const cancel = (requestId: string | number) => ({
    jsonrpc: "2.0",
    method: "notifications/cancelled",
    params: { requestId },
  });
  for (let batch = 0; batch < 20; batch += 1) {
    const messages = Array.from({ length: 100 }, (_, index) => cancel(batch * 100 + index));
    expect((await post(scene.url, messages, { headers })).status).toBe(202);
  }
  expect(written.length).toBeGreaterThan(0);
  expect(written.length).toBeLessThan(1_000);

  const before = written.length;
  expect((await post(scene.url, cancel("x".repeat(100_000)), { headers })).status).toBe(202);
  expect(written.length).toBe(before);
});

/** A legacy server that asks for the roots when they change. */
function rootsServer() {
  const roots: unknown[] = [];
  let asked = () => {};
  const next = () =>
    new Promise<void>((resolve) => {
      asked = resolve;
    });
  const transport = async () => {
    const [client, end] = createLinkedTransports();
    const server = new Server({ name: "roots", version: "1" }, { capabilities: { tools: {} } });
    server.setRequestHandler("tools/list", () => ({
      tools: [{ name: "touch", inputSchema: { type: "object" } }],
    }));
    server.setRequestHandler("tools/call", () => ({ content: [] }));
    server.setNotificationHandler("notifications/roots/list_changed", async () => {
      roots.push(await server.listRoots().then((found) => found.roots, String));
      asked();
    });
    await server.connect(end);
    return client;
  };
  const entry: ServerEntry = { transport, protocol: "legacy" };
  return { entry, roots, next };
}

function rootsClient() {
  const client = new Client(
    { name: "editor", version: "1.0.0" },
    { versionNegotiation: { mode: "legacy" }, capabilities: { roots: { listChanged: true } } },
  );
  onTestFinished(() => client.close());
  client.setRequestHandler("roots/list", () => ({ roots: [{ uri: "file:///new" }] }));
  return client;
}

test("changed roots of a client over HTTP reach the legacy servers it has called", async () => {
  const { entry, roots, next } = rootsServer();
  await using scene = await openGateway({ mcpServers: { up: entry } });
  const client = rootsClient();
  const streaming = whenStreaming(scene.server);
  await client.connect(new StreamableHTTPClientTransport(new URL(scene.url)));
  await client.callTool({ name: "up__touch", arguments: {} });
  await streaming;
  const asked = next();
  await client.sendRootsListChanged();
  await asked;
  expect(roots).toEqual([[{ uri: "file:///new" }]]);
});

test("changed roots of a client in the same process reach the legacy servers it has called", async () => {
  const { entry, roots, next } = rootsServer();
  const toolport = createToolport({ mcpServers: { up: entry } });
  const gateway = createGateway(toolport, { auth: false });
  onTestFinished(async () => {
    await gateway.close();
    await toolport.close();
  });
  const client = rootsClient();
  await client.connect(gateway.memory());
  await client.callTool({ name: "up__touch", arguments: {} });
  const asked = next();
  await client.sendRootsListChanged();
  await asked;
  expect(roots).toEqual([[{ uri: "file:///new" }]]);
});

/** Resolves when the client has opened its stream for news. */
async function whenStreaming(server: HttpServer): Promise<void> {
  for (;;) {
    const [request] = (await once(server, "request")) as Parameters<Parameters<typeof createServer>[1] & {}>;
    if (request.method === "GET") return;
  }
}
