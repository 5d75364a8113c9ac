/** Every code block of the README of `@langchain/mcp-adapters` 1.1.4 compiles and runs against local servers. */

import {
  type ClientConfig,
  type Connection,
  MultiServerMCPClient,
  type OutputHandling,
} from "toolport/langchain";
import { createTestServer, type TestServer } from "toolport/testing";
import ts from "typescript";
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from "vitest";
import { type OAuthTestServer, startOAuthServer } from "../../../test/fixtures/servers/oauth-server.js";
import { type OpenAiDouble, startOpenAiDouble } from "../../../test/support/openai-double.js";
import { waitFor } from "../../../test/support/wait-for.js";
import { resolveOutputHandling } from "../src/langchain/content.js";
import { original, repaired } from "./readme-blocks.js";
import { closedUrl, dataTools, everythingTools, mathTools } from "./readme-servers.js";

const requestIds: string[] = [];
const noteRequestId = (request: Request): undefined => {
  const id = request.headers.get("x-request-id");
  if (id !== null) requestIds.push(id);
};

const opened: TestServer[] = [];
const weatherHeaders: (string | null)[] = [];
const store = new Map<string, string>();
const localStorage = {
  getItem: (key: string) => store.get(key) ?? null,
  setItem: (key: string, value: string) => void store.set(key, value),
};
let servers: Record<string, { command?: string; args?: string[]; url?: string }>;
let oauth: OAuthTestServer;
let openai: OpenAiDouble;

function serve(definition: Parameters<typeof createTestServer>[0]): TestServer {
  const server = createTestServer(definition);
  opened.push(server);
  return server;
}

async function process(definition: Parameters<typeof createTestServer>[0]) {
  const { command, args } = await serve(definition).stdio();
  return { command, args: [...args] };
}

beforeAll(async () => {
  openai = await startOpenAiDouble([
    { call: "add", args: { a: 3, b: 5 } },
    { call: "multiply", args: { a: 8, b: 12 } },
    "It is 96",
  ]);
  vi.stubEnv("OPENAI_API_KEY", "scripted");
  vi.stubEnv("OPENAI_BASE_URL", openai.baseUrl);
  oauth = await startOAuthServer({ tools: { secret: { handler: () => "secret" } } });
  store.set("mcp_tokens", JSON.stringify({ ...oauth.issue(), issuer: oauth.issuer }));
  store.set("mcp_client", JSON.stringify({ client_id: "known", issuer: oauth.issuer }));
  const weather = await serve({ tools: { forecast: { handler: () => "sunny" } } }).http({
    intercept: (request) => {
      weatherHeaders.push(request.headers.get("authorization"));
      return undefined;
    },
  });
  servers = {
    math: await process({ tools: mathTools }),
    filesystem: await process({ tools: { read_file: { handler: () => "text" } } }),
    data: await process({ tools: dataTools }),
    everything: await process({ tools: everythingTools, capabilities: { logging: {} }, era: "legacy" }),
    mathOverHttp: { url: (await serve({ tools: mathTools }).http({ intercept: noteRequestId })).url },
    closed: { url: await closedUrl() },
    image: await process({ tools: { render: { handler: () => "rendered" } } }),
    weather: { url: weather.url },
    protected: { url: oauth.url },
    github: { url: (await serve({ tools: { issues: { handler: () => "none" } } }).sse()).url },
  };
});

afterAll(async () => {
  vi.unstubAllEnvs();
  await Promise.all(opened.map((server) => server.close()));
  await oauth[Symbol.asyncDispose]();
  await openai[Symbol.asyncDispose]();
});

const clients: MultiServerMCPClient[] = [];

/** Some blocks do not close their client: in a program the end of the process does. */
class TrackedClient extends MultiServerMCPClient {
  constructor(...parameters: ConstructorParameters<typeof MultiServerMCPClient>) {
    super(...parameters);
    clients.push(this);
  }
}

afterEach(async () => {
  await Promise.all(clients.splice(0).map((client) => client.close()));
});

/** The packages that the blocks import. */
async function load(): Promise<Record<string, unknown>> {
  return {
    "toolport/langchain": { ...(await import("toolport/langchain")), MultiServerMCPClient: TrackedClient },
    "@langchain/openai": await import("@langchain/openai"),
    langchain: await import("langchain"),
    "@modelcontextprotocol/sdk/client/index.js": await import("@modelcontextprotocol/sdk/client/index.js"),
    "@modelcontextprotocol/sdk/client/stdio.js": await import("@modelcontextprotocol/sdk/client/stdio.js"),
  };
}

interface Outcome {
  readonly exports: Record<string, unknown>;
  readonly logged: unknown[][];
  readonly errors: unknown[][];
  readonly warnings: unknown[][];
}

/** Runs a block as a separate module, with its stand-ins in scope. */
async function run(block: number, names: Record<string, unknown> = {}): Promise<Outcome> {
  const { outputText } = ts.transpileModule(repaired.get(block)!, {
    compilerOptions: { module: ts.ModuleKind.CommonJS, target: ts.ScriptTarget.ES2022 },
  });
  const packages = await load();
  const [logged, errors, warnings]: unknown[][][] = [[], [], []];
  const scope: Record<string, unknown> = {
    exports: {},
    require: (name: string) => packages[name],
    console: {
      log: (...line: unknown[]) => logged!.push(line),
      error: (...line: unknown[]) => errors!.push(line),
      warn: (...line: unknown[]) => warnings!.push(line),
    },
    servers,
    localStorage,
    ...names,
  };
  const AsyncFunction = (async () => {}).constructor as new (
    ...parts: string[]
  ) => (...values: unknown[]) => Promise<void>;
  // Export the variables of the block, so that the test can check them.
  const results =
    "for (const name of ['result', 'directResult', 'quickResult', 'normalResult', 'out']) { try { exports[name] ??= eval(name); } catch {} }";
  await new AsyncFunction(...Object.keys(scope), `${outputText}\n${results}`)(...Object.values(scope));
  const exports = scope["exports"] as Record<string, unknown>;
  return { exports, logged: logged!, errors: errors!, warnings: warnings! };
}

describe("run", () => {
  const logLines: unknown[] = [];

  async function provider(): Promise<unknown> {
    return (await run(12)).exports["MyOAuthProvider"];
  }

  it("block 2: an agent over five servers, one of them protected by OAuth", async () => {
    const { logged, errors } = await run(2, { MyOAuthProvider: await provider() });
    expect(errors).toEqual([]);
    const [response] = logged[0] as [{ messages: { content: unknown }[] }];
    expect(response.messages.map(({ content }) => content).slice(-1)).toEqual(["It is 96"]);
    expect(openai.requests[0]!.tools!.map((tool) => tool.function.name)).toEqual([
      ...["calculate", "add", "multiply", "read_file", "forecast", "secret", "issues"],
    ]);
    expect(new Set(weatherHeaders)).toEqual(new Set(["Bearer token123"]));
  });

  it("block 4: a custom client of SDK v1", async () => {
    const { logged, errors } = await run(4);
    expect(errors).toEqual([]);
    const [response] = logged[0] as [{ messages: { content: unknown }[] }];
    expect(response.messages.at(-1)!.content).toBe("It is 96");
  });

  it("block 5: notifications during a call", async () => {
    const { logged } = await run(5, {
      served: () => waitFor(() => logLines.length === 2),
      console: { log: (line: unknown) => logLines.push(line) },
    });
    expect(logged).toEqual([]);
    expect(logLines).toEqual(
      expect.arrayContaining(["[everything] half done", "[progress:everything/longRunningOperation] 25%"]),
    );
  });

  it("block 5: a changed list is reported with the server's name", async () => {
    const server = serve({ tools: { one: { handler: () => "1" } }, era: "legacy" });
    const stdio = await server.stdio();
    const lines: unknown[] = [];
    const everything = { command: stdio.command, args: [...stdio.args] };
    await run(5, {
      servers: { ...servers, everything },
      served: async () => {
        await server.update({ tools: { two: { handler: () => "2" } } });
        await waitFor(() => lines.length === 1);
      },
      console: { log: (line: unknown) => lines.push(line) },
    });
    expect(lines).toEqual(["[everything] tools changed (0)"]);
  });

  it("block 6: hooks that add an argument and a header, and pass the result on", async () => {
    expect((await run(6)).exports["out"]).toBe("3");
    expect(requestIds).toEqual([expect.stringMatching(/^[0-9a-f-]{36}$/)]);
  });

  it("blocks 7, 8 and 9: output handling by server", async () => {
    const { clientConfig } = (await run(7)).exports as { clientConfig: ClientConfig };
    await using client = new MultiServerMCPClient(clientConfig);
    expect((await client.getTools()).length).toBe(2);
    const handlingOf = (name: string) =>
      resolveOutputHandling(clientConfig.outputHandling, clientConfig.mcpServers[name]!.outputHandling);
    const [camera, microphone] = [await run(8), await run(9)].map(
      ({ exports }) => exports["block"] as OutputHandling,
    );
    expect(handlingOf("camera-server")).toMatchObject(camera as object);
    expect(handlingOf("microphone")).toMatchObject(microphone as object);
  });

  it("block 10: a timeout for one server and one for all", async () => {
    const outcome = await run(10);
    expect(outcome.exports["result"]).toBe("processed huge_file.csv");
  });

  it("block 11: timeouts for single calls", async () => {
    const outcome = await run(11);
    expect(outcome.exports).toMatchObject({
      result: "processed huge_file.csv",
      directResult: "processed huge_file.csv",
      quickResult: "found simple_lookup",
      normalResult: "did normal_processing",
    });
  });

  it("block 12: OAuth, with a refresh of the stored token", async () => {
    oauth.expireAccessTokens();
    const outcome = await run(12);
    const client = outcome.exports["client"] as MultiServerMCPClient;
    const [secret] = await client.getTools();
    expect(await secret!.invoke({})).toBe("secret");
    expect(oauth.counts.refresh).toBe(1);
    expect(localStorage.getItem("mcp_redirect")).toBeNull();
  });

  it.each([13, 14])("block %i: a server with reconnect settings", async (block) => {
    const entry = (await run(block)).exports["block"] as Connection;
    await using client = new MultiServerMCPClient({ entry });
    expect((await client.getTools()).length).toBeGreaterThan(0);
  });

  it("block 15: no errors", async () => {
    const outcome = await run(15);
    expect(outcome.errors).toEqual([]);
  });

  it("block 15: a separate message for each kind of error", async () => {
    const reported = async (math: object) =>
      (await run(15, { servers: { ...servers, math } })).errors.map(String);
    expect(await reported({ command: "no-such-server", args: [] })).toEqual([
      expect.stringContaining("Connection error (math):"),
    ]);
    const failing = await process({
      tools: { fails: { handler: () => Promise.reject(new Error("broken")) } },
    });
    expect(await reported(failing)).toEqual([expect.stringMatching(/^Tool execution failed:.*broken/)]);
    expect(await reported({ command: "node", args: [7] })).toEqual([
      expect.stringContaining("Configuration error:"),
      expect.stringContaining("- Path: mcpServers.math.args.0, Error: must be a string"),
    ]);
  });

  it("block 16: an invalid URL has the documented name and path", () => {
    const documented = JSON.parse(original[15]!.text) as { name: string; issues: { path: string[] }[] };
    const config = { mcpServers: { weather: { transport: "sse" as const, url: "nonsense" } } };
    try {
      new MultiServerMCPClient(config);
      expect.unreachable();
    } catch (error) {
      const { name, issues } = error as typeof documented;
      expect(name).toBe(documented.name);
      expect(issues.map(({ path }) => path)).toEqual(documented.issues.map(({ path }) => path));
    }
  });

  it("block 17: a missing server is skipped", async () => {
    const { tools, workingClient, brokenClient } = (await run(17)).exports as {
      tools: { name: string }[];
      workingClient: unknown;
      brokenClient: unknown;
    };
    expect(tools.map(({ name }) => name)).toEqual(["calculate", "add", "multiply"]);
    expect(workingClient).toBeDefined();
    expect(brokenClient).toBeUndefined();
  });

  it("block 18: a function decides which servers are optional", async () => {
    const critical = (await run(18)).exports["client"] as MultiServerMCPClient;
    await expect(critical.getTools()).rejects.toThrow(
      "Critical server critical-server failed: MCPClientError",
    );
    const { exports, warnings } = await run(18);
    const optional = exports["client"] as MultiServerMCPClient;
    expect(await optional.getTools("optional-server")).toEqual([]);
    expect(warnings).toEqual([["Optional server optional-server failed, continuing..."]]);
  });
});
