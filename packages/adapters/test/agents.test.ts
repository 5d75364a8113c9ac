/** The servers of an agent: added, changed, disconnected, removed, and their tools for the AI SDK. */
import type { jsonSchemaValidator } from "@modelcontextprotocol/client";
import { memoryStore, ToolCallError } from "toolport";
import { Agent, McpClientManager } from "toolport/agents";
import { createTestServer, type TestHttpServer, type TestServer } from "toolport/testing";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { failure } from "../../../test/support/failure.js";

const headersSeen: Headers[] = [];
let server: TestServer;
let http: TestHttpServer;
const managers: McpClientManager[] = [];

const city = { type: "object", properties: { city: { type: "string" } }, required: ["city"] };

beforeAll(async () => {
  server = createTestServer({
    tools: {
      forecast: { inputSchema: city, handler: ({ city: name }) => `fog in ${String(name)}` },
      capabilities: {
        handler: (_args, { server: sdk }) => JSON.stringify(sdk.getClientCapabilities() ?? null),
      },
      "odd name!": { handler: () => "odd" },
    },
  });
  http = await server.http({
    era: "legacy",
    intercept: (request) => {
      headersSeen.push(request.headers);
      return undefined;
    },
  });
});
afterAll(() => server.close());
afterEach(async () => {
  await Promise.all(managers.splice(0).map((manager) => manager.close()));
  headersSeen.length = 0;
});

function manage(...options: ConstructorParameters<typeof McpClientManager>): McpClientManager {
  const manager = new McpClientManager(...options);
  managers.push(manager);
  return manager;
}

function makeAgent(): Agent {
  const agent = new Agent();
  managers.push(agent.mcp);
  return agent;
}

const plain = (url: string) => ({ name: "Weather", url, callbackUrl: "" });

type Execute = (input: unknown, options: { toolCallId: string; messages: [] }) => Promise<{ text: string }>;
const executeOf = (mcp: McpClientManager, name: string) =>
  mcp.getAITools()[name]!.execute as unknown as Execute;
const call = { toolCallId: "1", messages: [] as [] };

describe("addMcpServer", () => {
  it("returns the same server for the same name and URL, also in parallel calls", async () => {
    const agent = makeAgent();
    const opened: string[] = [];
    agent.mcp.toolport.on("state", ({ to }) => void (to === "connected" && opened.push(to)));
    const [first, second] = await Promise.all([
      agent.addMcpServer("Weather", http.url),
      agent.addMcpServer("Weather", http.url),
    ]);
    const third = await agent.addMcpServer("Weather", `${http.url.replace("http:", "HTTP:")}#part`);
    expect(first).toEqual({ id: expect.stringMatching(/^[a-z][a-z0-9]{5,11}$/), state: "ready" });
    expect([second, third]).toEqual([first, first]);
    expect(opened).toHaveLength(1);
    expect(Object.keys(agent.getMcpServers().servers)).toEqual([first.id]);
  });

  it("creates another server for another name or URL", async () => {
    const agent = makeAgent();
    const ids = [
      (await agent.addMcpServer("Weather", http.url)).id,
      (await agent.addMcpServer("Other", http.url)).id,
      (await agent.addMcpServer("Weather", `${http.url}?key=1`)).id,
    ];
    expect(new Set(ids).size).toBe(3);
    const { servers } = agent.getMcpServers();
    expect(ids.map((id) => servers[id]!.name)).toEqual(["Weather", "Other", "Weather"]);
    expect(servers[ids[2]!]!.server_url).toBe(http.url);
  });

  it("reuses the id of a removed server, so that tool names stay the same", async () => {
    const agent = makeAgent();
    const { id } = await agent.addMcpServer("Weather", http.url);
    await agent.removeMcpServer(id);
    expect(agent.getMcpServers().servers).toEqual({});
    await agent.removeMcpServer("never-there");
    expect((await agent.addMcpServer("Weather", http.url)).id).toBe(id);
  });

  it.each([
    ["an object", { "X-Key": "k1" }],
    ["a list of pairs", [["X-Key", "k1"]] as [string, string][]],
    ["Headers", new Headers({ "x-key": "k1" })],
  ])("sends headers given as %s", async (_form, headers) => {
    const agent = makeAgent();
    await agent.addMcpServer("Weather", http.url, undefined, undefined, { transport: { headers } });
    expect(new Set(headersSeen.map((each) => each.get("x-key")))).toEqual(new Set(["k1"]));
  });

  it("uses new headers under the same id", async () => {
    const agent = makeAgent();
    const add = (key: string) =>
      agent.addMcpServer("Weather", http.url, undefined, undefined, { transport: { headers: { key } } });
    const first = await add("k1");
    const before = headersSeen.length;
    expect(await add("k2")).toEqual(first);
    const keys = headersSeen.slice(before).map((each) => each.get("key"));
    // The old connection ends its session with the old key.
    expect(keys.at(-1)).toBe("k2");
    expect(keys.filter((key) => key === "k2").length).toBeGreaterThan(1);
  });

  it("uses the given transport, or detects it", async () => {
    const sse = await server.sse();
    const agent = makeAgent();
    const add = (name: string, type?: "sse" | "streamable-http" | "auto") =>
      agent.addMcpServer(name, sse.url, undefined, undefined, {
        transport: type === undefined ? {} : { type },
      });
    expect(await add("a")).toMatchObject({ state: "ready" });
    expect(await add("b", "auto")).toMatchObject({ state: "ready" });
    expect(await add("c", "sse")).toMatchObject({ state: "ready" });
    expect(await failure(add("d", "streamable-http"))).toMatchObject({ code: "HTTP_STATUS" });
    expect(
      Object.values(agent.getMcpServers().servers)
        .map(({ state }) => state)
        .sort(),
    ).toEqual([...["failed", "ready", "ready", "ready"]]);
  });

  it("retries a failed server", async () => {
    const agent = makeAgent();
    const late = createTestServer({ tools: { late: { handler: () => "late" } } });
    let isUp = false;
    const { url } = await late.http({
      intercept: () => (isUp ? undefined : new Response(null, { status: 503 })),
    });
    try {
      await expect(agent.addMcpServer("Late", url)).rejects.toMatchObject({ code: "HTTP_STATUS" });
      isUp = true;
      expect(await agent.addMcpServer("Late", url)).toMatchObject({ state: "ready" });
    } finally {
      await late.close();
    }
  });

  it("rejects an invalid URL and saves nothing", async () => {
    const store = memoryStore();
    const mcp = manage({ store });
    await expect(mcp.addServer("Weather", "nonsense")).rejects.toMatchObject({ code: "INVALID_CONFIG" });
    expect(mcp.getMcpServers().servers).toEqual({});
    expect(await store.list("")).toEqual([]);
  });
});

describe("options.client", () => {
  const refusing: jsonSchemaValidator = {
    getValidator: () => () => ({ valid: false, data: undefined, errorMessage: "not on my watch" }),
  };
  const lenient: jsonSchemaValidator = {
    getValidator: () => (input) => ({ valid: true, data: input as never, errorMessage: undefined }),
  };

  it("sets a validator that checks the arguments of this server only", async () => {
    const agent = makeAgent();
    const withValidator = (name: string, jsonSchemaValidator: jsonSchemaValidator) =>
      agent.addMcpServer(name, http.url, undefined, undefined, { client: { jsonSchemaValidator } });
    const [strict, open] = [await withValidator("a", refusing), await withValidator("b", lenient)];
    const usual = await agent.addMcpServer("c", http.url);
    const forecast = ({ id }: { id: string }, input: unknown) =>
      executeOf(agent.mcp, `${id}__forecast`)(input, call);

    const refused = await failure<ToolCallError>(forecast(strict, { city: "Oslo" }));
    expect(refused).toMatchObject({ code: "INVALID_ARGUMENTS" });
    expect(refused.message).toContain("not on my watch");
    expect((await forecast(open, { city: 7 })).text).toBe("fog in 7");
    expect(await failure(forecast(usual, { city: true }))).toBeInstanceOf(ToolCallError);
    expect((await forecast(usual, { city: "Oslo" })).text).toBe("fog in Oslo");
  });

  it("is also passed to the SDK's client", async () => {
    const promising = createTestServer({
      tools: { promise: { outputSchema: city, handler: () => ({ structuredContent: { city: 7 } }) } },
    });
    const agent = makeAgent();
    const { url } = await promising.http();
    const { id } = await agent.addMcpServer("a", url, undefined, undefined, {
      client: { jsonSchemaValidator: lenient },
    });
    expect(await agent.mcp.toolport.callTool(`${id}__promise`)).toMatchObject({
      structuredContent: { city: 7 },
    });
    const client = await agent.mcp.toolport.client(id);
    expect(await client.callTool({ name: "promise" })).toMatchObject({ structuredContent: { city: 7 } });
    await agent.mcp.closeAllConnections();
    await promising.close();
  });

  it("advertises capabilities besides the port's own, in both eras", async () => {
    const agent = makeAgent();
    const both = await server.http();
    for (const url of [http.url, both.url]) {
      const client = { capabilities: { experimental: { mine: {} } } };
      const { id } = await agent.addMcpServer("a", url, undefined, undefined, { client });
      const { text } = await executeOf(agent.mcp, `${id}__capabilities`)({}, call);
      expect(JSON.parse(text)).toMatchObject({ experimental: { mine: {} } });
    }
    const { servers } = agent.mcp.toolport.snapshot();
    expect(
      Object.values(servers)
        .map(({ era }) => era)
        .sort(),
    ).toEqual(["legacy", "modern"]);
  });

  it("must be an object", async () => {
    const agent = makeAgent();
    const added = agent.addMcpServer("a", http.url, undefined, undefined, { client: "x" as never });
    await expect(added).rejects.toMatchObject({ code: "INVALID_CONFIG" });
  });
});

describe("getAITools", () => {
  it("returns at once, with names that start with the id and are valid for every provider", async () => {
    const agent = makeAgent();
    expect(agent.mcp.getAITools()).toEqual({});
    const [one, other] = [await agent.addMcpServer("a", http.url), await agent.addMcpServer("b", http.url)];
    const names = Object.keys(agent.mcp.getAITools());
    for (const { id } of [one, other]) {
      expect(names).toContain(`${id}__forecast`);
      expect(names.filter((name) => name.startsWith(`${id}__`))).toHaveLength(3);
    }
    expect(names.filter((name) => !/^[a-zA-Z_][a-zA-Z0-9_-]{0,63}$/.test(name))).toEqual([]);
    expect(agent.getMcpServers().tools.map(({ name }) => name)).toContain("odd name!");
  });

  it("omits disconnected servers, and includes them again after a reconnect", async () => {
    const agent = makeAgent();
    const { id } = await agent.addMcpServer("a", http.url);
    await agent.mcp.closeConnection(id);
    expect(agent.mcp.getAITools()).toEqual({});
    expect(agent.getMcpServers()).toMatchObject({ servers: { [id]: { state: "failed" } }, tools: [] });
    expect(await agent.mcp.connectToServer(id)).toEqual({ state: "connected" });
    expect(Object.keys(agent.mcp.getAITools())).toHaveLength(3);
  });
});

describe("the manager", () => {
  it("registers without connecting, connects, discovers, and disconnects", async () => {
    const mcp = manage();
    expect(await mcp.registerServer("weather", plain(http.url))).toBe("weather");
    expect(http.sessionIds).toEqual([]);
    expect(mcp.getMcpServers().servers["weather"]).toMatchObject({ name: "Weather", state: "connecting" });
    expect(await mcp.discoverIfConnected("weather")).toBeUndefined();
    expect(await mcp.discoverIfConnected("unknown")).toBeUndefined();

    const seen: string[] = [];
    mcp.toolport.on("state", () => seen.push(mcp.getMcpServers().servers["weather"]!.state));
    expect(await mcp.connectToServer("weather")).toEqual({ state: "connected" });
    expect(seen).toEqual(["connecting", "connected", "discovering", "ready"]);
    expect(await mcp.discoverIfConnected("weather")).toEqual({ success: true, state: "ready" });
    expect(Object.keys(mcp.getAITools())).toContain("weather__forecast");

    await mcp.closeAllConnections();
    expect(mcp.getMcpServers().servers["weather"]).toMatchObject({ state: "failed" });
    expect(await mcp.discoverIfConnected("weather")).toBeUndefined();
    expect(http.sessionIds).toEqual([]);
  });

  it("finds a registered server by name and URL", async () => {
    const mcp = manage();
    await mcp.registerServer("weather", plain(http.url));
    expect(await mcp.addServer("Weather", http.url)).toEqual({ id: "weather", state: "ready" });
  });

  it("replaces a server that is registered again with another URL", async () => {
    const mcp = manage();
    await mcp.registerServer("weather", plain("http://127.0.0.1:9/mcp"));
    const failed = await mcp.connectToServer("weather");
    expect(failed).toEqual({ state: "failed", error: expect.stringContaining("UNREACHABLE") });
    await mcp.registerServer("weather", plain(http.url));
    expect(await mcp.connectToServer("weather")).toEqual({ state: "connected" });
  });

  it("reports which request a server did not answer in time", async () => {
    let isDeaf = false;
    const hanging = createTestServer({ tools: { one: { handler: () => "one" } } });
    const { url } = await hanging.http({
      intercept: async (request) => {
        const { method } = (await request
          .clone()
          .json()
          .catch(() => ({}))) as { method?: string };
        return isDeaf && method === "tools/list" ? new Promise<Response>(() => {}) : undefined;
      },
    });
    const mcp = manage();
    await mcp.registerServer("slow", plain(url));
    await mcp.connectToServer("slow");
    isDeaf = true;
    expect(await mcp.discoverIfConnected("slow", { timeoutMs: 200 })).toEqual({
      success: false,
      state: "ready",
      error: expect.stringContaining("TIMEOUT"),
    });
    await mcp.close();
    await hanging.close();
  });

  it("names an unknown server in its error", async () => {
    const mcp = manage();
    await expect(mcp.connectToServer("unknown")).rejects.toMatchObject({ code: "UNKNOWN_SERVER" });
    await expect(mcp.closeConnection("unknown")).rejects.toMatchObject({ code: "UNKNOWN_SERVER" });
  });
});
