/** `MultiServerMCPClient`: configuration, connecting, what it returns and what it throws. */
import { createLinkedTransports, isUnauthorized, ToolportError } from "toolport";
import { type ClientConfig, MCPClientError, MultiServerMCPClient } from "toolport/langchain";
import { createTestServer } from "toolport/testing";
import { describe, expect, it, vi } from "vitest";
import { failure } from "../../../test/support/failure.js";
import { takeLeakSnapshot, waitForNoLeaks } from "../../../test/support/leaks.js";
import { waitFor } from "../../../test/support/wait-for.js";

const GONE = { command: "no-such-mcp-server", args: [] };

const createMath = () =>
  createTestServer({
    tools: { add: { handler: ({ a, b }) => String(Number(a) + Number(b)) } },
    resources: { "math://pi": { title: "Pi", name: "pi", mimeType: "text/plain", text: "3.14" } },
  });

interface ZodLike extends Error {
  issues: { path: (string | number)[]; message: string; code: string }[];
}

function issuesOf(config: unknown): ZodLike["issues"] {
  try {
    new MultiServerMCPClient(config as ClientConfig);
  } catch (error) {
    expect((error as Error).name).toBe("ZodError");
    return (error as ZodLike).issues;
  }
  throw new Error("Expected a failure");
}

describe("bad configuration is a ZodError with paths", () => {
  it.each<[string, unknown, (string | number)[]]>([
    [
      "a bad URL",
      { mcpServers: { weather: { transport: "sse", url: "nonsense" } } },
      ["mcpServers", "weather", "url"],
    ],
    [
      "a missing command",
      { mcpServers: { math: { transport: "stdio" } } },
      ["mcpServers", "math", "command"],
    ],
    ["a missing URL", { mcpServers: { w: { transport: "http" } } }, ["mcpServers", "w", "url"]],
    [
      "an argument that is not a string",
      { mcpServers: { m: { command: "x", args: ["a", 1] } } },
      ["mcpServers", "m", "args", 1],
    ],
    ["a bare map", { weather: { url: "nonsense" } }, ["weather", "url"]],
    ["an odd name", { mcpServers: { "my server": { url: "no" } } }, ["mcpServers", "my server", "url"]],
    ["no map at all", { mcpServers: "x" }, ["mcpServers"]],
    ["an entry that is none", { mcpServers: { a: 1 } }, ["mcpServers", "a"]],
    ["a flag that is none", { mcpServers: { a: GONE }, throwOnLoadError: "yes" }, ["throwOnLoadError"]],
    ["a hook that is none", { mcpServers: { a: GONE }, beforeToolCall: 1 }, ["beforeToolCall"]],
    ["a policy that is none", { mcpServers: { a: GONE }, onConnectionError: "shrug" }, ["onConnectionError"]],
    ["a negative timeout", { mcpServers: { a: GONE }, defaultToolTimeout: -1 }, ["defaultToolTimeout"]],
    [
      "a server's timeout",
      { mcpServers: { a: { ...GONE, defaultToolTimeout: "1" } } },
      ["mcpServers", "a", "defaultToolTimeout"],
    ],
    [
      "an unknown target",
      { mcpServers: { a: { ...GONE, outputHandling: { image: "model" } } } },
      ["mcpServers", "a", "outputHandling", "image"],
    ],
    [
      "an option of Toolport",
      { mcpServers: { a: GONE }, toolport: { timeoutMs: -1 } },
      ["toolport", "timeoutMs"],
    ],
  ])("%s", (_case, config, path) => {
    const [issue] = issuesOf(config);
    expect(issue).toMatchObject({ path, code: expect.any(String), message: expect.any(String) });
  });

  it("lists all problems at once, without secrets", () => {
    const issues = issuesOf({
      mcpServers: { a: { url: "no" }, b: { url: "http://127.0.0.1/mcp", headers: { Authorization: 7 } } },
    });
    expect(issues.map(({ path }) => path)).toEqual([
      ["mcpServers", "a", "url"],
      ["mcpServers", "b", "headers", "Authorization"],
    ]);
  });

  it("accepts fields of other programs, and rejects a configuration without servers", () => {
    const client = new MultiServerMCPClient({
      mcpServers: { a: { ...GONE, autoApprove: ["x"], disabled: false } as never },
    });
    expect(client.config.mcpServers["a"]).toMatchObject({ autoApprove: ["x"] });
    expect(() => new MultiServerMCPClient({ mcpServers: {} })).toThrow(MCPClientError);
  });
});

describe("a client", () => {
  it("has the defaults of the README and copies its configuration", () => {
    const client = new MultiServerMCPClient({ mcpServers: { a: { ...GONE, args: ["x"] } } });
    expect(client.config).toMatchObject({
      throwOnLoadError: true,
      prefixToolNameWithServerName: false,
      additionalToolNamePrefix: "",
      useStandardContentBlocks: false,
      onConnectionError: "throw",
    });
    (client.config.mcpServers["a"] as { args?: string[] }).args?.push("y");
    expect(client.config.mcpServers["a"]).toMatchObject({ args: ["x"] });
  });

  it("connects once and returns tools by server, as a flat list, and of named servers", async () => {
    await using server = createMath();
    const http = await server.http();
    await using client = new MultiServerMCPClient({ one: { url: http.url }, two: server.memory() });
    const byServer = await client.initializeConnections();
    expect(Object.keys(byServer)).toEqual(["one", "two"]);
    expect(byServer["one"]!.map(({ name }) => name)).toEqual(["add"]);
    expect((await client.getTools()).length).toBe(2);
    expect((await client.getTools("one")).map(({ name }) => name)).toEqual(["add"]);
    expect((await client.getTools(["one"])).map(({ name }) => name)).toEqual(["add"]);
    expect(await client.getTools("unknown")).toEqual([]);
    expect(http.sessionIds.length).toBeLessThanOrEqual(1);
  });

  it("prefixes names as configured", async () => {
    await using server = createMath();
    const names = async (options: Partial<ClientConfig>) => {
      await using client = new MultiServerMCPClient({ ...options, mcpServers: { math: server.memory() } });
      return (await client.getTools()).map(({ name }) => name);
    };
    expect(await names({})).toEqual(["add"]);
    expect(await names({ prefixToolNameWithServerName: true })).toEqual(["math__add"]);
    expect(await names({ additionalToolNamePrefix: "mcp" })).toEqual(["mcp__add"]);
    expect(await names({ prefixToolNameWithServerName: true, additionalToolNamePrefix: "mcp" })).toEqual([
      "mcp__math__add",
    ]);
  });

  it("lists and reads resources, and returns the SDK's client", async () => {
    await using server = createMath();
    await using client = new MultiServerMCPClient({ math: server.memory() });
    const pi = { uri: "math://pi", name: "Pi", mimeType: "text/plain" };
    expect(await client.listResources()).toEqual({ math: [pi] });
    expect(await client.listResources("math")).toEqual({ math: [pi] });
    expect(await client.listResourceTemplates()).toEqual({ math: [] });
    expect(await client.readResource("math", "math://pi")).toEqual([
      { uri: "math://pi", mimeType: "text/plain", text: "3.14" },
    ]);
    expect((await (await client.getClient("math"))!.listTools()).tools.length).toBe(1);
    expect(await client.getClient("unknown")).toBeUndefined();
    const missing = await failure<MCPClientError>(client.readResource("math", "math://e"));
    expect(missing).toMatchObject({ name: "MCPClientError", serverName: "math" });
    expect(missing.cause).toMatchObject({ code: "RESOURCE_NOT_FOUND" });
    expect(await failure(client.readResource("unknown", "x"))).toMatchObject({ serverName: "unknown" });
  });

  it("leaves nothing behind after close, and can be used again", async () => {
    const before = takeLeakSnapshot();
    const server = createMath();
    const { command, args } = await server.stdio();
    const client = new MultiServerMCPClient({ math: { command, args: [...args] } });
    const [first] = await client.getTools();
    await client.close();
    expect(await failure(first!.invoke({ a: 1, b: 1 }))).toMatchObject({ name: "ToolException" });
    const [second] = await client.getTools();
    expect(await second!.invoke({ a: 1, b: 1 })).toBe("2");
    await client.close();
    await client.close();
    await server.close();
    await waitForNoLeaks(before);
  });
});

describe("a server that cannot be connected", () => {
  it("is an MCPClientError with its name and the reason", async () => {
    await using server = createMath();
    await using client = new MultiServerMCPClient({ good: server.memory(), bad: GONE });
    const error = await failure<MCPClientError>(client.getTools());
    expect(error).toBeInstanceOf(MCPClientError);
    expect(error.serverName).toBe("bad");
    expect(ToolportError.isInstance(error.cause) && error.cause.code).toBe("SPAWN_FAILED");
    // The other servers are not affected.
    expect((await client.getTools("good")).length).toBe(1);
  });

  it("reports that it needs authorization", async () => {
    await using server = createMath();
    const { url } = await server.http({ intercept: () => new Response("no", { status: 401 }) });
    await using client = new MultiServerMCPClient({ locked: { url } });
    const error = await failure(client.initializeConnections());
    expect(error).toMatchObject({ name: "MCPClientError", serverName: "locked" });
    expect(isUnauthorized(error)).toBe(true);
  });

  it("is skipped if configured, and retried the next time", async () => {
    await using server = createMath();
    let isUp = false;
    const { url } = await server.http({
      intercept: () => (isUp ? undefined : new Response("starting", { status: 503 })),
    });
    await using client = new MultiServerMCPClient({
      mcpServers: { good: server.memory(), late: { url } },
      onConnectionError: "ignore",
    });
    expect(Object.keys(await client.initializeConnections())).toEqual(["good"]);
    isUp = true;
    expect(Object.keys(await client.initializeConnections())).toEqual(["good", "late"]);
  });

  it("is passed to a function, which may throw", async () => {
    await using server = createMath();
    const onConnectionError = vi.fn();
    await using client = new MultiServerMCPClient({
      mcpServers: { good: server.memory(), bad: GONE },
      onConnectionError,
    });
    expect((await client.getTools()).length).toBe(1);
    expect(onConnectionError.mock.calls).toEqual([
      [{ serverName: "bad", error: expect.any(MCPClientError) }],
    ]);
    const reason = new Error("enough");
    onConnectionError.mockImplementation(() => {
      throw reason;
    });
    expect(await failure(client.getTools())).toBe(reason);
  });
});

describe("deferTools", () => {
  it("offers search_tools and call_tool instead of all tools", async () => {
    await using server = createMath();
    await using client = new MultiServerMCPClient({
      mcpServers: { math: server.memory() },
      toolport: { deferTools: true },
    });
    const tools = await client.getTools();
    expect(tools.map(({ name }) => name)).toEqual(["search_tools", "call_tool"]);
    expect(await tools[1]!.invoke({ name: "add", arguments: { a: 1, b: 2 } })).toBe("3");
  });
});

describe("rare notifications of servers", () => {
  it("reach their hooks", async () => {
    const [clientEnd, serverEnd] = createLinkedTransports();
    serverEnd.onmessage = (message) => {
      const { id, method } = message as { id?: number; method?: string };
      if (id === undefined) return;
      const capabilities = { tools: {} };
      const serverInfo = { name: "raw", version: "1" };
      const results: Record<string, object> = {
        initialize: { protocolVersion: "2025-11-25", capabilities, serverInfo },
        "tools/list": { tools: [] },
      };
      const result = results[method ?? ""];
      const error = { code: -32601, message: "no" };
      serverEnd.send({ jsonrpc: "2.0", id, ...(result ? { result } : { error }) } as never).catch(() => {});
    };
    await serverEnd.start();
    const reported: unknown[] = [];
    await using client = new MultiServerMCPClient({
      mcpServers: { raw: { transport: () => clientEnd } },
      onCancelled: (request, { server }) => void reported.push([server, request]),
      onRootsListChanged: ({ server }) => void reported.push(server),
    });
    await client.getTools();
    await serverEnd.send({
      jsonrpc: "2.0",
      method: "notifications/cancelled",
      params: { requestId: 7, reason: "changed my mind" },
    });
    await serverEnd.send({ jsonrpc: "2.0", method: "notifications/roots/list_changed" });
    await waitFor(() => reported.length === 2);
    expect(reported).toEqual([["raw", { requestId: 7, reason: "changed my mind" }], "raw"]);
  });
});
