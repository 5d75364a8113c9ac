/** `onConnectionError: "ignore"` with a server that never responds: the client waits one connect timeout, then reconnects in the background. */
import { type ClientConfig, MultiServerMCPClient } from "toolport/langchain";
import { createTestServer } from "toolport/testing";
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { failure } from "../../../test/support/failure.js";

const CONNECT_MS = 5_000;
const names = (tools: { name: string }[]) => tools.map(({ name }) => name);

beforeEach(() => {
  // Sockets are real; timers fire only when a test advances the clock.
  vi.useFakeTimers({
    toFake: ["setTimeout", "clearTimeout", "setInterval", "clearInterval", "performance", "Date"],
  });
  // The longest wait that the jitter allows.
  vi.spyOn(Math, "random").mockReturnValue(1);
});
afterEach(() => {
  vi.useRealTimers();
  vi.restoreAllMocks();
});

const turn = () => new Promise((resolve) => setImmediate(resolve));

/** Runs the event loop until the condition holds, without advancing the clock. */
async function settle(condition: () => boolean | Promise<boolean>): Promise<void> {
  while (!(await condition())) await turn();
}

/** One server that does not respond before `speak()` is called, and one that works. */
async function start(config: Omit<ClientConfig, "mcpServers"> = {}) {
  const late = createTestServer({ era: "legacy", tools: { late: { handler: () => "late" } } });
  const well = createTestServer({ tools: { well: { handler: () => "well" } } });
  let isSilent = true;
  let asked = 0;
  const ended = new AbortController();
  const { url } = await late.http({
    intercept: async () => {
      asked += 1;
      if (!isSilent) return undefined;
      await new Promise((resolve) => ended.signal.addEventListener("abort", resolve));
      return new Response("too late", { status: 500 });
    },
  });
  const client = new MultiServerMCPClient({
    onConnectionError: "ignore",
    ...config,
    // Reads one request and does not respond, so that attempts can be counted.
    mcpServers: { silent: { url, protocol: "legacy" }, well: well.memory() },
    toolport: { connectTimeoutMs: CONNECT_MS, ...config.toolport },
  });
  return {
    client,
    asked: () => asked,
    speak: () => {
      isSilent = false;
    },
    /** Waits until an attempt starts after the first `from` requests. */
    attempted: (from: number) => settle(() => asked > from),
    async [Symbol.asyncDispose]() {
      ended.abort();
      vi.useRealTimers();
      await client.close();
      await Promise.all([late.close(), well.close()]);
    },
  };
}

type Scene = Awaited<ReturnType<typeof start>>;

/** The first call, which waits for the connect timeout. */
async function failOnce(scene: Scene, load = () => scene.client.getTools()): Promise<string[]> {
  const asked = scene.asked();
  const loading = load();
  loading.catch(() => {});
  await scene.attempted(asked);
  await vi.advanceTimersByTimeAsync(CONNECT_MS);
  return names(await loading);
}

/** Advances the clock exactly to the next attempt: it must not advance during the attempt. */
async function toAttempt(scene: Scene, waitMs: number): Promise<void> {
  const asked = scene.asked();
  await vi.advanceTimersByTimeAsync(waitMs);
  await scene.attempted(asked);
}

/** Lets the current attempt time out. */
const runOut = () => vi.advanceTimersByTimeAsync(CONNECT_MS);

it("delays by its connect timeout once, and reconnects in the background", async () => {
  await using scene = await start();
  const { client } = scene;
  const startedAt = performance.now();
  expect(await failOnce(scene)).toEqual(["well"]);
  expect(performance.now() - startedAt).toBeGreaterThanOrEqual(CONNECT_MS);
  const asked = scene.asked();

  // With the fake clock a call that waits for the server would never end.
  const stoodAt = performance.now();
  expect(names(await client.getTools())).toEqual(["well"]);
  expect(names(await client.getTools("silent"))).toEqual([]);
  expect(Object.keys(await client.initializeConnections())).toEqual(["well"]);
  expect(await client.getClient("silent")).toBeUndefined();
  expect(Object.keys(await client.listResources())).toEqual(["well"]);
  expect(await failure(client.readResource("silent", "x://y"))).toMatchObject({ serverName: "silent" });
  expect(performance.now()).toBe(stoodAt);
  expect(scene.asked()).toBe(asked);

  // No response to the next attempt either, and no call waits for it.
  await toAttempt(scene, 1_000);
  expect(names(await client.getTools())).toEqual(["well"]);
  await runOut();
  scene.speak();
  await toAttempt(scene, 2_000);
  await settle(async () => (await client.getTools()).length === 2);
  expect(names(await client.getTools())).toEqual(["late", "well"]);
});

it("waits longer before each further attempt", async () => {
  await using scene = await start();
  expect(await failOnce(scene)).toEqual(["well"]);
  for (const waitMs of [1_000, 2_000, 4_000, 8_000]) {
    const asked = scene.asked();
    await vi.advanceTimersByTimeAsync(waitMs - 1);
    for (let round = 0; round < 50; round += 1) await turn();
    expect(scene.asked()).toBe(asked);
    await toAttempt(scene, 1);
    await runOut();
  }
});

it("is passed to your function every time, at once", async () => {
  const seen: string[] = [];
  await using scene = await start({
    onConnectionError: ({ serverName, error }) => void seen.push(`${serverName}: ${error.name}`),
  });
  await failOnce(scene);
  await scene.client.getTools();
  await scene.client.getTools();
  expect(seen).toEqual(Array(3).fill("silent: MCPClientError"));
});

it("delays every caller with its own connections by one timeout", async () => {
  await using scene = await start();
  const asAda = () => scene.client.getTools([], { headers: { "x-user": "ada" } });
  expect(await failOnce(scene)).toEqual(["well"]);
  expect(await failOnce(scene, asAda)).toEqual(["well"]);
  expect(names(await asAda())).toEqual(["well"]);
});

it("is awaited again if errors are thrown", async () => {
  await using scene = await start({ onConnectionError: "throw" });
  expect(await failure(failOnce(scene))).toMatchObject({ serverName: "silent" });
  expect(await failure(failOnce(scene))).toMatchObject({ serverName: "silent" });
});

it("is not contacted after close", async () => {
  await using scene = await start();
  await failOnce(scene);
  await scene.client.close();
  expect(vi.getTimerCount()).toBe(0);
});

it("is not retried if the client is closed during an attempt", async () => {
  await using scene = await start();
  await failOnce(scene);
  await toAttempt(scene, 1_000);
  await scene.client.close();
  await turn();
  expect(vi.getTimerCount()).toBe(0);
});

it("does not delay deferred tools during a reconnect", async () => {
  await using scene = await start({ toolport: { deferTools: true, connectTimeoutMs: CONNECT_MS } });
  expect(await failOnce(scene)).toEqual(["search_tools", "call_tool"]);
  await toAttempt(scene, 1_000);
  expect(names(await scene.client.getTools())).toEqual(["search_tools", "call_tool"]);
});
