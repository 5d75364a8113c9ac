/** A server that dies, restarts or loses its sessions: the next call with the same handle works, and no call runs twice. */
import { createToolport, type ToolportError } from "toolport";
import { createTestServer } from "toolport/testing";
import { describe, expect, test } from "vitest";
import { waitFor } from "../support/leaks.js";
import { waitForExit } from "../support/processes.js";

const LEAN = "test/fixtures/servers/stdio-lean.mjs";
const stdio = { command: process.execPath, args: [LEAN] };

const failure = (promise: Promise<unknown>): Promise<ToolportError> =>
  promise.then(
    () => Promise.reject(new Error("Expected a failure")),
    (error: ToolportError) => error,
  );

describe("a stdio server killed with -9", () => {
  test("between two calls: the second call works, with another process", async () => {
    await using toolport = createToolport({ mcpServers: { stdio } });
    const first = Number((await toolport.callTool("stdio__pid")).text);
    process.kill(first, "SIGKILL");
    await waitForExit(first);
    const second = Number((await toolport.callTool("stdio__pid")).text);
    expect(second).not.toBe(first);
  });

  test("at the moment of a call: the call works, because the server cannot have read it", async () => {
    await using toolport = createToolport({ mcpServers: { stdio } });
    for (let round = 0; round < 3; round += 1) {
      const pid = Number((await toolport.callTool("stdio__pid")).text);
      process.kill(pid, "SIGKILL");
      expect(Number((await toolport.callTool("stdio__pid")).text)).not.toBe(pid);
    }
  });

  test("during a call: that call fails at once, typed, and is not repeated", async () => {
    await using toolport = createToolport({ mcpServers: { stdio } });
    const pid = Number((await toolport.callTool("stdio__pid")).text);
    const starts: string[] = [];
    toolport.on("state", ({ to }) => starts.push(to));
    let call: Promise<ToolportError> | undefined;
    // Progress shows that the server has started the call.
    await new Promise<void>((begun) => {
      const args = { count: 1_000, everyMs: 20 };
      call = failure(toolport.callTool("stdio__progress", args, { onProgress: () => begun() }));
    });
    process.kill(pid, "SIGKILL");
    const error = await call!;
    expect(error).toMatchObject({
      name: "ConnectionError",
      code: "CLOSED",
      server: "stdio",
      signal: "SIGKILL",
      outcome: "unknown",
    });
    expect((await toolport.callTool("stdio__echo", { text: "back" })).text).toBe("back");
    expect(starts).toEqual(["reconnecting", "connecting", "connected", "discovering", "ready"]);
  });

  test("repeatedly: five starts in a minute, then a lasting error with its last output", async () => {
    const crashing = {
      command: process.execPath,
      args: [LEAN, "--stderr=out of luck"],
      restart: { delayMs: 1 },
    };
    // The breaker would open before the restart limit.
    await using toolport = createToolport({ mcpServers: { crashing }, breaker: false });
    await toolport.connect();
    for (let crash = 0; crash < 5; crash += 1) await failure(toolport.callTool("crashing__crash"));
    await waitFor(() => toolport.snapshot().servers["crashing"]!.state === "failed");
    const error = await failure(toolport.callTool("crashing__echo", { text: "?" }));
    expect(error).toMatchObject({ code: "RESTART_LIMIT", exitCode: 3 });
    expect((error as { stderrTail?: string }).stderrTail).toContain("out of luck");
    // connectServer() resets the count.
    expect(await toolport.connectServer("crashing")).toMatchObject({ state: "ready" });
  });

  test("restart: { enabled: false } leaves it down", async () => {
    await using toolport = createToolport({
      mcpServers: { stdio: { ...stdio, restart: { enabled: false } } },
    });
    const lost = await failure(toolport.callTool("stdio__crash"));
    const down = await failure(toolport.callTool("stdio__pid"));
    expect(down).toMatchObject({ code: "CLOSED", exitCode: 3 });
    for (const { message } of [lost, down]) {
      expect(message).toContain("restart.enabled is false");
      expect(message).not.toMatch(/next call|call again/i);
    }
    // The advice of the message works.
    expect(await toolport.connectServer("stdio")).toMatchObject({ state: "ready" });
    expect((await toolport.callTool("stdio__pid")).isError).toBe(false);
  });

  test("by default the message says that the next call starts it again", async () => {
    await using toolport = createToolport({ mcpServers: { stdio } });
    const { message } = await failure(toolport.callTool("stdio__crash"));
    expect(message).toContain("The next call starts it again");
  });

  test.each(["webSocket", "sse"] as const)(
    "reconnect: { enabled: false } over %s promises no new connection",
    async (kind) => {
      await using server = createTestServer({
        era: "legacy",
        tools: { hang: { handler: () => new Promise<string>(() => {}) } },
      });
      const { entry, dropConnections } = await server[kind]();
      await using toolport = createToolport({
        mcpServers: { remote: { ...entry, reconnect: { enabled: false } } },
      });
      await toolport.connect();
      const hanging = failure(toolport.callTool("remote__hang"));
      await waitFor(() => server.calls.length === 1);
      dropConnections();
      const errors = [await hanging, await failure(toolport.callTool("remote__hang"))];
      for (const { message } of errors) {
        expect(message).toContain("reconnect.enabled is false");
        expect(message).not.toMatch(/next call|call again|new connection/i);
      }
    },
  );

  test("an idempotent call is repeated", async () => {
    await using toolport = createToolport({ mcpServers: { stdio } });
    const pid = Number((await toolport.callTool("stdio__pid")).text);
    const call = toolport.callTool("stdio__slow", { ms: 300 }, { idempotent: true });
    process.kill(pid, "SIGKILL");
    expect((await call).text).toBe("done");
  });
});

describe("an HTTP server", () => {
  const tools = { hello: { handler: () => "hello" } };

  test("that loses its sessions answers a ping", async () => {
    await using server = createTestServer({ era: "legacy", tools });
    const http = await server.http();
    await using toolport = createToolport({ mcpServers: { web: { url: http.url } } });
    await toolport.connect();
    await http.forgetSessions();
    expect((await toolport.ping("web")).ms).toBeGreaterThan(0);
  });

  test("that loses its sessions gets one new handshake for all waiting calls", async () => {
    await using server = createTestServer({ era: "legacy", tools });
    const http = await server.http();
    await using toolport = createToolport({ mcpServers: { web: { url: http.url } } });
    await toolport.callTool("web__hello");
    const moves: string[] = [];
    toolport.on("state", ({ to }) => moves.push(to));
    await http.forgetSessions();
    const results = await Promise.all(Array.from({ length: 20 }, () => toolport.callTool("web__hello")));
    expect(results.map(({ text }) => text)).toEqual(Array(20).fill("hello"));
    expect(moves.filter((state) => state === "connecting")).toHaveLength(1);
    expect(server.calls.filter(({ name }) => name === "hello")).toHaveLength(21);
  });

  test.each(["legacy", "modern"] as const)("that restarts (%s) answers the next call", async (era) => {
    const first = createTestServer({ era, tools });
    const { url, close } = await first.http();
    const port = Number(new URL(url).port);
    await using toolport = createToolport({ mcpServers: { web: { url } } });
    await toolport.callTool("web__hello");
    await close();
    await first.close();
    const call = toolport.callTool("web__hello");
    await using second = createTestServer({ era, tools });
    await second.http({ port });
    expect((await call).text).toBe("hello");
    expect((await toolport.callTool("web__hello")).text).toBe("hello");
  });

  test("that stays down: a call waits no longer than its timeout", async () => {
    const server = createTestServer({ tools });
    const { url } = await server.http();
    await using toolport = createToolport({ mcpServers: { web: { url } } });
    await toolport.connect();
    await server.close();
    const error = await failure(toolport.callTool("web__hello", {}, { timeoutMs: 1_500 }));
    expect(error).toMatchObject({ code: "TIMEOUT", phase: "connect", outcome: "unsent" });
    expect(error.cause).toMatchObject({ code: "UNREACHABLE", errno: "ECONNREFUSED" });
  });
});

describe.each(["sse", "webSocket"] as const)("%s", (kind) => {
  const tools = {
    echo: { handler: ({ text }: { text?: unknown }) => String(text) },
    hang: { handler: () => new Promise<string>(() => {}) },
  };

  test("a dropped connection is re-established for the next call", async () => {
    await using server = createTestServer({ tools });
    const listening = await server[kind]();
    await using toolport = createToolport({ mcpServers: { it: listening.entry } });
    await toolport.connect();
    const call = failure(toolport.callTool("it__hang"));
    // The request must be sent before the connection is cut.
    await waitFor(() => server.calls.length === 1);
    listening.dropConnections();
    expect(await call).toMatchObject({ name: "ConnectionError", outcome: "unknown" });
    expect((await toolport.callTool("it__echo", { text: "back" })).text).toBe("back");
    expect(server.calls.filter(({ name }) => name === "hang")).toHaveLength(1);
  });

  test("a server that restarts answers the next call", async () => {
    await using server = createTestServer({ tools });
    const first = await server[kind]();
    await using toolport = createToolport({ mcpServers: { it: first.entry } });
    await toolport.connect();
    const lost = new Promise((resolve) => toolport.on("state", resolve));
    await first.close();
    await lost;
    await server[kind]({ port: Number(new URL(first.url).port) });
    expect((await toolport.callTool("it__echo", { text: "back" })).text).toBe("back");
  });
});

test("connect() does not wait for the back-off of a reconnecting server", async () => {
  const server = createTestServer({ tools: { hello: { handler: () => "hello" } } });
  const { url } = await server.http();
  await using toolport = createToolport({ mcpServers: { web: { url, reconnect: { delayMs: 60_000 } } } });
  await toolport.connect();
  await server.close();
  await failure(toolport.callTool("web__hello", {}, { timeoutMs: 200 }));
  await waitFor(() => toolport.snapshot().servers["web"]!.attempt === 2);
  await using again = createTestServer({ tools: { hello: { handler: () => "hello" } } });
  await again.http({ port: Number(new URL(url).port) });
  expect(await toolport.connect()).toMatchObject({ servers: { web: { state: "ready" } } });
});

test("disconnect() keeps a server down until it is used", async () => {
  await using toolport = createToolport({ mcpServers: { stdio } });
  await toolport.connect();
  await toolport.disconnect("stdio");
  expect(await failure(toolport.callTool("stdio__pid"))).toMatchObject({ code: "CLOSED", outcome: "unsent" });
  expect(await toolport.connectServer("stdio")).toMatchObject({ state: "ready", toolCount: 7 });
  expect((await toolport.callTool("stdio__echo", { text: "up" })).text).toBe("up");
});

test("an idle connection is closed, and the next call reopens it", async () => {
  await using toolport = createToolport({ mcpServers: { stdio }, idleTimeoutMs: 200 });
  const pid = Number((await toolport.callTool("stdio__pid")).text);
  await waitFor(() => toolport.snapshot().servers["stdio"]!.state === "closed");
  await waitForExit(pid);
  expect(Number((await toolport.callTool("stdio__pid")).text)).not.toBe(pid);
});

test("a health check replaces a server that stopped answering", async () => {
  await using toolport = createToolport({ mcpServers: { stdio }, healthCheck: { intervalMs: 50 } });
  const pid = Number((await toolport.callTool("stdio__pid")).text);
  const states: string[] = [];
  toolport.on("state", ({ to }) => states.push(to));
  process.kill(pid, "SIGKILL");
  await waitForExit(pid);
  await waitFor(() => states.at(-1) === "ready");
  expect(Number((await toolport.callTool("stdio__pid")).text)).not.toBe(pid);
});
