/** How long modern clients of a gateway may keep its lists, and whether they may share them. */
import { EventEmitter, once } from "node:events";
import { createTestServer } from "toolport/testing";
import { afterEach, describe, expect, onTestFinished, test, vi } from "vitest";
import {
  JsonRpcFailure,
  type JsonRpcMethods,
  startJsonRpcServer,
} from "../../../test/fixtures/servers/http-json-rpc.js";
import { startOAuthBench } from "../../../test/support/oauth-bench.js";
import { openAttackScene } from "./attack-scene.js";
import { openGateway } from "./gateway-scene.js";
import { startListenServer } from "./support/listen-server.js";
import { sendModern } from "./support/raw-gateway-client.js";

const NOT_CACHED = { ttlMs: 0, cacheScope: "private" };

interface Said {
  readonly ttlMs?: number;
  readonly cacheScope?: string;
}

const tool = (name: string) => ({ name, inputSchema: { type: "object" } });

/** A modern server with one tool. */
function startServer(said: Said, more: JsonRpcMethods = {}) {
  return startJsonRpcServer({
    "tools/list": () => ({ resultType: "complete", tools: [tool("echo")], ...said }),
    ...more,
  });
}

/** What a gateway without users says about a list. */
async function cacheOf(url: string, method = "tools/list", params = {}): Promise<Said> {
  const { ttlMs, cacheScope } = (await sendModern(url, method, params)).message.result as Said;
  return { ttlMs: ttlMs!, cacheScope: cacheScope! };
}

/** Stops the clock; returns a function that moves it. */
function stopClock(): (ms: number) => void {
  vi.useFakeTimers({ toFake: ["Date"], now: Date.now() });
  return (ms) => vi.setSystemTime(Date.now() + ms);
}

afterEach(() => void vi.useRealTimers());

test("a list has the shortest time of its servers, and is public if all parts are", async () => {
  stopClock();
  await using one = await startServer({ ttlMs: 60_000, cacheScope: "public" });
  await using two = await startServer({ ttlMs: 30_000, cacheScope: "public" });
  await using scene = await openGateway({ mcpServers: { one: one.entry, two: two.entry } });
  expect(await cacheOf(scene.url)).toEqual({ ttlMs: 30_000, cacheScope: "public" });
});

test("a client gets what is left of the time of the server", async () => {
  const pass = stopClock();
  await using one = await startServer({ ttlMs: 30_000, cacheScope: "public" });
  await using scene = await openGateway({ mcpServers: { one: one.entry } });
  const reads = () => one.asked.filter((method) => method === "tools/list").length;
  expect(await cacheOf(scene.url)).toMatchObject({ ttlMs: 30_000 });
  pass(20_000);
  expect(await cacheOf(scene.url)).toMatchObject({ ttlMs: 10_000 });
  expect(reads()).toBe(1);
  pass(10_000);
  expect(await cacheOf(scene.url)).toMatchObject({ ttlMs: 30_000 });
  expect(reads()).toBe(2);
});

test.each([
  ["private", { ttlMs: 60_000, cacheScope: "private" }, { ttlMs: 60_000, cacheScope: "private" }],
  ["silent about who may share it", { ttlMs: 60_000 }, { ttlMs: 60_000, cacheScope: "private" }],
  ["silent about the time", { cacheScope: "public" }, { ttlMs: 0, cacheScope: "public" }],
  ["silent", {}, NOT_CACHED],
  ["not to be kept", { ttlMs: 0, cacheScope: "public" }, { ttlMs: 0, cacheScope: "public" }],
  ["given a negative time", { ttlMs: -5, cacheScope: "public" }, { ttlMs: 0, cacheScope: "public" }],
] as const)("one part that is %s decides for the list", async (_, said, expected) => {
  stopClock();
  await using one = await startServer({ ttlMs: 90_000, cacheScope: "public" });
  await using two = await startServer(said);
  await using scene = await openGateway({ mcpServers: { one: one.entry, two: two.entry } });
  expect(await cacheOf(scene.url)).toEqual(expected);
});

test("a legacy server says nothing about its lists, whatever fields it sends", async () => {
  const list = { tools: [tool("echo")], ttlMs: 60_000, cacheScope: "public" };
  await using old = await startJsonRpcServer({ "tools/list": () => list }, { era: "legacy" });
  await using one = await startServer({ ttlMs: 90_000, cacheScope: "public" });
  await using scene = await openGateway({ mcpServers: { old: old.entry, one: one.entry } });
  expect(await cacheOf(scene.url)).toEqual(NOT_CACHED);
});

test("the shortest time of all pages of a server counts, and each list has its own", async () => {
  stopClock();
  const page = { resultType: "complete", cacheScope: "public" };
  await using one = await startJsonRpcServer({
    "tools/list": ({ params }) =>
      params["cursor"] === undefined
        ? { ...page, ttlMs: 60_000, tools: [tool("a")], nextCursor: "2" }
        : { ...page, ttlMs: 0, tools: [tool("b")] },
    "prompts/list": () => ({ ...page, ttlMs: 40_000, prompts: [{ name: "p" }] }),
    "resources/list": () => ({ ...page, ttlMs: 20_000, resources: [] }),
  });
  await using scene = await openGateway({ mcpServers: { one: one.entry } });
  expect(await cacheOf(scene.url)).toEqual({ ttlMs: 0, cacheScope: "public" });
  expect(await cacheOf(scene.url, "prompts/list")).toEqual({ ttlMs: 40_000, cacheScope: "public" });
  expect(await cacheOf(scene.url, "resources/list")).toEqual({ ttlMs: 20_000, cacheScope: "public" });
});

test("a server without a list has no part in it", async () => {
  stopClock();
  const page = { resultType: "complete", cacheScope: "public", ttlMs: 40_000 };
  await using one = await startServer(page, {
    "prompts/list": () => ({ ...page, prompts: [{ name: "p" }] }),
  });
  await using old = await startJsonRpcServer({ "tools/list": () => ({ tools: [] }) }, { era: "legacy" });
  await using scene = await openGateway({ mcpServers: { one: one.entry, old: old.entry } });
  expect(await cacheOf(scene.url, "prompts/list")).toEqual({ ttlMs: 40_000, cacheScope: "public" });
  expect(await cacheOf(scene.url, "resources/list")).toEqual(NOT_CACHED);
});

test("a list that could not be read is not kept", async () => {
  const page = { resultType: "complete", cacheScope: "public", ttlMs: 40_000 };
  await using one = await startServer(page, { "prompts/list": () => new JsonRpcFailure(-32603, "no") });
  await using two = await startServer(page, { "prompts/list": () => ({ ...page, prompts: [] }) });
  await using scene = await openGateway({ mcpServers: { one: one.entry, two: two.entry } });
  expect(await cacheOf(scene.url, "prompts/list")).toMatchObject({ ttlMs: 0 });
});

describe("a server that is not ready", () => {
  const said = { ttlMs: 60_000, cacheScope: "public" };

  test("one that is down", async () => {
    await using one = await startServer(said);
    const two = await startServer(said);
    await using scene = await openGateway({ mcpServers: { one: one.entry, two: two.entry } });
    expect((await cacheOf(scene.url)).ttlMs).toBeGreaterThan(0);
    await two[Symbol.asyncDispose]();
    const down = new Promise<void>((resolve) =>
      scene.toolport.on("state", ({ server, to }) => {
        if (server === "two" && to === "reconnecting") resolve();
      }),
    );
    const waiting = new AbortController();
    const calling = scene.toolport.callTool("two__echo", {}, { signal: waiting.signal }).catch(() => {});
    await down;
    waiting.abort();
    await calling;
    expect(await cacheOf(scene.url)).toMatchObject({ ttlMs: 0 });
  });

  test("one that was disconnected", async () => {
    await using one = await startServer(said);
    await using scene = await openGateway({ mcpServers: { one: one.entry } });
    expect((await cacheOf(scene.url)).ttlMs).toBeGreaterThan(0);
    await scene.toolport.disconnect("one");
    expect(await cacheOf(scene.url)).toMatchObject({ ttlMs: 0 });
  });

  test("one that is starting", async () => {
    let answer = () => {};
    const started = new Promise<void>((resolve) => {
      answer = resolve;
    });
    await using one = await startServer(said);
    const slow = createTestServer({ tools: {} });
    onTestFinished(() => slow.close());
    const { transport } = slow.memory();
    const entry = {
      transport: async (...given: Parameters<typeof transport>) => {
        await started;
        return transport(...given);
      },
    };
    await using scene = await openGateway({
      mcpServers: { one: one.entry, slow: entry },
      catalog: { toolport: 1, servers: { slow: { tools: [tool("later")] } } } as never,
    });
    expect(await cacheOf(scene.url)).toMatchObject({ ttlMs: 0 });
    answer();
  });

  test("one that waits for a login", async () => {
    await using one = await startServer(said);
    await using bench = await startOAuthBench();
    await using scene = await openGateway({
      mcpServers: { one: one.entry, vault: { url: bench.url } },
      callbackUrl: "http://localhost:9/callback",
    });
    expect(await cacheOf(scene.url)).toEqual(NOT_CACHED);
  });
});

/** Its list can be read only once. */
async function startChangingServer() {
  let again = () => {};
  const readAgain = new Promise<void>((resolve) => {
    again = resolve;
  });
  const server = await startListenServer((read) => {
    if (read === 1) return { tools: [tool("echo")], ttlMs: 60_000, cacheScope: "public" };
    again();
    return new Promise(() => {});
  });
  onTestFinished(() => server.close());
  return { ...server, readAgain };
}

test("a list that has changed at its server is not kept until it is read again", async () => {
  const { entry, opened, readAgain } = await startChangingServer();
  await using scene = await openGateway({ mcpServers: { one: entry } });
  expect((await cacheOf(scene.url)).ttlMs).toBeGreaterThan(0);
  (await opened)("notifications/tools/list_changed");
  await readAgain;
  expect(await cacheOf(scene.url)).toMatchObject({ ttlMs: 0 });
});

test("a list of a user that has changed at its server is not kept until it is read again", async () => {
  const { entry, opened, readAgain } = await startChangingServer();
  await using scene = await openAttackScene({ mcpServers: { one: entry } });
  const ttlMs = async () => (await scene.modern("ada", "tools/list")).last.result.ttlMs;
  const listening = new AbortController();
  const news = new EventEmitter();
  const ended = scene
    .modern(
      "ada",
      "subscriptions/listen",
      { notifications: { toolsListChanged: true } },
      { signal: listening.signal, onMessage: ({ method }) => void news.emit(method ?? "") },
    )
    .catch(() => {});
  expect(await ttlMs()).toBeGreaterThan(0);
  const changed = once(news, "notifications/tools/list_changed");
  (await opened)("notifications/tools/list_changed");
  await changed;
  const listed = ttlMs();
  await readAgain;
  expect(await listed).toBe(0);
  listening.abort();
  await ended;
});

describe("all pages have the same scope", () => {
  const many = Array.from({ length: 250 }, (_, index) => tool(`t${index}`));

  async function open(first: string, second: string) {
    const pass = stopClock();
    let cacheScope = first;
    const one = await startJsonRpcServer({
      "tools/list": () => ({ resultType: "complete", tools: many, ttlMs: 60_000, cacheScope }),
    });
    onTestFinished(() => one[Symbol.asyncDispose]());
    const scene = await openGateway({ mcpServers: { one: one.entry } });
    onTestFinished(() => scene[Symbol.asyncDispose]());
    const page = (await sendModern(scene.url, "tools/list")).message.result!;
    cacheScope = second;
    if (second !== first) pass(61_000);
    const next = await cacheOf(scene.url, "tools/list", { cursor: page["nextCursor"] });
    return [page["cacheScope"], next.cacheScope];
  }

  test("public", async () => expect(await open("public", "public")).toEqual(["public", "public"]));
  test("private, even if the list is public by now", async () =>
    expect(await open("private", "public")).toEqual(["private", "private"]));
  test("a list that became private is never sent as public", async () =>
    expect(await open("public", "private")).toEqual(["public", "private"]));
});

describe("lists that depend on the user are private", () => {
  const said = { ttlMs: 60_000, cacheScope: "public" };

  test("with users; a second user gets what is left of a shared list", async () => {
    const pass = stopClock();
    await using one = await startServer(said);
    await using scene = await openAttackScene({ mcpServers: { one: one.entry } });
    const of = async (user: string) => {
      const { ttlMs, cacheScope } = (await scene.modern(user, "tools/list")).last.result;
      return { ttlMs, cacheScope };
    };
    expect(await of("ada")).toEqual({ ttlMs: 60_000, cacheScope: "private" });
    pass(15_000);
    expect(await of("bob")).toEqual({ ttlMs: 45_000, cacheScope: "private" });
    expect(one.asked.filter((method) => method === "tools/list")).toHaveLength(1);
  });

  test("with a token", async () => {
    stopClock();
    await using one = await startServer(said);
    const token = "t".repeat(32);
    await using scene = await openGateway({ mcpServers: { one: one.entry } }, { auth: { token } });
    const { message } = await sendModern(scene.url, "tools/list", {}, { token });
    expect(message.result).toMatchObject({ ttlMs: 60_000, cacheScope: "private" });
  });

  test.each([
    ["a policy", { policy: () => ({ effect: "allow" as const }) }],
    ["servers of the user", { servers: () => ["one"] }],
  ])("with %s", async (_, options) => {
    stopClock();
    await using one = await startServer(said);
    await using scene = await openGateway({ mcpServers: { one: one.entry } }, { auth: false, ...options });
    expect(await cacheOf(scene.url)).toEqual({ ttlMs: 60_000, cacheScope: "private" });
  });
});

test.each([
  [false, 0],
  [{ ttlMs: 5_000 }, 5_000],
  [true, 60_000],
])("the option cache: %o of an entry holds for clients, too", async (cache, ttlMs) => {
  stopClock();
  await using one = await startServer({ ttlMs: 60_000, cacheScope: "public" });
  await using scene = await openGateway({ mcpServers: { one: { ...one.entry, cache } } });
  expect(await cacheOf(scene.url)).toEqual({ ttlMs, cacheScope: "public" });
});
