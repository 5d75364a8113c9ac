/** Subscriptions to resources: one on the wire for all listeners, reopened after a reconnect. */
import type { JSONRPCMessage, Transport } from "@modelcontextprotocol/client";
import { type CustomServerEntry, createToolport, type ResourceUpdate } from "toolport";
import { createTestServer, type TestServer } from "toolport/testing";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { failure } from "../support/failure.js";
import { type LeakSnapshot, takeLeakSnapshot, waitForNoLeaks } from "../support/leaks.js";
import { waitFor } from "../support/wait-for.js";

let before: LeakSnapshot;
beforeEach(() => {
  before = takeLeakSnapshot();
});
afterEach(() => waitForNoLeaks(before));

const resources = { "t://a": { text: "a" }, "t://b": { text: "b" }, "t://dir": { text: "dir" } };
const uris = (updates: readonly ResourceUpdate[]) =>
  updates.map(({ uri, missed }) => (missed ? `${uri} missed` : uri));

/** A server entry that records requests which start or end a subscription, and can send notifications. */
function onTheWire(entry: CustomServerEntry) {
  const sent: string[] = [];
  let transport: Transport | undefined;
  const note = (message: { method?: string; params?: Record<string, unknown> }) => {
    const { uri, notifications } = (message.params ?? {}) as {
      uri?: string;
      notifications?: { resourceSubscriptions?: string[] };
    };
    if (!/subscri|cancelled/.test(message.method ?? "")) return;
    sent.push(`${message.method} ${uri ?? notifications?.resourceSubscriptions?.join(" ") ?? ""}`.trim());
  };
  return {
    sent,
    tell: (message: object) => transport?.onmessage?.({ jsonrpc: "2.0", ...message } as JSONRPCMessage),
    entry: {
      ...entry,
      async transport() {
        const opened = await entry.transport();
        const send = opened.send.bind(opened);
        opened.send = (message, options) => {
          note(message as Parameters<typeof note>[0]);
          return send(message, options);
        };
        transport = opened;
        return opened;
      },
    },
  };
}

/** Updates the resource until the subscription reports it. */
const updateUntilReported = (server: TestServer, updates: readonly ResourceUpdate[]) =>
  waitFor(
    async () => {
      await server.resourceUpdated("t://a");
      return updates.length > 0;
    },
    { intervalMs: 100 },
  );

describe.each(["legacy", "modern"] as const)("%s era", (era) => {
  test.each(["memory", "stdio", "http", "webSocket"] as const)("updates arrive over %s", async (way) => {
    await using server = createTestServer({ era, resources });
    const served = way === "memory" ? { entry: server.memory() } : await server[way]();
    await using toolport = createToolport({ mcpServers: { it: served.entry } });
    const updates: ResourceUpdate[] = [];
    const stop = await toolport.subscribe("it", "t://a", (update) => updates.push(update));
    // Over HTTP the stream for server messages opens in parallel with the first requests.
    await updateUntilReported(server, updates);
    expect(updates[0]).toEqual({ server: "it", uri: "t://a", missed: false });
    await server.resourceUpdated("t://b");
    await stop();
    const reported = updates.length;
    await server.resourceUpdated("t://a");
    await toolport.ping("it");
    expect(updates).toHaveLength(reported);
    expect(uris(updates)).not.toContain("t://b");
  });

  test("several listeners share one subscription; the last one ends it", async () => {
    await using server = createTestServer({ era, resources });
    const wire = onTheWire(server.memory());
    await using toolport = createToolport({ mcpServers: { it: wire.entry } });
    const heard: string[] = [];
    const [first, second] = await Promise.all([
      toolport.subscribe("it", "t://a", () => heard.push("first")),
      toolport.subscribe("it", "t://a", () => heard.push("second")),
    ]);
    const other = await toolport.subscribe("it", "t://b", () => heard.push("other"));
    await server.resourceUpdated("t://a");
    await waitFor(() => heard.length >= 2);
    expect([...new Set(heard)].sort()).toEqual(["first", "second"]);
    await first();
    await first();
    heard.length = 0;
    await server.resourceUpdated("t://a");
    await waitFor(() => heard.length > 0);
    expect([...new Set(heard)]).toEqual(["second"]);
    await second();
    await other();
    if (era === "legacy") {
      expect(wire.sent).toEqual([
        ...["resources/subscribe t://a", "resources/subscribe t://b"],
        ...["resources/unsubscribe t://a", "resources/unsubscribe t://b"],
      ]);
    } else {
      const listens = wire.sent.filter((line) => line.startsWith("subscriptions/listen t"));
      expect(listens.slice(0, 2)).toEqual(["subscriptions/listen t://a", "subscriptions/listen t://a t://b"]);
    }
  });

  test("stays active when ended and started again at once", async () => {
    await using server = createTestServer({ era, resources });
    await using toolport = createToolport({ mcpServers: { it: server.memory() } });
    let reported = 0;
    for (let round = 0; round < 5; round += 1) {
      const stop = await toolport.subscribe("it", "t://a", () => {});
      void stop();
    }
    const stop = await toolport.subscribe("it", "t://a", () => reported++);
    await server.resourceUpdated("t://a");
    await waitFor(() => reported > 0);
    await stop();
  });

  test("a restart of the server: reopened, and the listener learns once that it may have missed updates", async () => {
    await using server = createTestServer({ era, resources });
    const stdio = await server.stdio();
    await using toolport = createToolport({ mcpServers: { it: stdio.entry } });
    const updates: ResourceUpdate[] = [];
    const stop = await toolport.subscribe("it", "t://a", (update) => updates.push(update));
    // The process exits; another one replaces it.
    stdio.dropConnections();
    await waitFor(() => uris(updates).includes("t://a missed"));
    expect(uris(updates)).toEqual(["t://a missed"]);
    expect(await toolport.readResource("it", "t://a")).toMatchObject([{ text: "a" }]);
    await server.resourceUpdated("t://a");
    await waitFor(() => uris(updates).includes("t://a"));
    await stop();
  });

  test("over HTTP, a server that was down for a while", async () => {
    await using server = createTestServer({ era, resources });
    const first = await server.http();
    await using toolport = createToolport({ mcpServers: { it: first.entry } });
    const updates: ResourceUpdate[] = [];
    const stop = await toolport.subscribe("it", "t://a", (update) => updates.push(update));
    await updateUntilReported(server, updates);
    await first.close();
    const second = await server.http({ port: Number(new URL(String(first.entry.url)).port) });
    // The subscription notices the restart although no call is made.
    await waitFor(() => uris(updates).includes("t://a missed"));
    updates.length = 0;
    await updateUntilReported(server, updates);
    expect(uris(updates)).not.toContain("t://a missed");
    await stop();
    await second.close();
  });

  test("fails for a server without subscriptions, and for an unknown server", async () => {
    await using server = createTestServer({ era, resources, capabilities: { resources: {} } });
    await using toolport = createToolport({ mcpServers: { it: server.memory() } });
    expect(await failure(toolport.subscribe("it", "t://a", () => {}))).toMatchObject({
      name: "CatalogError",
      code: "NOT_OFFERED",
      server: "it",
    });
    expect(await failure(toolport.subscribe("no", "t://a", () => {}))).toMatchObject({
      code: "UNKNOWN_SERVER",
    });
  });

  test("a listener that throws is reported and affects no other", async () => {
    await using server = createTestServer({ era, resources });
    await using toolport = createToolport({ mcpServers: { it: server.memory() } });
    const warnings: string[] = [];
    toolport.on("warning", ({ message }) => warnings.push(message));
    let good = 0;
    await toolport.subscribe("it", "t://a", () => {
      throw new Error("my own fault");
    });
    await toolport.subscribe("it", "t://a", async () => {
      throw new Error("mine as well");
    });
    await toolport.subscribe("it", "t://a", () => good++);
    await server.resourceUpdated("t://a");
    await waitFor(() => good > 0 && warnings.length >= 2);
    expect(warnings.join()).toContain("my own fault");
    expect(warnings.join()).toContain("mine as well");
  });

  test("each user has separate subscriptions", async () => {
    await using server = createTestServer({ era, resources });
    await using toolport = createToolport({ mcpServers: { it: server.memory() } });
    const updates: ResourceUpdate[] = [];
    await toolport.as("ada").subscribe("it", "t://a", (update) => updates.push(update));
    await server.resourceUpdated("t://a");
    await waitFor(() => updates.length > 0);
    expect(updates[0]).toMatchObject({ principal: "ada" });
    await toolport.as("ada").close();
  });
});

test("an update of a sub-resource counts; one of a sibling does not", async () => {
  await using server = createTestServer({ era: "legacy", resources });
  const wire = onTheWire(server.memory());
  await using toolport = createToolport({ mcpServers: { it: wire.entry } });
  const updates: ResourceUpdate[] = [];
  await toolport.subscribe("it", "t://dir", (update) => updates.push(update));
  for (const uri of ["t://dirs/x", "t://dir/x", "t://dir"])
    wire.tell({ method: "notifications/resources/updated", params: { uri } });
  expect(uris(updates)).toEqual(["t://dir/x", "t://dir"]);
});

test("a slow listener gets a flood of updates as one", async () => {
  await using server = createTestServer({ era: "legacy", resources });
  await using toolport = createToolport({ mcpServers: { it: server.memory() } });
  let letGo = () => {};
  const held = new Promise<void>((resolve) => {
    letGo = resolve;
  });
  let reported = 0;
  await toolport.subscribe("it", "t://a", async () => {
    reported += 1;
    await held;
  });
  let heard = 0;
  toolport.on("notification", () => heard++);
  for (let count = 0; count < 500; count += 1) await server.resourceUpdated("t://a");
  await waitFor(() => heard === 500);
  expect(reported).toBe(1);
  letGo();
  await waitFor(() => reported === 2);
  await toolport.ping("it");
  expect(reported).toBe(2);
});

test("a connection with a subscription is not closed when idle; after the last one ends it is", async () => {
  await using server = createTestServer({ era: "legacy", resources });
  await using toolport = createToolport({ mcpServers: { it: server.memory() }, idleTimeoutMs: 100 });
  const stop = await toolport.subscribe("it", "t://a", () => {});
  await new Promise((resolve) => setTimeout(resolve, 400));
  expect(toolport.snapshot().servers["it"]?.state).toBe("ready");
  await stop();
  await waitFor(() => toolport.snapshot().servers["it"]?.state === "closed");
});

test("disconnect() pauses it until the server reconnects; remove() ends it", async () => {
  await using server: TestServer = createTestServer({ era: "legacy", resources });
  await using toolport = createToolport({ mcpServers: { it: server.memory() } });
  const updates: ResourceUpdate[] = [];
  const stop = await toolport.subscribe("it", "t://a", (update) => updates.push(update));
  await toolport.disconnect("it");
  await toolport.connectServer("it");
  await waitFor(() => uris(updates).includes("t://a missed"));
  await toolport.remove("it");
  await toolport.add("it", server.memory());
  await server.resourceUpdated("t://a");
  await toolport.ping("it");
  expect(uris(updates)).toEqual(["t://a missed"]);
  await stop();
});

test("an aborted subscribe() leaves nothing behind", async () => {
  await using server = createTestServer({ era: "legacy", resources });
  let hold = true;
  const http = await server.http({
    async intercept(request) {
      if (hold && (await request.clone().text()).includes("resources/subscribe"))
        await new Promise((resolve) => setTimeout(resolve, 300));
      return undefined;
    },
  });
  await using toolport = createToolport({ mcpServers: { it: http.entry } });
  await toolport.connect();
  const aborted = new AbortController();
  const subscribing = toolport.subscribe("it", "t://a", () => {}, { signal: aborted.signal });
  aborted.abort(new Error("enough"));
  expect(await failure<Error>(subscribing)).toMatchObject({ message: "enough" });
  expect(await failure(toolport.subscribe("it", "t://a", () => {}, { timeoutMs: 20 }))).toMatchObject({
    code: "TIMEOUT",
    phase: "subscribe",
  });
  hold = false;
  await (await toolport.subscribe("it", "t://a", () => {}))();
});
