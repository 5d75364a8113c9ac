/**
 * Exported functions with inferred types, as in a library built on Toolport: its compiler writes declarations that name the types
 * of their results. `module-formats.test.ts` compiles it against the packed package.
 */
import {
  cacheResults,
  classifyError,
  createLinkedTransports,
  createToolport,
  memoryStore,
  type Toolport,
  type ToolResult,
  toContentParts,
} from "toolport";
import { Agent, durableObjectStore, McpClientManager, withMcp } from "toolport/agents";
import { toAiSdkContent, toAiSdkMessages, toAiSdkToolSearch, toAiSdkTools } from "toolport/ai-sdk";
import * as anthropic from "toolport/anthropic";
import { createCodeMode } from "toolport/code";
import { createConsoleAnswers, startConsole } from "toolport/console";
import * as gemini from "toolport/gemini";
import { loadMcpTools, MultiServerMCPClient, toLangChainContent, toLangChainTools } from "toolport/langchain";
import { authorizeInBrowser, describeCommand, exportConfig, findConfigs, loadConfig } from "toolport/node";
import * as openai from "toolport/openai";
import { postgresStore } from "toolport/postgres";
import { redisStore } from "toolport/redis";
import { McpRegistryClient, toServerConfig, verifyMcpb } from "toolport/registry";
import { deriveSchema, fromParameters, repairArguments, toParameters } from "toolport/schemas";
import { createGateway, readPolicy, watchPolicy } from "toolport/serve";
import { sqliteStore } from "toolport/sqlite";
import { createTestServer, readRecording, replayServer, runAgentLoop } from "toolport/testing";

/** `method` without the types of its arguments. */
const results = <Result>(method: (...args: never[]) => Result) => method as () => Result;

export const port = createToolport();
export const store = memoryStore();
export const caching = cacheResults({ tools: ["a__b"], ttlMs: 1_000 });
export const transports = createLinkedTransports();
export const classify = (error: unknown) => classifyError(error);
export const parts = (result: ToolResult) => toContentParts(result.content);

export class Service {
  constructor(private readonly port: Toolport) {}

  connect = () => this.port.connect();
  connectServer = () => this.port.connectServer("a");
  authStatus = () => this.port.authStatus("a");
  call = () => this.port.callTool("a__b");
  structured = () => this.port.callTool<{ n: number }>("a__b");
  suspend = () => this.port.callTool("a__b", {}, { suspend: true });
  startTask = () => this.port.callTool("a__b", {}, { task: true });
  requestApproval = () => this.port.requestApproval("a__b");
  resume = () => this.port.resume("token");
  suspended = () => this.port.suspended();
  task = () => this.port.task("id");
  tasks = () => this.port.tasks();
  complete = () => this.port.complete("a", { prompt: "p" }, { name: "x", value: "y" });
  cost = () => this.port.cost();
  exportCatalog = () => this.port.exportCatalog();
  getPrompt = () => this.port.getPrompt("a", "p");
  prompts = () => this.port.prompts();
  readResource = () => this.port.readResource("a", "file:///x");
  resources = () => this.port.resources();
  resourceTemplates = () => this.port.resourceTemplates();
  skills = () => this.port.skills("a");
  listSkills = () => this.port.skills("a").list();
  snapshot = () => this.port.snapshot();
  tools = () => this.port.tools();
  searchTools = () => this.port.searchTools("weather");
}

export const langchain = {
  tools: (toolport: Toolport) => toLangChainTools(toolport),
  content: (result: ToolResult) => toLangChainContent(result),
  load: (client: Parameters<typeof loadMcpTools>[1]) => loadMcpTools("a", client),
};
export const multi = new MultiServerMCPClient({});
export const multiTools = () => multi.getTools();

export const aiSdk = {
  tools: (toolport: Toolport) => toAiSdkTools(toolport),
  search: (toolport: Toolport) => toAiSdkToolSearch(toolport),
  content: (result: ToolResult) => toAiSdkContent(result),
  messages: results(toAiSdkMessages),
};

export const providers = {
  openai: results(openai.toOpenAITools),
  openaiCalls: results(openai.runOpenAIToolCalls),
  openaiResumed: (toolport: Toolport, message: openai.OpenAIChatAnswer) =>
    openai.runOpenAIToolCalls(toolport, message, { suspend: true }),
  openaiContent: (result: ToolResult) => openai.toOpenAIContent(result),
  anthropic: results(anthropic.toAnthropicTools),
  anthropicCalls: results(anthropic.runAnthropicToolCalls),
  anthropicResumed: results(anthropic.resumeAnthropicToolCalls),
  anthropicContent: (result: ToolResult) => anthropic.toAnthropicContent(result),
  gemini: results(gemini.toGeminiTools),
  geminiCalls: results(gemini.runGeminiToolCalls),
  geminiResumed: results(gemini.resumeGeminiToolCalls),
  geminiContent: (result: ToolResult) => gemini.toGeminiContent(result),
};

export class MyAgent extends Agent {}
export class Mixed extends withMcp(class Plain {}) {}
export const manager = new McpClientManager();
export const connected = () => manager.connectToServer("id");
export const discovered = () => manager.discoverIfConnected("id");
export const listed = () => manager.getAITools();
export const durable = (storage: Parameters<typeof durableObjectStore>[0]) => durableObjectStore(storage);

export const code = (toolport: Toolport) => createCodeMode(toolport);
export const runCode = (toolport: Toolport) => createCodeMode(toolport).execute("return 1");
export const openConsole = (toolport: Toolport) => startConsole({ toolport });
export const answers = createConsoleAnswers();

export const node = {
  load: () => loadConfig("."),
  find: () => findConfigs(),
  describe: results(describeCommand),
  export: results(exportConfig),
  authorize: results(authorizeInBrowser),
};

export const stores = {
  sqlite: () => sqliteStore("./state.db"),
  redis: () => redisStore("redis://localhost"),
  postgres: () => postgresStore("postgres://localhost"),
};

export const registry = new McpRegistryClient();
export const found = () => registry.getServer("io.github.user/weather");
export const page = () => registry.listServers();
export const entry = (server: unknown) => toServerConfig(server);
export const bundle = (data: Uint8Array) => verifyMcpb(data, "00");

export const schemas = {
  derive: results(deriveSchema),
  from: results(fromParameters),
  repair: results(repairArguments),
  to: results(toParameters),
};

export const gateway = (toolport: Toolport) => createGateway(toolport);
export const policy = () => readPolicy("policy.json");
export const watched = () => watchPolicy("policy.json");

export const server = createTestServer({ tools: {} });
export const http = () => server.http();
export const stdio = () => server.stdio();
export const recording = () => readRecording("a.json");
export const replay = () => replayServer("a.json");
export const loop = results(runAgentLoop);
