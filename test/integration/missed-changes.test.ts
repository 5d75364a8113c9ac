/** Lists that change while no stream reports it: they are read again when the stream is open. */
import { createLinkedTransports, createToolport, type ResourceUpdate, type Toolport } from "toolport";
import { describe, expect, test } from "vitest";
import type { TestServerDefinition } from "../../packages/testing/src/index.js";
import { connectListening, followWire, lateServer, nextChange, STREAM } from "../support/late-listening.js";

const tool = { handler: () => "ok" };
const LISTS = ["tools/list", "resources/list", "resources/templates/list", "prompts/list"];
const OLD: TestServerDefinition = {
  tools: { old: tool },
  resources: { "test://old": { text: "" } },
  prompts: { old: { get: () => "" } },
};

const names = (toolport: Toolport) => toolport.snapshot().tools.map(({ sourceName }) => sourceName);

describe.each(["modern", "legacy"] as const)("a %s server over HTTP", (era) => {
  const stream = STREAM[era];

  test.each([
    ["tools", { tools: { new: tool } }],
    ["resources", { resources: { "test://new": { text: "" } } }],
    ["prompts", { prompts: { new: { get: () => "" } } }],
  ] as const)("%s that change before the stream is open are read again", async (list, change) => {
    await using late = await lateServer({ ...OLD, era });
    late.hold(stream);
    await using toolport = createToolport({ mcpServers: { s: { url: late.url } } });
    await toolport.connect();
    await late.server.update(change);
    const changed = nextChange(toolport);
    late.release(stream);
    expect(await changed).toMatchObject({ server: "s", lists: [list] });
    expect(JSON.stringify(toolport.snapshot()[list])).toMatch(/new/);
    expect(JSON.stringify(toolport.snapshot()[list])).not.toMatch(/old/);
  });

  test("a list that is the same causes no event", async () => {
    await using late = await lateServer({ ...OLD, era });
    late.hold(stream);
    await using toolport = createToolport({ mcpServers: { s: { url: late.url } } });
    const wire = followWire(toolport);
    await toolport.connect();
    const events: string[] = [];
    toolport.on("tools", ({ server }) => events.push(server));
    toolport.on("listsChanged", ({ lists }) => events.push(...lists));
    late.release(stream);
    await Promise.all(LISTS.map((method) => wire.answered(method, 2)));
    const changed = nextChange(toolport);
    await late.server.update({ tools: { new: tool } });
    await changed;
    // These events belong to the change.
    expect(events).toEqual(["s", "tools"]);
    expect(names(toolport)).toEqual(["new"]);
    expect(LISTS.map((method) => late.count(method))).toEqual([3, 2, 2, 2]);
  });

  test("a list whose response arrives after the stream is open is read once", async () => {
    await using late = await lateServer({ ...OLD, era });
    for (const method of LISTS) late.hold(method);
    const options = { mcpServers: { s: { url: late.url } } };
    await using toolport = await connectListening(era, options, async (opened) => {
      const requested = LISTS.map((method) => late.next(method));
      await Promise.all([opened, ...requested]);
      for (const method of LISTS) late.release(method);
    });
    const changed = nextChange(toolport);
    await late.server.update({ prompts: { new: { get: () => "" } } });
    expect(await changed).toMatchObject({ lists: ["prompts"] });
    expect(LISTS.map((method) => late.count(method))).toEqual([1, 1, 1, 2]);
  });

  test("changes while the stream is closed are noticed when it is open again", async () => {
    await using late = await lateServer({ ...OLD, era });
    await using toolport = createToolport({ mcpServers: { s: { url: late.url } } });
    const opened = late.next(stream);
    await toolport.connect();
    await opened;
    late.hold(stream);
    const again = late.next(stream);
    late.http.dropConnections();
    await again;
    await late.server.update({ tools: { new: tool } });
    const changed = nextChange(toolport);
    late.release(stream);
    expect(await changed).toMatchObject({ server: "s", lists: ["tools"] });
    expect(names(toolport)).toEqual(["new"]);
  });

  test("a list that the server does not report is read once", async () => {
    const capabilities = { tools: {}, resources: {}, prompts: { listChanged: true } };
    await using late = await lateServer({ ...OLD, era, capabilities });
    late.hold(stream);
    await using toolport = createToolport({ mcpServers: { s: { url: late.url } } });
    await toolport.connect();
    await late.server.update({ prompts: { new: { get: () => "" } } });
    const changed = nextChange(toolport);
    late.release(stream);
    await changed;
    expect(LISTS.map((method) => late.count(method))).toEqual([1, 1, 1, 2]);
  });
});

test("updates of a resource while the stream of a legacy server is closed", async () => {
  await using late = await lateServer({ ...OLD, era: "legacy" });
  await using toolport = createToolport({ mcpServers: { s: { url: late.url } } });
  const updates: ResourceUpdate[] = [];
  let updated = () => {};
  const missed = new Promise<void>((resolve) => {
    updated = resolve;
  });
  const opened = late.next("GET");
  await toolport.subscribe("s", "test://old", (update) => {
    updates.push(update);
    updated();
  });
  await opened;
  late.hold("GET");
  const again = late.next("GET");
  late.http.dropConnections();
  await again;
  await late.server.resourceUpdated("test://old");
  late.release("GET");
  await missed;
  expect(updates).toMatchObject([{ uri: "test://old", missed: true }]);
});

test("a server over one connection that acknowledges after it has listed its tools", async () => {
  let acknowledge = () => {};
  const tools = [{ name: "old", inputSchema: { type: "object" } }];
  const transport = async () => {
    const [client, server] = createLinkedTransports();
    const say = (message: object) => server.send({ jsonrpc: "2.0", ...message } as never);
    server.onmessage = async (message) => {
      const { id, method, params } = message as { id?: unknown; method?: string; params?: object };
      const { notifications } = (params ?? {}) as { notifications?: object };
      if (method === "server/discover") return say({ id, result: DISCOVERED });
      if (method === "tools/list") return say({ id, result: { resultType: "complete", tools } });
      if (method === "subscriptions/listen")
        acknowledge = () => {
          const _meta = { "io.modelcontextprotocol/subscriptionId": id };
          const named = { method: "notifications/subscriptions/acknowledged" };
          void say({ ...named, params: { notifications, _meta } });
        };
    };
    await server.start();
    return client;
  };
  await using toolport = createToolport({ mcpServers: { s: { transport } } });
  await toolport.connect();
  tools.push({ name: "new", inputSchema: { type: "object" } });
  const changed = nextChange(toolport);
  acknowledge();
  expect(await changed).toMatchObject({ lists: ["tools"] });
  expect(names(toolport)).toEqual(["old", "new"]);
});

const DISCOVERED = {
  resultType: "complete",
  supportedVersions: ["2026-07-28"],
  capabilities: { tools: { listChanged: true } },
  ttlMs: 0,
  cacheScope: "private",
  _meta: { "io.modelcontextprotocol/serverInfo": { name: "late", version: "1" } },
};
