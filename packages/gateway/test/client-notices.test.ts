/** Notifications of legacy clients: cancelled requests and changed roots. */
import { once } from "node:events";
import type { createServer, Server as HttpServer } from "node:http";
import { Client, type ClientCapabilities, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { Server } from "@modelcontextprotocol/server";
import { createLinkedTransports, createToolport, memoryStore, type ServerEntry } from "toolport";
import { createGateway } from "toolport/serve";
import { createTestServer } from "toolport/testing";
import { expect, onTestFinished, test, vi } from "vitest";
import { openAttackScene } from "./attack-scene.js";
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

const cancel = (requestId: string | number) => ({
  jsonrpc: "2.0",
  method: "notifications/cancelled",
  params: { requestId },
});

test("cancellations of unknown requests write a limited number of notes to the store, for each user", async () => {
  const server = createTestServer({ tools: { echo: { handler: () => "ok" } } });
  onTestFinished(() => server.close());
  const { store, written } = countingStore();
  await using scene = await openAttackScene({ mcpServers: { up: server.memory() }, store });
  const [ada, bob] = await Promise.all([scene.session("ada"), scene.session("bob")]);
  vi.useFakeTimers({ toFake: ["performance"] });
  onTestFinished(() => void vi.useRealTimers());
  const send = async (user: string, session: string, ids: readonly (string | number)[]) => {
    const answers = await Promise.all(ids.map((id) => scene.legacy(user, session, cancel(id))));
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([202]));
    return written.splice(0).length;
  };
  const some = Array.from({ length: 200 }, (_, index) => index);
  expect(await send("ada", ada, some)).toBe(64);
  expect(await send("ada", ada, some)).toBe(0);
  expect(await send("bob", bob, ["mine"])).toBe(1);
  vi.advanceTimersByTime(1_000);
  expect(await send("ada", ada, some)).toBe(8);
  // The key of a note contains the id.
  expect(await send("bob", bob, ["x".repeat(100_000)])).toBe(0);
});

/** A legacy server that asks for the roots when they change. Its tool counts the changes of its connection. */
function rootsServer({ questions = 1 } = {}) {
  const roots: unknown[] = [];
  let asked = () => {};
  const next = () =>
    new Promise<void>((resolve) => {
      asked = resolve;
    });
  const transport = async () => {
    const [client, end] = createLinkedTransports();
    const server = new Server({ name: "roots", version: "1" }, { capabilities: { tools: {} } });
    let changes = 0;
    server.setRequestHandler("tools/list", () => ({
      tools: [{ name: "changes", inputSchema: { type: "object" } }],
    }));
    server.setRequestHandler("tools/call", () => ({ content: [{ type: "text", text: `${changes}` }] }));
    server.setNotificationHandler("notifications/roots/list_changed", async () => {
      changes += 1;
      for (let count = 0; count < questions; count += 1)
        roots.push(
          await server.listRoots().then(
            (found) => found.roots,
            ({ code }) => code,
          ),
        );
      asked();
    });
    await server.connect(end);
    return client;
  };
  const entry: ServerEntry = { transport, protocol: "legacy" };
  return { entry, roots, next };
}

function rootsClient(capabilities: ClientCapabilities = { roots: { listChanged: true } }) {
  const client = new Client(
    { name: "editor", version: "1.0.0" },
    { versionNegotiation: { mode: "legacy" }, capabilities, enforceStrictCapabilities: false },
  );
  onTestFinished(() => client.close());
  client.setRequestHandler("roots/list", () => ({ roots: [{ uri: "file:///new" }] }));
  return client;
}

const changesOf = async (client: Client): Promise<string> => {
  const { content } = await client.callTool({ name: "up__changes", arguments: {} });
  return (content as { text: string }[])[0]!.text;
};

test("changed roots of a client over HTTP reach the legacy servers it has called", async () => {
  const { entry, roots, next } = rootsServer();
  await using scene = await openGateway({ mcpServers: { up: entry } });
  const client = rootsClient();
  const streaming = whenStreaming(scene.server);
  await client.connect(new StreamableHTTPClientTransport(new URL(scene.url)));
  await changesOf(client);
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
  await changesOf(client);
  const asked = next();
  await client.sendRootsListChanged();
  await asked;
  expect(roots).toEqual([[{ uri: "file:///new" }]]);
});

test("one notification allows one question for the roots: others belong to no call", async () => {
  const { entry, roots, next } = rootsServer({ questions: 2 });
  await using scene = await openGateway({ mcpServers: { up: entry } });
  const client = rootsClient();
  const streaming = whenStreaming(scene.server);
  await client.connect(new StreamableHTTPClientTransport(new URL(scene.url)));
  await changesOf(client);
  await streaming;
  const asked = next();
  await client.sendRootsListChanged();
  await asked;
  expect(roots).toEqual([[{ uri: "file:///new" }], -32602]);
});

test("a client that declared no changes of its roots notifies no server", async () => {
  const { entry, roots } = rootsServer();
  await using scene = await openGateway({ mcpServers: { up: entry } });
  const capabilities = { roots: {} };
  const hello = await post(scene.url, {
    jsonrpc: "2.0",
    id: 1,
    method: "initialize",
    params: { protocolVersion: "2025-11-25", capabilities, clientInfo: { name: "c", version: "1" } },
  });
  const headers = { "mcp-session-id": hello.headers.get("mcp-session-id") ?? "" };
  const call = { jsonrpc: "2.0", id: 2, method: "tools/call", params: { name: "up__changes" } };
  await post(scene.url, call, { headers });
  const notice = { jsonrpc: "2.0", method: "notifications/roots/list_changed" };
  expect((await post(scene.url, notice, { headers })).status).toBe(202);
  const { last } = await post(scene.url, call, { headers });
  expect(last.result.content[0].text).toBe("0");
  expect(roots).toEqual([]);
});

test("only servers of the same user, and with the same capabilities, are notified", async () => {
  const { entry } = rootsServer();
  await using scene = await openAttackScene({ mcpServers: { up: entry } });
  const open = async (user: string, more: ClientCapabilities = {}) => {
    const client = rootsClient({ roots: { listChanged: true }, ...more });
    const headers = { authorization: `Bearer ${await scene.tokenOf(user)}` };
    const transport = new StreamableHTTPClientTransport(new URL(scene.url), { requestInit: { headers } });
    await client.connect(transport);
    await changesOf(client);
    return client;
  };
  const [ada, adaElsewhere, bob] = await Promise.all([
    open("ada"),
    open("ada", { sampling: {} }),
    open("bob"),
  ]);
  await ada.sendRootsListChanged();
  expect(await Promise.all([ada, adaElsewhere, bob].map(changesOf))).toEqual(["1", "0", "0"]);
});

test("a notification and an answer that reach another replica", async () => {
  const { entry, roots, next } = rootsServer();
  const store = memoryStore();
  await using one = await openGateway({ mcpServers: { up: entry }, store });
  await using two = await openGateway({ mcpServers: { up: entry }, store });
  const client = rootsClient();
  const streaming = whenStreaming(one.server);
  // The second replica gets the notifications and the answers of the client, the first one everything else.
  const isRequest = (body: unknown) =>
    typeof body === "string" && /"id":.*"method":|"method":.*"id":/.test(body);
  const transport = new StreamableHTTPClientTransport(new URL(one.url), {
    fetch: (url, init) => fetch(init?.method === "POST" && !isRequest(init.body) ? two.url : url, init),
  });
  await client.connect(transport);
  await changesOf(client);
  await streaming;
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
