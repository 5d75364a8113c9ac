/** A program written against the types of `@langchain/mcp-adapters` compiles against ours; only the import differs. */
import type { ToolMessage } from "@langchain/core/messages";
import type { DynamicStructuredTool, StructuredToolInterface } from "@langchain/core/tools";
import { Command } from "@langchain/langgraph";
import type { Client as ClientV2 } from "@modelcontextprotocol/client";
import type { OAuthClientProvider } from "@modelcontextprotocol/sdk/client/auth.js";
import type { Client as ClientV1 } from "@modelcontextprotocol/sdk/client/index.js";
import type { Toolport } from "toolport";
import {
  type ClientConfig,
  type Connection,
  type LoadMcpToolsOptions,
  loadMcpTools,
  type MCPResource,
  type MCPResourceContent,
  type MCPResourceTemplate,
  MultiServerMCPClient,
  type OutputHandling,
  type SSEConnection,
  type StdioConnection,
  type StreamableHTTPConnection,
  ToolException,
  toLangChainTools,
} from "toolport/langchain";
import { describe, expectTypeOf, test } from "vitest";

const provider = {} as OAuthClientProvider;
declare const clientV1: ClientV1;
declare const clientV2: ClientV2;
declare const toolport: Toolport;

const stdio: StdioConnection = {
  transport: "stdio",
  type: "stdio",
  command: "node",
  args: ["server.js"],
  env: { KEY: "value" },
  encoding: "utf8",
  stderr: "overlapped",
  cwd: ".",
  restart: { enabled: true, maxAttempts: 3, delayMs: 1_000 },
  outputHandling: "content",
  defaultToolTimeout: 1_000,
};
const http: StreamableHTTPConnection = {
  transport: "http",
  url: "https://example.com/mcp",
  headers: { Authorization: "Bearer …" },
  authProvider: provider,
  reconnect: { enabled: true, maxAttempts: 5, delayMs: 2_000 },
  automaticSSEFallback: false,
  outputHandling: { text: "content", image: "artifact", resource_link: "artifact" },
};
const sse: SSEConnection = { type: "sse", url: "https://example.com/sse" };
const handling: OutputHandling = { audio: "artifact", resource: "content" };

const config: ClientConfig = {
  mcpServers: { stdio, http, sse },
  throwOnLoadError: true,
  prefixToolNameWithServerName: true,
  additionalToolNamePrefix: "mcp",
  useStandardContentBlocks: true,
  outputHandling: handling,
  defaultToolTimeout: 10_000,
  onConnectionError: ({ serverName, error }) => console.error(serverName.toUpperCase(), error),
  onMessage: (log, source) =>
    console.log(log.level, log.logger?.length, log.data, source.server, source.options),
  onProgress: (progress, source) => {
    if (source.type === "tool")
      console.log(progress.progress, progress.total, source.name, source.args, source.server);
  },
  onInitialized: ({ server }) => console.log(server),
  onCancelled: async ({ requestId, reason }, source) => console.log(requestId, reason, source.server),
  onPromptsListChanged: async ({ server }) => console.log(server),
  onResourcesListChanged: ({ server }) => console.log(server),
  onResourcesUpdated: ({ uri }, { server }) => console.log(uri, server),
  onRootsListChanged: ({ server }) => console.log(server),
  onToolsListChanged: ({ server }) => console.log(server),
  beforeToolCall: ({ name, args, serverName }, state, runnable) => {
    if (serverName === "none") return;
    const messages = state["messages"] as unknown[];
    return {
      args: { ...(args as Record<string, unknown>), name, count: messages.length },
      headers: { "X-Thread": String(runnable.configurable?.["thread_id"]) },
    };
  },
  afterToolCall: ({ name, result }) => {
    const [content, artifact] = result;
    if (name === "plain") return { result: "a text" };
    if (name === "pair") return { result: [content, artifact] };
    if (name === "command") return { result: new Command({ goto: "end" }) };
    if (name === "message") return { result: {} as ToolMessage };
    return;
  },
};

const options: LoadMcpToolsOptions = {
  throwOnLoadError: false,
  prefixToolNameWithServerName: true,
  additionalToolNamePrefix: "x",
  useStandardContentBlocks: true,
  outputHandling: "artifact",
  defaultToolTimeout: 1_000,
};

/** Only compiled. */
async function program() {
  const servers: Record<string, Connection> = { math: { command: "node", args: [] } };
  const client = new MultiServerMCPClient(config);
  const bare = new MultiServerMCPClient(servers);
  const inline = new MultiServerMCPClient({ weather: { url: "https://example.com/mcp" } });
  const tools = [
    ...(await client.getTools()),
    ...(await client.getTools("a", "b")),
    ...(await bare.getTools(["a"], { authProvider: provider, headers: { "X-Custom-Header": "value" } })),
    ...(await loadMcpTools("math", clientV1, options)),
    ...(await loadMcpTools("math", clientV2)),
  ];
  const byServer = await inline.initializeConnections({ headers: { a: "b" } });
  await client.setLoggingLevel("debug");
  await client.setLoggingLevel("server1", "debug");
  const resources: Record<string, MCPResource[]> = await client.listResources("a");
  const templates: Record<string, MCPResourceTemplate[]> = await client.listResourceTemplates(["a"], {});
  const contents: MCPResourceContent[] = await client.readResource("a", "file:///x", { headers: {} });
  const prompts = await (await client.getClient("a"))?.listPrompts();
  const inspected: ClientConfig = client.config;
  await client.close();
  return { tools, byServer, resources, templates, contents, prompts, inspected };
}

describe("types of toolport/langchain", () => {
  test("match those of the peer", () => {
    expectTypeOf(program).returns.resolves.toHaveProperty("tools").toEqualTypeOf<DynamicStructuredTool[]>();
    expectTypeOf<DynamicStructuredTool>().toExtend<StructuredToolInterface>();
    expectTypeOf<MCPResource>().toEqualTypeOf<{
      uri: string;
      name: string;
      description?: string;
      mimeType?: string;
    }>();
  });

  test("reject misspelt options and wrong types", () => {
    expectTypeOf<{ mcpServers: Record<string, { command: number }> }>().not.toExtend<ClientConfig>();
    expectTypeOf<{ defaultToolTimeout: number }>().not.toExtend<Connection>();
    expectTypeOf<{ url: string; command: string }>().not.toExtend<Connection>();
    expectTypeOf<{
      base_url: string;
      endpoint: string;
      authProvider: OAuthClientProvider;
    }>().toExtend<Connection>();
    expectTypeOf<{ outputHandling: "model" }>().not.toExtend<LoadMcpToolsOptions>();
    expectTypeOf<{ image: "nowhere" }>().not.toExtend<OutputHandling>();
    expectTypeOf<{ onConnectionError: "shrug" }>().not.toExtend<Partial<ClientConfig>>();
    expectTypeOf<{ afterToolCall: () => { result: number } }>().not.toExtend<LoadMcpToolsOptions>();
    expectTypeOf<{ beforeToolCall: () => { headers: { a: number } } }>().not.toExtend<LoadMcpToolsOptions>();
  });

  test("of results and errors", () => {
    const load = () =>
      toLangChainTools(toolport, { servers: ["a"], toolErrors: "message", outputOf: { a: {} } });
    expectTypeOf(load).returns.resolves.toEqualTypeOf<DynamicStructuredTool[]>();
    expectTypeOf<ToolException["structuredContent"]>().toEqualTypeOf<unknown>();
    expectTypeOf<ToolException["serverName"]>().toEqualTypeOf<string | undefined>();
    const narrow = (error: unknown) => (ToolException.isInstance(error) ? error.content : undefined);
    expectTypeOf(narrow).returns.toEqualTypeOf<ToolException["content"] | undefined>();
  });
});
