/** `throwOnLoadError` and `withheldTools`: a listed tool that cannot be offered is reported, and does not affect the others by default. */
import { createToolport } from "toolport";
import {
  type ClientConfig,
  loadMcpTools,
  MCPClientError,
  MultiServerMCPClient,
  toLangChainTools,
} from "toolport/langchain";
import { createTestServer } from "toolport/testing";
import { describe, expect, it, vi } from "vitest";
import { startJsonRpcServer } from "../../../test/fixtures/servers/http-json-rpc.js";
import { failure } from "../../../test/support/failure.js";

const good = { name: "good", inputSchema: { type: "object" } };
const bad = { name: "bad", inputSchema: 1 };
const worse = {
  name: "worse",
  inputSchema: { type: "string" },
};

const serve = (...tools: unknown[]) => startJsonRpcServer({ "tools/list": () => ({ tools }) });
const names = (tools: { name: string }[]) => tools.map(({ name }) => name);

async function clientOf(tools: unknown[], config: Omit<ClientConfig, "mcpServers"> = {}, entry = {}) {
  const server = await serve(...tools);
  const other = createTestServer({ tools: { fine: { handler: () => "fine" } } });
  const client = new MultiServerMCPClient({
    ...config,
    mcpServers: { mixed: { ...server.entry, ...entry }, other: other.memory() },
  });
  return {
    client,
    async [Symbol.asyncDispose]() {
      await client.close();
      await other.close();
      await server[Symbol.asyncDispose]();
    },
  };
}

describe("a tool that cannot be offered", () => {
  it("is an error that names it and its server", async () => {
    await using opened = await clientOf([good, bad, worse]);
    const error = await failure<MCPClientError>(opened.client.getTools());
    expect(error).toBeInstanceOf(MCPClientError);
    expect(error.serverName).toBe("mixed");
    expect(error.message).toMatch(/server "mixed".*tool "bad".*tool "worse".*throwOnLoadError/);
    expect(await failure(opened.client.initializeConnections())).toMatchObject({ serverName: "mixed" });
    // The other servers are not affected.
    expect(names(await opened.client.getTools("other"))).toEqual(["fine"]);
  });

  it("is omitted if configured, and listed with the reason", async () => {
    await using opened = await clientOf([good, bad, worse, { name: 7 }], { throwOnLoadError: false });
    expect(opened.client.withheldTools).toEqual([]);
    expect(names(await opened.client.getTools())).toEqual(["good", "fine"]);
    expect(opened.client.withheldTools).toEqual([
      { server: "mixed", name: "bad", reason: expect.any(String) },
      { server: "mixed", name: "worse", reason: expect.any(String) },
      { server: "mixed", name: "7", reason: expect.any(String) },
    ]);
    // Other callers have the same lists, and each tool is listed once.
    await opened.client.getTools(["mixed"], { headers: { "x-user": "ada" } });
    expect(opened.client.withheldTools.length).toBe(3);
    await opened.client.close();
    expect(opened.client.withheldTools).toEqual([]);
  });

  it("follows onConnectionError: ignored or passed to a function, it does not affect other tools", async () => {
    const onConnectionError = vi.fn();
    for (const policy of ["ignore", onConnectionError] as const) {
      await using opened = await clientOf([good, bad], { onConnectionError: policy });
      expect(names(await opened.client.getTools())).toEqual(["good", "fine"]);
    }
    expect(onConnectionError.mock.calls).toEqual([
      [
        {
          serverName: "mixed",
          error: expect.objectContaining({ message: expect.stringContaining('"bad"') }),
        },
      ],
    ]);
  });

  it("is not an error if your own filters exclude it", async () => {
    for (const entry of [{ only: ["good"] }, { except: ["b*"] }]) {
      await using opened = await clientOf([good, bad], {}, entry);
      expect(names(await opened.client.getTools())).toEqual(["good", "fine"]);
    }
    await using opened = await clientOf([good, bad], { toolport: { except: ["mixed__bad"] } });
    expect(names(await opened.client.getTools())).toEqual(["good", "fine"]);
  });
});

it("a tool that is listed twice is offered once, without an error", async () => {
  await using opened = await clientOf([good, good]);
  expect(names(await opened.client.getTools())).toEqual(["good", "fine"]);
  expect(opened.client.withheldTools).toMatchObject([{ name: "good", reason: "Listed twice" }]);
});

it("a tool that your scan rejects is omitted without an error", async () => {
  await using opened = await clientOf([good, { ...good, name: "odd" }], {
    toolport: { scan: (_server, { name }) => (name === "odd" ? "I do not like it" : undefined) },
  });
  expect(names(await opened.client.getTools())).toEqual(["good", "fine"]);
  expect(opened.client.withheldTools).toMatchObject([{ name: "odd", isRefused: true }]);
});

it("loadMcpTools throws by default, and omits it if configured", async () => {
  // The SDK's client rejects such a list; a client with fewer checks passes it on.
  const lenient = {
    listTools: async () => ({ tools: [good, bad] }),
    callTool: async () => ({ content: [] }),
  };
  const error = await failure(loadMcpTools("mixed", lenient));
  expect(error).toMatchObject({ name: "MCPClientError", message: expect.stringContaining('tool "bad"') });
  expect(names(await loadMcpTools("mixed", lenient, { throwOnLoadError: false }))).toEqual(["good"]);
});

it("toLangChainTools throws only if configured, and only for the selected tools", async () => {
  await using server = await serve(good, bad);
  await using other = createTestServer({ tools: { fine: { handler: () => "fine" } } });
  await using toolport = createToolport({ mcpServers: { mixed: server.entry, other: other.memory() } });
  expect(names(await toLangChainTools(toolport))).toEqual(["mixed__good", "other__fine", "read_artifact"]);
  expect(await failure(toLangChainTools(toolport, { throwOnLoadError: true }))).toMatchObject({
    serverName: "mixed",
  });
  const only = { throwOnLoadError: true, only: ["mixed__good"], forModel: false } as const;
  expect(names(await toLangChainTools(toolport, only))).toEqual(["mixed__good"]);
  expect(
    names(await toLangChainTools(toolport, { throwOnLoadError: true, servers: ["other"], forModel: false })),
  ).toEqual(["other__fine"]);
});
