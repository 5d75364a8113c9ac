/** A server that lists good tools and those of a test, as JSON text if necessary; its calls echo, or give the answer of the test. */
import type { Toolport } from "toolport";
import { toAiSdkTools } from "toolport/ai-sdk";
import { toAnthropicTools } from "toolport/anthropic";
import { toGeminiTools } from "toolport/gemini";
import { toLangChainTools } from "toolport/langchain";
import { toOpenAITools } from "toolport/openai";
import { expect } from "vitest";
import { type JsonRpcServer, startJsonRpcServer } from "../fixtures/servers/http-json-rpc.js";
import type { FaultHarness } from "./fault-harness.js";

const GOOD = ["first", "second", "third"];
const good = GOOD.map((name) => ({
  name,
  inputSchema: { type: "object", properties: { text: { type: "string" } }, required: ["text"] },
}));

export interface SchemaSetup {
  readonly toolport: Toolport;
  readonly server: JsonRpcServer;
  /** Reads the list again; returns how long that took, including the server's part. */
  relistMs(): Promise<number>;
  /** Why these tools are withheld, by name. */
  withheld(): Record<string, string>;
}

export interface StageOptions {
  /** The result of any call of a tool that is not a good one. @default an echo of its arguments */
  readonly answer?: (name: string) => unknown;
}

/** `tools`: one definition each, as data or as JSON text. */
export async function openSchemaSetup(
  harness: FaultHarness,
  tools: readonly (string | Record<string, unknown>)[],
  { answer }: StageOptions = {},
): Promise<SchemaSetup> {
  const [first, ...others] = good.map((tool) => JSON.stringify(tool));
  const made = tools.map((tool) => (typeof tool === "string" ? tool : JSON.stringify(tool)));
  const list = `{"resultType":"complete","tools":[${[first, ...made, ...others].join(",")}]}`;
  const server = await startJsonRpcServer({
    "tools/list": () => list,
    "tools/call": ({ params }) => {
      const name = String(params["name"]);
      const text = JSON.stringify(params["arguments"]);
      return (!GOOD.includes(name) && answer?.(name)) || { content: [{ type: "text", text }] };
    },
  });
  harness.atEnd(() => server[Symbol.asyncDispose]());
  const toolport = harness.open({ it: server.entry });
  await toolport.connect();
  return {
    toolport,
    server,
    async relistMs() {
      const began = performance.now();
      await toolport.refresh("it");
      return performance.now() - began;
    },
    withheld: () =>
      Object.fromEntries(toolport.snapshot().withheldTools.map(({ name, reason }) => [name, reason])),
  };
}

/** The good tools are listed and can be called. */
export async function expectOthersWell({ toolport }: SchemaSetup): Promise<void> {
  const names = (await toolport.tools({ servers: ["it"] })).map(({ sourceName }) => sourceName);
  expect(names).toEqual(expect.arrayContaining(GOOD));
  for (const name of GOOD)
    expect((await toolport.callTool(`it__${name}`, { text: "hi" })).text).toBe('{"text":"hi"}');
}

/** Every adapter makes its form of every tool, as JSON; returns how long the slowest took. */
export async function throughAllAdapters(toolport: Toolport): Promise<Record<string, number>> {
  const tools = await toolport.tools({ servers: ["it"] });
  const selection = { servers: ["it"] };
  const adapters: Record<string, () => Promise<{ names: string[]; json: string }>> = {
    openai: async () => listed(await toOpenAITools(toolport, selection), (tool) => tool.function.name),
    "openai strict": async () =>
      listed(await toOpenAITools(toolport, { ...selection, strict: true }), (tool) => tool.function.name),
    anthropic: async () => listed(await toAnthropicTools(toolport, selection), (tool) => tool.name),
    gemini: async () => {
      const [made] = await toGeminiTools(toolport, selection);
      return listed(made?.functionDeclarations ?? [], (tool) => tool.name);
    },
    "gemini openapi": async () => {
      const [made] = await toGeminiTools(toolport, { ...selection, schema: "openapi" });
      return listed(made?.functionDeclarations ?? [], (tool) => tool.name);
    },
    "ai-sdk": async () => {
      const made = await toAiSdkTools(toolport, selection);
      return { names: Object.keys(made), json: JSON.stringify(made) };
    },
    langchain: async () => listed(await toLangChainTools(toolport, selection), (tool) => tool.name),
  };
  const tookMs: Record<string, number> = {};
  for (const [adapter, make] of Object.entries(adapters)) {
    const began = performance.now();
    const { names, json } = await make();
    tookMs[adapter] = performance.now() - began;
    // All adapters together take long: let other tasks run in between.
    await new Promise((resolve) => setImmediate(resolve));
    // Adapters list the tool that reads large results last.
    expect(names, adapter).toEqual([...tools.map(({ name }) => name), "read_artifact"]);
    expect(json.length, adapter).toBeLessThan(5_000_000);
  }
  return tookMs;
}

const listed = <Tool>(tools: readonly Tool[], nameOf: (tool: Tool) => string) => ({
  names: tools.map(nameOf),
  // Framework classes hold more than a request: only the fields of a request are checked.
  json: JSON.stringify(
    tools.map((tool) => ("schema" in (tool as object) ? (tool as { schema: unknown }).schema : tool)),
  ),
});
