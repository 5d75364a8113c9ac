/** A server that changes its tools: the list is read again once, and listeners get an event. */
import { createToolport, type Toolport } from "toolport";
import { createTestServer, type TestServer, type TestTool } from "toolport/testing";
import { describe, expect, test, vi } from "vitest";
import { waitFor } from "../support/wait-for.js";

const tool: TestTool = { handler: () => "hi" };
const named = (...names: string[]) => Object.fromEntries(names.map((name) => [name, tool]));

/** Waits until the port has exactly these tools, without a request to a server. */
const known = (toolport: Toolport, ...names: string[]) =>
  waitFor(
    () => {
      const listed = toolport.snapshot().tools.map(({ sourceName }) => sourceName);
      return listed.length === names.length && names.every((name) => listed.includes(name));
    },
    { label: () => `${names} instead of ${toolport.snapshot().tools.map((t) => t.name)}` },
  );

/** Long enough to notice a second read. */
const quiet = () => new Promise((resolve) => setTimeout(resolve, 150));

/** Waits until reading has stopped: a queued read starts up to a second after the previous one. */
async function settled(toolport: Toolport): Promise<void> {
  let last = performance.now();
  const off = toolport.on("tools", () => {
    last = performance.now();
  });
  await waitFor(() => performance.now() - last > 1_500);
  off();
}

describe.concurrent.each(["legacy", "modern"] as const)("a changed list, %s era", (era) => {
  test.each(["memory", "stdio", "http", "webSocket"] as const)("over %s is read again, once", async (way) => {
    await using server = createTestServer({ era, tools: named("one") });
    const served = way === "memory" ? { entry: server.memory() } : await server[way]();
    await using toolport = createToolport({ mcpServers: { it: served.entry, other: served.entry } });
    await toolport.connect();
    await listening(toolport, server);
    await settled(toolport);
    const heard: string[] = [];
    toolport.on("tools", ({ server: name }) => heard.push(name));
    await server.update({ tools: named("one", "two") });
    await known(toolport, "one", "two", "one", "two");
    await quiet();
    expect(heard.sort()).toEqual(["it", "other"]);
    expect((await toolport.tools()).map(({ name }) => name)).toEqual([
      ...["it__one", "it__two"],
      ...["other__one", "other__two"],
    ]);
    expect((await toolport.callTool("it__two")).text).toBe("hi");
    await server.update({ tools: {} });
    await known(toolport);
  });
});

test("ten changes at once cause one read", async () => {
  await using server = createTestServer({ era: "legacy", tools: named("one") });
  await using toolport = createToolport({ mcpServers: { it: server.memory() } });
  await toolport.connect();
  const heard: string[] = [];
  toolport.on("tools", ({ server: name }) => heard.push(name));
  for (let count = 0; count < 10; count += 1) await server.update({ tools: named("one", `new-${count}`) });
  await known(toolport, "one", "new-9");
  await quiet();
  expect(heard).toEqual(["it"]);
});

/**
 * Waits until the port listens to both servers: the subscription (or the stream) opens in parallel with the first
 * calls. Then until all notifications sent for this purpose have arrived.
 */
async function listening(toolport: Toolport, server: TestServer): Promise<void> {
  const heard = new Set<string>();
  let lastAt = 0;
  const off = toolport.on("tools", ({ server: name }) => {
    heard.add(name);
    lastAt = performance.now();
  });
  const tell = async () => {
    await server.update({ tools: named("one") });
    return heard.size === 2;
  };
  await waitFor(tell, { intervalMs: 150, label: "the subscriptions" });
  await waitFor(() => performance.now() - lastAt > 500, { label: "silence" });
  off();
}

test("a dropped modern subscription reopens, and missed changes are found", async () => {
  await using server = createTestServer({ era: "modern", tools: named("one") });
  let listening = 0;
  const http = await server.http({
    async intercept(request) {
      if ((await request.clone().text()).includes("subscriptions/listen")) listening += 1;
      return undefined;
    },
  });
  await using toolport = createToolport({ mcpServers: { it: http.entry } });
  await toolport.connect();
  await waitFor(() => listening === 1);
  // The longest wait before the subscription reopens: the change below happens during it.
  const random = vi.spyOn(Math, "random").mockReturnValue(0.999);
  http.dropConnections();
  await quiet();
  await quiet();
  random.mockRestore();
  expect(listening).toBe(1);
  await server.update({ tools: named("one", "missed") });
  await known(toolport, "one", "missed");
  await waitFor(() => listening === 2);
  await server.update({ tools: named("announced") });
  await known(toolport, "announced");
  expect(toolport.snapshot().servers["it"]).toMatchObject({ state: "ready" });
});

test("a change between two pages of the first list is not lost", async () => {
  // A server that announces a change during the read, and lists the new tool only afterwards.
  const { createLinkedTransports } = await import("toolport");
  let lists = 0;
  const transport = async () => {
    const [client, server] = createLinkedTransports();
    const say = (message: object) => server.send({ jsonrpc: "2.0", ...message } as never);
    server.onmessage = async (message) => {
      const { id, method, params } = message as {
        id?: number;
        method?: string;
        params?: { cursor?: string };
      };
      if (id === undefined) return;
      if (method === "initialize") {
        return say({
          id,
          result: {
            protocolVersion: "2025-11-25",
            capabilities: { tools: { listChanged: true } },
            serverInfo: { name: "paged", version: "1" },
          },
        });
      }
      if (method !== "tools/list") return say({ id, error: { code: -32601, message: "?" } });
      lists += 1;
      const wire = (name: string) => ({ name, inputSchema: { type: "object" } });
      if (params?.cursor === "2") {
        await say({ method: "notifications/tools/list_changed" });
        return say({ id, result: { tools: [wire("b")] } });
      }
      const first = lists === 1 ? [wire("a")] : [wire("a"), wire("new")];
      return say({ id, result: { tools: first, ...(lists === 1 && { nextCursor: "2" }) } });
    };
    await server.start();
    return client;
  };
  await using toolport = createToolport({ mcpServers: { it: { transport, protocol: "legacy" } } });
  await toolport.connect();
  await known(toolport, "a", "new");
});

test("a late response to an old request does not overwrite a newer list", async () => {
  await using server = createTestServer({ era: "legacy", tools: named("old") });
  let hold: Promise<void> | undefined;
  let held = 0;
  const http = await server.http({
    async intercept(request) {
      const text = await request.clone().text();
      if (!text.includes("tools/list") || hold === undefined) return undefined;
      // Answered now, delivered later.
      const { id } = JSON.parse(text) as { id: string };
      held += 1;
      await hold;
      const stale = { name: "stale", inputSchema: { type: "object" } };
      return Response.json({ jsonrpc: "2.0", id, result: { tools: [stale] } });
    },
  });
  await using toolport = createToolport({ mcpServers: { it: http.entry } });
  await toolport.connect();
  let letGo = () => {};
  hold = new Promise((resolve) => {
    letGo = resolve;
  });
  const slow = toolport.refresh("it");
  await waitFor(() => held === 1);
  hold = undefined;
  await server.update({ tools: named("new") });
  await toolport.refresh("it");
  letGo();
  await slow;
  expect((await toolport.tools()).map(({ sourceName }) => sourceName)).toEqual(["new"]);
});
