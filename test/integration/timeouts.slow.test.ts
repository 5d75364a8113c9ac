/** Timeouts: the idle timeout, the hard cap, and no limit. */
import { type ConnectionError, createToolport, type StdioServerEntry, type ToolCallError } from "toolport";
import { createTestServer } from "toolport/testing";
import { describe, expect, test } from "vitest";
import { failure } from "../support/failure.js";
import { takeLeakSnapshot, waitFor, waitForNoLeaks } from "../support/leaks.js";

const LEAN = "test/fixtures/servers/stdio-lean.mjs";
const stdio: StdioServerEntry = { command: process.execPath, args: [LEAN] };
const FOREVER = 600_000;

describe("the idle timeout", () => {
  test("ends a call without any message, and notifies the server", async () => {
    let cancelled = false;
    const hang = {
      handler: (_args: unknown, { signal }: { signal: AbortSignal }) =>
        new Promise<string>((resolve) => {
          signal.addEventListener("abort", () => {
            cancelled = true;
            resolve("too late");
          });
        }),
    };
    await using server = createTestServer({ tools: { hang, hello: { handler: () => "hello" } } });
    await using toolport = createToolport({ mcpServers: { it: server.memory() }, timeoutMs: 100 });
    const error = await failure<ToolCallError>(toolport.callTool("it__hang"));
    expect(error).toMatchObject({
      name: "ToolCallError",
      code: "TIMEOUT",
      server: "it",
      tool: "hang",
      retryable: true,
      outcome: "unknown",
    });
    expect(error.message).toContain("100 ms");
    await waitFor(() => cancelled);
    expect(server.calls).toHaveLength(1);
    expect((await toolport.callTool("it__hello")).text).toBe("hello");
  });

  test("restarts with every progress notification, requested or not", async () => {
    await using toolport = createToolport({ mcpServers: { stdio }, timeoutMs: 1_500 });
    await toolport.connect();
    const startedAt = performance.now();
    const { text } = await toolport.callTool("stdio__progress", { count: 20, everyMs: 100 });
    expect(text).toBe("done");
    expect(performance.now() - startedAt).toBeGreaterThan(1_500);
  });

  test("is that of the call, then of the server, then of the port", async () => {
    const mcpServers = { plain: stdio, quick: { ...stdio, timeoutMs: 50 } };
    await using toolport = createToolport({ mcpServers, timeoutMs: 5_000 });
    await toolport.connect();
    expect((await toolport.callTool("plain__slow", { ms: 300 })).text).toBe("done");
    expect(await failure(toolport.callTool("quick__slow", { ms: FOREVER }))).toMatchObject({
      code: "TIMEOUT",
    });
    const patient = await toolport.callTool("quick__slow", { ms: 300 }, { timeoutMs: 5_000 });
    expect(patient.text).toBe("done");
    const hasty = failure(toolport.callTool("plain__slow", { ms: FOREVER }, { timeoutMs: 50 }));
    expect(await hasty).toMatchObject({ code: "TIMEOUT" });
  });

  test("of zero fails at once, and the connection stays usable", async () => {
    await using toolport = createToolport({ mcpServers: { stdio } });
    await toolport.connect();
    expect(await failure(toolport.callTool("stdio__slow", { ms: FOREVER }, { timeoutMs: 0 }))).toMatchObject({
      code: "TIMEOUT",
    });
    expect((await toolport.callTool("stdio__echo", { text: "next" })).text).toBe("next");
  });

  test.each(["ping", "discover"] as const)("applies to %s(), too", async (method) => {
    let hanging = false;
    await using server = createTestServer({ era: "legacy", tools: { hello: { handler: () => "hello" } } });
    const http = await server.http({
      intercept: () => (hanging ? new Promise<never>(() => {}) : undefined),
    });
    await using toolport = createToolport({ mcpServers: { it: http.entry } });
    await toolport.connect();
    hanging = true;
    expect(await failure(toolport[method]("it", { timeoutMs: 100 }))).toMatchObject({
      code: "TIMEOUT",
      server: "it",
    });
    hanging = false;
    expect((await toolport.callTool("it__hello")).text).toBe("hello");
  });
});

describe("the hard cap", () => {
  test("ends a call whose progress never ends", async () => {
    await using toolport = createToolport({ mcpServers: { stdio }, maxTimeoutMs: 1_500 });
    await toolport.connect();
    const steps: number[] = [];
    const onProgress = ({ progress }: { progress: number }) => void steps.push(progress);
    const args = { count: FOREVER, everyMs: 40 };
    const error = await failure<ToolCallError>(toolport.callTool("stdio__progress", args, { onProgress }));
    expect(error).toMatchObject({ code: "TIMEOUT", outcome: "unknown" });
    expect(error.next).toContain("maxTimeoutMs");
    expect(steps.length).toBeGreaterThan(2);
    const { length } = steps;
    expect((await toolport.callTool("stdio__echo", { text: "next" })).text).toBe("next");
    // Progress after the end is dropped.
    expect(steps).toHaveLength(length);
  });

  test("is raised by a longer timeout of the call, and by nothing else", async () => {
    const mcpServers = { stdio: { ...stdio, timeoutMs: 60_000 } };
    await using toolport = createToolport({ mcpServers, maxTimeoutMs: 100 });
    await toolport.connect();
    expect(await failure(toolport.callTool("stdio__slow", { ms: FOREVER }))).toMatchObject({
      code: "TIMEOUT",
    });
    expect((await toolport.callTool("stdio__slow", { ms: 400 }, { timeoutMs: 60_000 })).text).toBe("done");
  });
});

describe("no limit", () => {
  test.each([
    [Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY],
    [2 ** 31 - 1, Number.MAX_SAFE_INTEGER],
    [2 ** 31 - 1, 2 ** 31],
  ])("%d for the port, %d for each request: nothing ends before its time", async (port, ms) => {
    await using modern = createTestServer({ era: "modern", tools: { hello: { handler: () => "hello" } } });
    const mcpServers = { stdio, web: (await modern.http()).entry };
    const limits = { timeoutMs: port, maxTimeoutMs: port, connectTimeoutMs: port };
    await using toolport = createToolport({ mcpServers, ...limits });
    const { servers } = await toolport.connect({ timeoutMs: ms });
    expect(Object.values(servers).map(({ error, state }) => error?.message ?? state)).toEqual([
      "ready",
      "ready",
    ]);
    await toolport.discover("web", { timeoutMs: ms });
    await toolport.ping("stdio", { timeoutMs: ms });
    expect((await toolport.callTool("stdio__slow", { ms: 100 }, { timeoutMs: ms })).text).toBe("done");
    expect((await toolport.callTool("web__hello")).text).toBe("hello");
  });
});

test("connectTimeoutMs ends an attempt and its process", async () => {
  const before = takeLeakSnapshot();
  await using web = createTestServer({ tools: {} });
  const http = await web.http({ intercept: () => new Promise<never>(() => {}) });
  const mcpServers = { silent: { command: process.execPath, args: [LEAN, "--silent"] }, web: http.entry };
  const toolport = createToolport({ mcpServers, connectTimeoutMs: 300 });
  const { servers } = await toolport.connect();
  for (const name of ["silent", "web"]) {
    expect(servers[name]).toMatchObject({ state: "failed", error: { retryable: true, server: name } });
    expect(servers[name]!.error!.code).toMatch(/TIMEOUT/);
  }
  await waitFor(() => http.connectionCount === 0);
  await toolport.close();
  await web.close();
  await waitForNoLeaks(before);
});

describe.each([429, 503])("HTTP %d", (status) => {
  const inTenSeconds = () => new Date(Date.now() + 10_000).toUTCString();

  test.each<[string, string | (() => string) | undefined, [least: number, most: number] | undefined]>([
    ["seconds", "2", [2_000, 2_000]],
    ["zero", "0", [0, 0]],
    ["a date", inTenSeconds, [5_000, 10_000]],
    ["far too long", "999999", [30_000, 999_999_000]],
    ["garbage", "soon", undefined],
    ["a negative number", "-1", undefined],
    ["nothing", undefined, undefined],
  ])("with Retry-After as %s: the error tells how long to wait", async (_what, given, expected) => {
    const value = typeof given === "function" ? given() : given;
    let busy = false;
    await using server = createTestServer({ era: "legacy", tools: { hello: { handler: () => "hello" } } });
    const headers = value === undefined ? undefined : { "retry-after": value };
    const http = await server.http({
      intercept: () => (busy ? new Response("later", { status, ...(headers && { headers }) }) : undefined),
    });
    await using toolport = createToolport({ mcpServers: { it: http.entry }, retry: false });
    await toolport.connect();
    busy = true;
    const error = await failure<ConnectionError>(toolport.callTool("it__hello"));
    expect(error).toMatchObject({ name: "ConnectionError", code: "HTTP_STATUS", status, retryable: true });
    if (expected === undefined) expect(error.retryAfterMs ?? 0).toBe(0);
    else {
      expect(error.retryAfterMs).toBeGreaterThanOrEqual(expected[0]);
      expect(error.retryAfterMs).toBeLessThanOrEqual(expected[1]);
    }
    busy = false;
    expect((await toolport.callTool("it__hello")).text).toBe("hello");
  });
});
