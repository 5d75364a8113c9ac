/** Every code block of Cloudflare's page "McpClient — API reference" runs against local servers. */
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import type { MockLanguageModelV3 } from "ai/test";
import type { Agent, MCPConnectionState, MCPServersState } from "toolport/agents";
import { createTestServer, type TestServer } from "toolport/testing";
import ts from "typescript";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { readMarkdown } from "../../../test/docs/markdown.js";
import { type OAuthBench, startOAuthBench } from "../../../test/support/oauth-bench.js";
import { logIn } from "../../../test/support/oauth-browser.js";
import { waitFor } from "../../../test/support/wait-for.js";
import { CLASS_BLOCKS, SIGNATURE_BLOCKS } from "./agents-repairs.js";
import { scriptedAiSdkModel } from "./ai-sdk-model.js";
import { repair } from "./readme-repairs.js";

const original = readMarkdown("test/fixtures/cloudflare-agents/blocks.md").blocks;
const textOf = (block: number) => original[block - 1]!.text;
const repaired = new Map(CLASS_BLOCKS.map((entry) => [entry.block, repair(textOf(entry.block), entry)]));

describe("the page", () => {
  it("has no block that this file omits", () => {
    const taken = [...CLASS_BLOCKS, ...SIGNATURE_BLOCKS].map(({ block }) => block).sort((a, b) => a - b);
    expect(taken).toEqual(original.map((_, index) => index + 1));
  });
});

const HOME = "http://localhost:8787";
const servers = { weather: "", other: "" };
let weather: TestServer;
let weatherUrl: string;
let bench: OAuthBench;
let model: MockLanguageModelV3;

beforeAll(async () => {
  weather = createTestServer({
    instructions: "Ask for one city at a time",
    tools: {
      forecast: {
        description: "The weather of a city",
        inputSchema: { type: "object", properties: { city: { type: "string" } }, required: ["city"] },
        handler: ({ city }) => `fog in ${city}`,
      },
    },
    prompts: { ask: { get: () => "How is the weather?" } },
    resources: { "weather://stations": { name: "stations", text: "SFO" } },
  });
  weatherUrl = (await weather.http()).url;
  bench = await startOAuthBench();
});

afterAll(async () => {
  await weather.close();
  await bench[Symbol.asyncDispose]();
});

const agents: Agent[] = [];
afterEach(async () => {
  await Promise.all(agents.splice(0).map((agent) => agent.mcp.close()));
});

/** Creates an agent from the class of a block. */
async function run(block: number): Promise<Agent> {
  const { outputText } = ts.transpileModule(repaired.get(block)!, {
    compilerOptions: { module: ts.ModuleKind.CommonJS, target: ts.ScriptTarget.ES2022 },
  });
  const packages: Record<string, unknown> = {
    "toolport/agents": await import("toolport/agents"),
    "toolport/agents/mcp": await import("toolport/agents/mcp"),
    ai: await import("ai"),
  };
  const scope = {
    exports: {} as Record<string, new () => Agent>,
    require: (name: string) => packages[name],
    servers,
    openai: () => model,
  };
  new Function(...Object.keys(scope), outputText)(...Object.values(scope));
  const agent = new scope.exports["MyAgent"]!();
  agents.push(agent);
  return agent;
}

const ask = (agent: Agent, path = "/", method = "GET", body?: object): Promise<Response> =>
  agent.fetch(new Request(`${HOME}${path}`, { method, ...(body && { body: JSON.stringify(body) }) }));

function watchStates(agent: Agent): MCPConnectionState[] {
  const seen: MCPConnectionState[] = [];
  // The result of the page's method at every change.
  agent.mcp.toolport.on("state", ({ server }) => seen.push(agent.getMcpServers().servers[server]!.state));
  return seen;
}

describe.each([1, 2])("block %i: connect", (block) => {
  it("to a server without authorization", async () => {
    servers.weather = weatherUrl;
    const agent = await run(block);
    const seen = watchStates(agent);
    const answer = await ask(agent, "/connect", "POST");
    expect(answer.status).toBe(200);
    const [id] = Object.keys(agent.getMcpServers().servers);
    expect(await answer.text()).toBe(`Connected: ${id}`);
    expect(seen).toEqual(["connecting", "connected", "discovering", "ready"]);
    expect(await (await ask(agent, "/connect", "POST")).text()).toBe(`Connected: ${id}`);
    expect((await ask(agent, "/elsewhere")).status).toBe(404);
  });

  it("to a server that requires a login", async () => {
    servers.weather = bench.url;
    const agent = await run(block);
    const seen = watchStates(agent);
    const answer = await ask(agent, "/connect", "POST");
    expect(answer.headers.get("content-type")).toBe("application/json");
    const { authUrl } = (await answer.json()) as { authUrl: string };
    const callback = `${HOME}/agents/my-agent/default/callback`;
    expect(new URL(authUrl).searchParams.get("redirect_uri")).toBe(callback);
    expect(seen).toEqual(["connecting", "authenticating"]);

    expect((await agent.fetch(new Request(await logIn(authUrl)))).status).toBe(200);
    await waitFor(() => seen.at(-1) === "ready");
    expect(seen.slice(2)).toEqual(["connecting", "connected", "discovering", "ready"]);
    expect(await (await ask(agent, "/connect", "POST")).text()).toMatch(/^Connected: /);
  });
});

describe.each([4, 5])("block %i: the two results", (block) => {
  it("ready, and authenticating", async () => {
    servers.weather = weatherUrl;
    expect(await (await ask(await run(block))).text()).toMatch(/^Connected: \w+$/);
    servers.weather = bench.url;
    const agent = await run(block);
    const { serverId, authUrl } = (await (await ask(agent)).json()) as Record<string, string>;
    expect(agent.getMcpServers().servers[serverId!]).toMatchObject({
      name: "Weather API",
      state: "authenticating",
      auth_url: authUrl,
    });
  });
});

it.each([7, 8])("block %i: disconnect", async (block) => {
  const agent = await run(block);
  const { id } = await agent.addMcpServer("Weather API", weatherUrl);
  const answer = await ask(agent, "/disconnect", "POST", { serverId: id });
  expect([answer.status, await answer.text()]).toEqual([200, "Disconnected"]);
  expect(agent.getMcpServers()).toEqual({
    servers: {},
    tools: [],
    prompts: [],
    resources: [],
    resourceTemplates: [],
  });
});

it.each([11, 12])("block %i: the state of all servers", async (block) => {
  const agent = await run(block);
  const { id } = await agent.addMcpServer("Weather API", weatherUrl);
  const state = (await (await ask(agent, "/mcp-state")).json()) as MCPServersState;
  expect(state.servers).toEqual({
    [id]: {
      name: "Weather API",
      server_url: weatherUrl,
      auth_url: null,
      state: "ready",
      capabilities: expect.objectContaining({ tools: expect.anything() }),
      instructions: "Ask for one city at a time",
    },
  });
  expect(state.tools).toEqual([
    {
      name: "forecast",
      description: "The weather of a city",
      inputSchema: { type: "object", properties: { city: { type: "string" } }, required: ["city"] },
      serverId: id,
    },
  ]);
  expect(state.prompts).toMatchObject([{ name: "ask", serverId: id }]);
  expect(state.resources).toMatchObject([{ uri: "weather://stations", name: "stations", serverId: id }]);
  expect(state.resourceTemplates).toEqual([]);
});

it.each([21, 22])("block %i: a model with the tools", async (block) => {
  const agent = await run(block);
  const { id } = await agent.addMcpServer("Weather API", weatherUrl);
  const name = `${id}__forecast`;
  model = scriptedAiSdkModel([[{ name, args: { city: "San Francisco" } }], "Foggy, as ever"]);
  const before = weather.calls.length;
  // Without `stopWhen` a call ends the turn: there is a tool result, but no text.
  expect(await (await ask(agent)).text()).toBe("");
  expect(weather.calls.slice(before)).toMatchObject([{ name: "forecast", args: { city: "San Francisco" } }]);
  expect(await (await ask(agent)).text()).toBe("Foggy, as ever");
  expect(model.doGenerateCalls[0]!.tools).toMatchObject([{ name, description: "The weather of a city" }]);
});

it.each([23, 24])("block %i: the redirect after a login", async (block) => {
  const agent = await run(block);
  const connect = () => agent.addMcpServer("Weather API", bench.url, HOME);
  const { authUrl } = await connect();
  const answer = await agent.fetch(new Request(await logIn(authUrl!)));
  expect([answer.status, answer.headers.get("location")]).toEqual([302, `${HOME}/connected`]);
  expect(await connect()).toMatchObject({ state: "ready" });
  const forged = await ask(agent, "/agents/my-agent/default/callback?code=1&state=forged");
  expect([forged.status, forged.headers.get("location")]).toEqual([302, `${HOME}/auth-failed`]);
});

describe.each([25, 26])("block %i: errors", (block) => {
  const answering = async (status: number, body: (agent: Agent) => Promise<void>) => {
    const listener = createServer((_request, response) => response.writeHead(status).end()).listen(
      0,
      "127.0.0.1",
    );
    await once(listener, "listening");
    try {
      servers.other = `http://127.0.0.1:${(listener.address() as AddressInfo).port}/mcp`;
      await body(await run(block));
    } finally {
      listener.closeAllConnections();
      listener.close();
    }
  };

  it.each([
    [401, 401, "Authentication required"],
    [405, 400, "Transport not supported"],
  ])("a server that answers %i", (status, answered, text) =>
    answering(status, async (agent) => {
      const answer = await ask(agent);
      expect([answer.status, await answer.text()]).toEqual([answered, text]);
    }),
  );

  it("other errors are thrown", () =>
    answering(500, async (agent) => {
      await expect(ask(agent)).rejects.toMatchObject({
        name: "ConnectionError",
        code: "HTTP_STATUS",
        status: 500,
      });
    }));
});
