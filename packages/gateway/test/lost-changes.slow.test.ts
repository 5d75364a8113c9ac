/** Users of a gateway learn of changes, and their servers are not asked again and again. */
import { createServer, type ServerResponse } from "node:http";
import { pause } from "@toolport/base";
import type { Port } from "@toolport/core/internal";
import { createToolport } from "toolport";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { handWrittenServer } from "../../../test/support/hand-written-server.js";
import { followWire, lateServer, nextChange } from "../../../test/support/late-listening.js";
import { waitFor } from "../../../test/support/wait-for.js";
import { usersOf } from "../src/users.js";
import { PATIENT } from "./support/counting-server.js";

const tool = { handler: () => "ok" };
const LISTEN = "subscriptions/listen";
const namesOf = (port: Port) => port.catalog.items("tools").map(({ name }) => name);

test("a list that fails when it is read again is not requested in a loop", async () => {
  const { transport, counts, acknowledge } = failsLater();
  await using toolport = createToolport({ mcpServers: { up: { transport } } });
  const port = usersOf(toolport).use("ada", "needed");
  await port.need("tools", PATIENT);
  port.listen();
  await waitFor(() => counts.streams === 1);
  acknowledge();
  await waitFor(() => counts.lists === 2);
  await pause(300);
  expect(counts.lists).toBe(2);
});

test("a client that stops and listens again at once gets reports of changes", async () => {
  await using late = await lateServer({ era: "modern", tools: { old: tool } });
  await using toolport = createToolport({ mcpServers: { up: { url: late.url } } });
  const { acknowledged } = followWire(toolport);
  const port = usersOf(toolport).use("ada", "needed");
  await port.need("tools", PATIENT);
  port.listen()();
  port.listen();
  await acknowledged;
  // The first listener stops when its request was sent.
  await pause(200);
  const changed = nextChange(toolport);
  await late.server.update({ tools: { new: tool } });
  expect(await changed).toMatchObject({ lists: ["tools"] });
});

describe("a list that was read for another user", () => {
  const cacheHints = { "tools/list": { ttlMs: 600_000, cacheScope: "public" as const } };

  test("is read again if it was replaced before the client listened", async () => {
    await using late = await lateServer({ era: "modern", tools: { old: tool }, cacheHints });
    await using toolport = createToolport({ mcpServers: { up: { url: late.url } } });
    const { acknowledged } = followWire(toolport);
    const users = usersOf(toolport);
    const [ada, bob] = [users.use("ada", "needed"), users.use("bob", "needed")];
    await bob.need("tools", PATIENT);
    await ada.need("tools", PATIENT);
    expect(late.count("tools/list")).toBe(1);
    bob.listen();
    await acknowledged;
    const changed = nextChange(toolport);
    await late.server.update({ tools: { new: tool } });
    await changed;
    await bob.need("tools", PATIENT);
    expect(namesOf(ada)).toEqual(["up__old"]);
    ada.listen();
    await waitFor(() => namesOf(ada).includes("up__new"));
  });

  test("is read once when it has changed", async () => {
    await using late = await lateServer({ era: "modern", tools: { old: tool }, cacheHints });
    await using toolport = createToolport({ mcpServers: { up: { url: late.url } } });
    const users = usersOf(toolport);
    const [ada, bob] = [users.use("ada", "needed"), users.use("bob", "needed")];
    // Without a stream, nothing else makes the lists outdated.
    late.hold(LISTEN);
    await bob.need("tools", PATIENT);
    ada.listen();
    await ada.need("tools", PATIENT);
    expect(late.count("tools/list")).toBe(1);
    await late.server.update({ tools: { new: tool } });
    ada.lists.markChanged("up", "tools");
    await ada.need("tools", PATIENT);
    await pause(200);
    expect(namesOf(ada)).toEqual(["up__new"]);
    expect(late.count("tools/list")).toBe(2);
  });

  test("is followed if another server has got the name", async () => {
    await using one = await lateServer({ era: "modern", tools: { one: tool }, cacheHints });
    await using two = await lateServer({ era: "modern", tools: { two: tool }, cacheHints });
    await using toolport = createToolport({ mcpServers: { up: { url: one.url } } });
    const users = usersOf(toolport);
    const [ada, bob] = [users.use("ada", "needed"), users.use("bob", "needed")];
    await bob.need("tools", PATIENT);
    ada.listen();
    await ada.need("tools", PATIENT);
    await toolport.remove("up");
    toolport.add("up", { url: two.url });
    await bob.need("tools", PATIENT);
    await ada.need("tools", PATIENT);
    expect(namesOf(ada)).toEqual(["up__two"]);
    expect(ada.catalog.keptOf("up")?.reads.tools?.isShared).toBe(true);
    await two.server.update({ tools: { new: tool } });
    bob.lists.markChanged("up", "tools");
    await bob.need("tools", PATIENT);
    await waitFor(() => namesOf(ada).includes("up__new"));
  });
});

test("a legacy server gets one stream from a client that stops and listens again", async () => {
  // Without jitter.
  const random = vi.spyOn(Math, "random").mockReturnValue(0);
  onTestFinished(() => random.mockRestore());
  const server = await legacyServer();
  onTestFinished(server.close);
  await using toolport = createToolport({ mcpServers: { up: { url: server.url } } });
  const port = usersOf(toolport).use("ada", "needed");
  await port.need("tools", PATIENT);
  const stop = port.listen();
  await waitFor(() => server.streams.size === 1);
  for (const stream of server.streams) stream.end();
  // The client has noticed it, and opens the stream again later.
  await pause(200);
  stop();
  await pause(50);
  const stopAgain = port.listen();
  await pause(1_500);
  expect(server.streams.size).toBe(1);
  stopAgain();
  await waitFor(() => server.streams.size === 0);
});

/** A modern server that lists its tools once, and acknowledges a subscription when the test says so. */
function failsLater() {
  const counts = { lists: 0, streams: 0 };
  let acknowledge = () => {};
  const transport = handWrittenServer(async ({ id, method, params }, send) => {
    const say = (message: object) => send(message).catch(() => {});
    if (method === "server/discover")
      return say({ id, result: { supportedVersions: ["2026-07-28"], capabilities: CAPABILITIES } });
    if (method === "tools/list") {
      counts.lists += 1;
      const tools = [{ name: "old", inputSchema: { type: "object" } }];
      const isFirst = counts.lists === 1;
      // Lets timers run, so that the test ends even if the list is requested in a loop.
      await pause(1);
      return say({ id, ...(isFirst ? { result: { resultType: "complete", tools } } : { error: BUSY }) });
    }
    if (method !== LISTEN) return;
    counts.streams += 1;
    const _meta = { "io.modelcontextprotocol/subscriptionId": id };
    const named = { method: "notifications/subscriptions/acknowledged" };
    const notifications = params?.["notifications"];
    acknowledge = () => void say({ ...named, params: { notifications, _meta } });
  });
  return { transport, counts, acknowledge: () => acknowledge() };
}

const BUSY = { code: -32603, message: "busy" };
const CAPABILITIES = { tools: { listChanged: true } };

/** A legacy server that allows several streams at once. */
async function legacyServer() {
  const streams = new Set<ServerResponse>();
  const serverInfo = { name: "legacy", version: "1" };
  const results: Record<string, object> = {
    initialize: { protocolVersion: "2025-11-25", capabilities: CAPABILITIES, serverInfo },
    "tools/list": { tools: [] },
  };
  const server = createServer(async (request, response) => {
    let text = "";
    for await (const chunk of request) text += chunk;
    if (request.method === "GET") {
      streams.add(response);
      response.on("close", () => streams.delete(response));
      response.writeHead(200, { "content-type": "text/event-stream" });
      return void response.write("id: 1\nretry: 600\ndata:\n\n");
    }
    const { id, method } = JSON.parse(text || "{}") as { id?: unknown; method?: string };
    if (id === undefined) return void response.writeHead(202).end();
    const result = results[method ?? ""];
    const content = result === undefined ? { error: { code: -32601, message: "No" } } : { result };
    response.writeHead(200, { "content-type": "application/json" });
    response.end(JSON.stringify({ jsonrpc: "2.0", id, ...content }));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as { port: number };
  const close = () => {
    server.closeAllConnections();
    server.close();
  };
  return { url: `http://127.0.0.1:${port}/mcp`, streams, close };
}
