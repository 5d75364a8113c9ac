/** The life cycle of a port: every method in every phase, and what is left after close(). */
import { ConfigError, createToolport, type ServerEntry, type ToolportError } from "toolport";
import { createTestServer } from "toolport/testing";
import { describe, expect, test } from "vitest";
import { usePidFolder } from "../fixtures/stdio-peer.js";
import { checkLeaksAfterEach, waitFor } from "../support/leaks.js";
import { isAlive } from "../support/processes.js";

const tools = {
  hello: { handler: () => "hello" },
  hang: { handler: () => new Promise<string>(() => {}) },
};

const scratch = usePidFolder();
const { lean } = scratch;
const waitForNoLeaks = checkLeaksAfterEach();

const failure = (promise: Promise<unknown>): Promise<ToolportError> =>
  promise.then(
    () => Promise.reject(new Error("Expected a failure")),
    (error: ToolportError) => error,
  );

describe("close()", () => {
  test("twice, or at the same time, is the same as once", async () => {
    const toolport = createToolport({ mcpServers: { it: lean() } });
    await toolport.connect();
    await Promise.all([toolport.close(), toolport.close()]);
    expect(scratch.pids().filter(isAlive)).toEqual([]);
    await toolport.close();
    await toolport[Symbol.asyncDispose]();
  });

  test("of a port that never connected returns at once", async () => {
    const toolport = createToolport({ mcpServers: { it: lean() } });
    await toolport.close();
    expect(scratch.pids()).toEqual([]);
    expect(toolport.snapshot().servers["it"]).toMatchObject({ state: "closed" });
  });

  test.each(["at once", "when the process runs"])("while a process starts (%s) leaves none", async (when) => {
    const toolport = createToolport({ mcpServers: { it: lean("--silent") } });
    const connecting = toolport.connect();
    if (when !== "at once") await waitFor(() => scratch.pids().length === 1);
    await toolport.close();
    const { servers } = await connecting;
    expect(servers["it"]).toMatchObject({ state: "closed", error: { code: "CLOSED" } });
    const started = scratch.pids();
    expect(started.filter(isAlive)).toEqual([]);
    // The interrupted connect starts nothing more.
    await waitForNoLeaks();
    expect(scratch.pids()).toEqual(started);
  });

  test("while an HTTP server does not answer leaves no socket", async () => {
    await using server = createTestServer({ tools });
    const http = await server.http({ intercept: () => new Promise<never>(() => {}) });
    const toolport = createToolport({ mcpServers: { it: http.entry } });
    const connecting = toolport.connect();
    await waitFor(() => http.requestCount === 1);
    await toolport.close();
    expect((await connecting).servers["it"]).toMatchObject({ state: "closed", error: { code: "CLOSED" } });
    await waitFor(() => http.connectionCount === 0);
  });

  test("during a reconnect ends the reconnect", async () => {
    const toolport = createToolport({ mcpServers: { it: { ...lean(), restart: { delayMs: 60_000 } } } });
    for (let round = 0; round < 2; round += 1) await failure(toolport.callTool("it__crash"));
    await waitFor(() => toolport.snapshot().servers["it"]!.state === "reconnecting");
    const waiting = failure(toolport.callTool("it__pid"));
    await toolport.close();
    expect(await waiting).toMatchObject({ code: "CLOSED" });
    expect(scratch.pids().filter(isAlive)).toEqual([]);
  });

  test.each(["stdio", "legacy HTTP", "modern HTTP", "SSE", "WebSocket", "memory"])(
    "during a call over %s fails that call with CLOSED, at once",
    async (way) => {
      const era = way === "legacy HTTP" ? "legacy" : "both";
      await using server = createTestServer({ era, tools });
      const entry: ServerEntry =
        way === "stdio"
          ? (await server.stdio()).entry
          : way === "SSE"
            ? (await server.sse()).entry
            : way === "WebSocket"
              ? (await server.webSocket()).entry
              : way === "memory"
                ? server.memory()
                : (await server.http()).entry;
      const toolport = createToolport({ mcpServers: { it: entry } });
      await toolport.connect();
      const call = failure(toolport.callTool("it__hang"));
      await waitFor(() => server.calls.length === 1);
      const closing = toolport.close();
      expect(await call).toMatchObject({
        name: "ConnectionError",
        code: "CLOSED",
        server: "it",
        tool: "hang",
      });
      await closing;
      expect(server.calls).toHaveLength(1);
    },
  );

  test("makes every later call fail with CLOSED", async () => {
    const toolport = createToolport({ mcpServers: { it: lean() } });
    await toolport.connect();
    await toolport.close();
    const later: (() => Promise<unknown>)[] = [
      () => toolport.connect(),
      () => toolport.tools(),
      () => toolport.callTool("it__pid"),
      () => toolport.callTool("unknown"),
      () => toolport.add("more", lean()),
      () => toolport.connectServer("it"),
      () => toolport.discover("it"),
      () => toolport.refresh(),
      () => toolport.ping("it"),
      () => toolport.client("it"),
    ];
    for (const ask of later) {
      expect(await failure(ask())).toMatchObject({
        name: "ConnectionError",
        code: "CLOSED",
        outcome: "unsent",
      });
    }
    expect(() => toolport.register("more", lean())).toThrow("closed");
    expect(toolport.snapshot().servers["it"]).toMatchObject({ state: "closed" });
    await toolport.disconnect();
    expect(scratch.pids()).toHaveLength(1);
  });

  test("is what `await using` does, also when the block throws", async () => {
    const broken = async () => {
      await using toolport = createToolport({ mcpServers: { it: lean() } });
      await toolport.connect();
      throw new Error("in the block");
    };
    await expect(broken()).rejects.toThrow("in the block");
    expect(scratch.pids().filter(isAlive)).toEqual([]);
  });
});

describe("disconnect()", () => {
  test("while connecting, then connectServer(): the server becomes ready", async () => {
    await using toolport = createToolport({ mcpServers: { it: lean() } });
    const connecting = toolport.connect();
    await toolport.disconnect("it");
    expect((await connecting).servers["it"]).toMatchObject({ state: "closed" });
    expect(await toolport.connectServer("it")).toMatchObject({ state: "ready" });
    expect(scratch.pids().filter(isAlive)).toHaveLength(1);
  });

  test("and connectServer() without waiting: the server becomes ready", async () => {
    await using toolport = createToolport({ mcpServers: { it: lean() } });
    await toolport.connect();
    const [, report] = await Promise.all([toolport.disconnect("it"), toolport.connectServer("it")]);
    expect(report).toMatchObject({ state: "ready" });
    expect((await toolport.callTool("it__echo", { text: "up" })).text).toBe("up");
  });

  test("without a name disconnects all servers, and they can connect again", async () => {
    await using toolport = createToolport({ mcpServers: { a: lean(), b: lean() } });
    await toolport.connect();
    await toolport.disconnect();
    expect(scratch.pids().filter(isAlive)).toEqual([]);
    const { servers } = await toolport.connect();
    expect(Object.values(servers).map(({ state }) => state)).toEqual(["ready", "ready"]);
  });
});

describe("servers at run time", () => {
  test("add() connects, and adding the same again changes nothing", async () => {
    // A server that reports no changes is read once.
    await using server = createTestServer({ tools, capabilities: { tools: {} } });
    const http = await server.http();
    await using toolport = createToolport();
    expect(await toolport.add("web", { url: http.url })).toMatchObject({ state: "ready", toolCount: 2 });
    const { requestCount } = http;
    const same = new URL(http.url);
    same.hash = "";
    expect(await toolport.add("web", { url: same })).toMatchObject({ state: "ready" });
    expect(await toolport.add("web", { url: http.url.replace("http:", "HTTP:") })).toMatchObject({
      state: "ready",
    });
    expect(http.requestCount).toBe(requestCount);
    expect((await toolport.callTool("web__hello")).text).toBe("hello");
  });

  test("add() of another server under the same name is refused, and the first stays", async () => {
    await using server = createTestServer({ tools });
    const http = await server.http();
    await using toolport = createToolport();
    await toolport.add("web", { url: http.url });
    const error = await failure(toolport.add("web", { url: `${http.url}/other` }));
    expect(error).toBeInstanceOf(ConfigError);
    expect(error).toMatchObject({ code: "DUPLICATE_SERVER", server: "web" });
    expect(() => toolport.register("web", lean())).toThrow("DUPLICATE_SERVER");
    expect((await toolport.callTool("web__hello")).text).toBe("hello");
  });

  test("add() of a server that cannot start reports it, and trying again is possible", async () => {
    await using toolport = createToolport();
    const entry = { command: "no-such-program-anywhere" };
    expect(await toolport.add("bad", entry)).toMatchObject({
      state: "failed",
      error: { code: "SPAWN_FAILED" },
    });
    expect(await toolport.add("bad", entry)).toMatchObject({ state: "failed" });
    await expect(toolport.add("worse", { url: "not a url" })).rejects.toBeInstanceOf(ConfigError);
    expect(Object.keys(toolport.snapshot().servers)).toEqual(["bad"]);
  });

  test("register() does not connect", async () => {
    await using toolport = createToolport();
    toolport.register("it", lean());
    expect(toolport.snapshot().servers["it"]).toMatchObject({ state: "idle" });
    expect(scratch.pids()).toEqual([]);
    expect((await toolport.callTool("it__echo", { text: "hi" })).text).toBe("hi");
  });

  test("remove() disconnects it and removes its tools; the name is free again", async () => {
    await using toolport = createToolport({ mcpServers: { it: lean(), other: lean() } });
    await toolport.connect();
    const heard: string[] = [];
    toolport.on("tools", ({ server }) => heard.push(server));
    await toolport.remove("it");
    expect(heard).toEqual(["it"]);
    expect((await toolport.tools()).map(({ server }) => server)).not.toContain("it");
    expect(await failure(toolport.callTool("it__echo"))).toMatchObject({ code: "TOOL_NOT_FOUND" });
    expect(await failure(toolport.connectServer("it"))).toMatchObject({ code: "UNKNOWN_SERVER" });
    expect(scratch.pids().filter(isAlive)).toHaveLength(1);
    expect(await toolport.add("it", lean("--garbage"))).toMatchObject({ state: "ready" });
  });

  test("an unknown name is an error that suggests one", async () => {
    await using toolport = createToolport({ mcpServers: { weather: lean() } });
    const asks = [
      () => toolport.connectServer("wether"),
      () => toolport.discover("wether"),
      () => toolport.disconnect("wether"),
      () => toolport.remove("wether"),
      () => toolport.ping("wether"),
      () => toolport.client("wether"),
      () => toolport.refresh("wether"),
      () => toolport.tools({ servers: ["wether"] }),
    ];
    for (const ask of asks) {
      const error = await failure(ask());
      expect(error).toMatchObject({ name: "ConfigError", code: "UNKNOWN_SERVER" });
      expect(error.message).toContain("weather");
    }
    expect(scratch.pids()).toEqual([]);
  });
});

describe.each(["legacy", "modern"] as const)("a ready server, %s era", (era) => {
  test.each(["http", "stdio"] as const)("over %s: ping, discover, refresh, client", async (way) => {
    await using server = createTestServer({ era, tools });
    await using toolport = createToolport({ mcpServers: { it: (await server[way]()).entry } });
    expect((await toolport.ping("it")).ms).toBeGreaterThanOrEqual(0);
    expect(await toolport.discover("it")).toMatchObject({ state: "ready", toolCount: 2 });
    // discover() for servers that send no notification.
    await server.update({ tools: { hello: tools.hello } });
    await toolport.refresh();
    expect(await toolport.tools()).toHaveLength(1);
    const client = await toolport.client("it");
    expect(client.getProtocolEra()).toBe(era);
    expect((await client.listTools()).tools.map(({ name }) => name)).toEqual(["hello"]);
    expect(toolport.snapshot().servers["it"]).toMatchObject({ state: "ready", era, transport: way });
  });
});

test("tools({ servers }) connects and lists only those", async () => {
  await using toolport = createToolport({ mcpServers: { a: lean(), b: lean() } });
  const list = await toolport.tools({ servers: ["b"] });
  expect(new Set(list.map(({ server }) => server))).toEqual(new Set(["b"]));
  expect(scratch.pids()).toHaveLength(1);
});
