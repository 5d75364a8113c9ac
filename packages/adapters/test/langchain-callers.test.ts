/** Callers with their own headers, and hooks that add headers: each call carries the right ones, over few connections. */
import { MultiServerMCPClient } from "toolport/langchain";
import { createTestServer, type TestToolContext } from "toolport/testing";
import { describe, expect, it } from "vitest";
import { failure } from "../../../test/support/failure.js";
import { startRecordingProxy } from "../../../test/support/recording-proxy.js";

const header = ({ request }: TestToolContext, name: string) => request.http?.req?.headers.get(name) ?? "none";

/** Returns the caller, read from the headers of the request. */
const createWhoAmI = (era: "legacy" | "modern" | "both" = "legacy") =>
  createTestServer({
    era,
    tools: {
      whoami: { handler: (_args, context) => header(context, "authorization") },
      tenant: { handler: (_args, context) => header(context, "x-tenant") },
    },
  });

const bearer = (user: string) => ({ headers: { Authorization: `Bearer ${user}` } });

describe.each(["legacy", "modern"] as const)("callers of a %s server", (era) => {
  it("A, B, A again: each tool keeps sending the headers of its own caller", async () => {
    await using server = createWhoAmI(era);
    const http = await server.http();
    await using client = new MultiServerMCPClient({ mcpServers: { app: { url: http.url } } });
    const [ofA] = await client.getTools(["app"], bearer("A"));
    const [ofB] = await client.getTools(["app"], bearer("B"));
    const [ofAAgain] = await client.getTools(["app"], bearer("A"));
    const [ofNobody] = await client.getTools();
    const sessions = http.sessionIds.length;
    for (let round = 0; round < 3; round += 1) {
      const said = await Promise.all([ofA, ofB, ofAAgain, ofNobody].map((tool) => tool!.invoke({})));
      expect(said).toEqual(["Bearer A", "Bearer B", "Bearer A", "none"]);
    }
    expect(ofB!.name).toBe("whoami");
    // Three callers have three sessions (none in the modern era), whatever the number of calls.
    expect(sessions).toBe(era === "legacy" ? 3 : 0);
    expect(http.sessionIds.length).toBe(sessions);
  });
});

describe("a caller", () => {
  it("is identified by the content of its headers, in any case and order", async () => {
    await using server = createWhoAmI();
    const http = await server.http();
    await using client = new MultiServerMCPClient({ app: { url: http.url } });
    await client.getTools([], { headers: { Authorization: "Bearer A", "X-Tenant": "t" } });
    await client.getTools([], { headers: { "x-tenant": "t", authorization: "Bearer A" } });
    expect(http.sessionIds.length).toBe(1);
  });

  it("has headers that override the configured ones; the other configured ones stay", async () => {
    await using server = createWhoAmI();
    const { url } = await server.http();
    await using client = new MultiServerMCPClient({
      app: { url, headers: { Authorization: "Bearer unknown", "X-Tenant": "t1" } },
    });
    const [whoami, tenant] = await client.getTools([], bearer("A"));
    expect([await whoami!.invoke({}), await tenant!.invoke({})]).toEqual(["Bearer A", "t1"]);
  });

  it("shares local processes with other callers, and its tools have the usual names", async () => {
    await using server = createWhoAmI();
    const stdio = await server.stdio();
    const http = await server.http();
    await using client = new MultiServerMCPClient({
      local: { command: stdio.command, args: [...stdio.args] },
      remote: { url: http.url },
    });
    const all = await client.getTools();
    const ofA = await client.getTools([], bearer("A"));
    await client.getTools([], bearer("B"));
    expect(stdio.connectionCount).toBe(1);
    expect(new Set(ofA.map(({ name }) => name)).size).toBe(4);
    expect(ofA.map(({ name }) => name)).toEqual(all.map(({ name }) => name));
    const remote = ofA.filter(({ metadata }) => metadata?.["server"] === "remote");
    expect(await remote[0]!.invoke({})).toBe("Bearer A");
  });

  it("lists and reads resources with its own headers", async () => {
    await using server = createTestServer({
      era: "legacy",
      resources: { "app://me": { title: "Me", text: "you" } },
    });
    const seen: (string | null)[] = [];
    const { url } = await server.http({
      intercept: (request) => {
        seen.push(request.headers.get("authorization"));
        return undefined;
      },
    });
    await using client = new MultiServerMCPClient({ app: { url } });
    expect(await client.listResources(["app"], bearer("A"))).toEqual({
      app: [{ uri: "app://me", name: "Me" }],
    });
    expect(await client.readResource("app", "app://me", bearer("A"))).toMatchObject([{ text: "you" }]);
    expect((await client.getClient("app", bearer("A")))?.getServerVersion()?.name).toBe("test-server");
    expect(new Set(seen)).toEqual(new Set(["Bearer A"]));
  });
});

describe("headers from beforeToolCall", () => {
  it.each(["legacy", "modern"] as const)("work with only a URL and open no new session (%s)", async (era) => {
    await using server = createWhoAmI(era);
    const http = await server.http();
    let user = "";
    await using client = new MultiServerMCPClient({
      mcpServers: { app: { url: http.url } },
      beforeToolCall: () => ({ headers: { Authorization: `Bearer ${user}` } }),
    });
    const [whoami] = await client.getTools();
    const sessions = http.sessionIds.length;
    for (user of ["A", "B", "C", "D", "E"]) expect(await whoami!.invoke({})).toBe(`Bearer ${user}`);
    expect(http.sessionIds.length).toBe(sessions);
  });

  it("keep the caller's other headers", async () => {
    await using server = createWhoAmI();
    const { url } = await server.http();
    await using client = new MultiServerMCPClient({
      mcpServers: { app: { url } },
      beforeToolCall: () => ({ headers: { "X-Tenant": "from the hook" } }),
    });
    const [whoami, tenant] = await client.getTools([], bearer("A"));
    expect([await whoami!.invoke({}), await tenant!.invoke({})]).toEqual(["Bearer A", "from the hook"]);
  });

  it("reach a legacy SSE server over one more connection, not one per call", async () => {
    await using server = createWhoAmI();
    const { url } = await server.sse();
    await using proxy = await startRecordingProxy(url);
    await using client = new MultiServerMCPClient({
      mcpServers: { app: { transport: "sse", url: proxy.origin + new URL(url).pathname } },
      beforeToolCall: () => ({ headers: { "X-Tenant": "t" } }),
    });
    const [whoami] = await client.getTools();
    for (let round = 0; round < 3; round += 1) await whoami!.invoke({});
    const streams = proxy.seen.filter(({ method }) => method === "GET");
    expect(streams.map(({ headers }) => headers["x-tenant"])).toEqual([undefined, "t"]);
    expect(proxy.seen.at(-1)).toMatchObject({ method: "POST", headers: { "x-tenant": "t" } });
    expect(server.calls.length).toBe(3);
  });

  it("are rejected for a transport without headers", async () => {
    await using server = createWhoAmI();
    const { command, args } = await server.stdio();
    await using client = new MultiServerMCPClient({
      mcpServers: { app: { command, args: [...args] } },
      beforeToolCall: () => ({ headers: { "X-Tenant": "t" } }),
    });
    const [whoami] = await client.getTools();
    expect(await failure(whoami!.invoke({}))).toMatchObject({
      name: "ToolException",
      message: expect.stringContaining("cannot carry the headers"),
      serverName: "app",
    });
  });
});
