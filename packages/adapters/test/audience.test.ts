/** Content for the user only does not reach the model in any adapter, unless the program allows it. */
import type { ToolMessage } from "@langchain/core/messages";
import { createToolport, type Toolport } from "toolport";
import { toAiSdkContent, toAiSdkTools } from "toolport/ai-sdk";
import { runAnthropicToolCalls, toAnthropicContent } from "toolport/anthropic";
import { runGeminiToolCalls, toGeminiContent } from "toolport/gemini";
import {
  MultiServerMCPClient,
  type ToolException,
  toLangChainContent,
  toLangChainTools,
} from "toolport/langchain";
import { runOpenAIToolCalls, toOpenAIContent } from "toolport/openai";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type JsonRpcServer, startJsonRpcServer } from "../../../test/fixtures/servers/http-json-rpc.js";
import { failure } from "../../../test/support/failure.js";

const SECRET = "for human eyes";
const user = { annotations: { audience: ["user"] } };
const secret = { type: "text", text: SECRET, ...user };
const open = { type: "text", text: "for everyone" };

const ANSWERS: Record<string, object> = {
  mixed: { content: [open, secret] },
  alone: { content: [secret] },
  failed: { content: [secret], isError: true },
  data: { content: [secret], structuredContent: { sum: 5 } },
  both: { content: [{ ...open, annotations: { audience: ["user", "assistant"] } }] },
  model: { content: [{ ...open, annotations: { audience: ["assistant"] } }] },
  empty: { content: [{ ...open, annotations: { audience: [] } }] },
  odd: { content: [{ ...open, annotations: "user" }] },
  resource: { content: [open, { type: "resource", resource: { uri: "x://a", text: SECRET, ...user } }] },
  named: { content: [open, { type: "resource", resource: { uri: "x://read-me" }, ...user }] },
};

let server: JsonRpcServer;
let port: Toolport;
beforeAll(async () => {
  server = await startJsonRpcServer({
    "tools/list": () => ({
      tools: Object.keys(ANSWERS).map((name) => ({ name, inputSchema: { type: "object" } })),
    }),
    "tools/call": ({ params }) => ANSWERS[String(params["name"])],
    "resources/list": () => ({ resources: [] }),
    "resources/read": () => ({ contents: [{ uri: "x://read-me", text: SECRET }] }),
  });
  port = createToolport({ mcpServers: { s: server.entry } });
});
afterAll(async () => {
  await port.close();
  await server[Symbol.asyncDispose]();
});

type Rule = { audience?: "respect" | "ignore" };

const langchain = async (name: string, rule: Rule): Promise<ToolMessage> => {
  const tools = await toLangChainTools(port, { ...rule, outputHandling: "content", toolErrors: "message" });
  const tool = tools.find((each) => each.name === `s__${name}`)!;
  return tool.invoke({ type: "tool_call", id: "1", name: tool.name, args: {} });
};

/** The content that the model gets. */
const ADAPTERS: Record<string, (name: string, rule: Rule) => Promise<unknown>> = {
  chat: (name, rule) =>
    runOpenAIToolCalls(
      port,
      { tool_calls: [{ id: "1", type: "function", function: { name: `s__${name}`, arguments: "{}" } }] },
      rule,
    ),
  responses: (name, rule) =>
    runOpenAIToolCalls(
      port,
      [{ type: "function_call", call_id: "1", name: `s__${name}`, arguments: "{}" } as { type: string }],
      rule,
    ),
  anthropic: (name, rule) =>
    runAnthropicToolCalls(
      port,
      { content: [{ type: "tool_use", id: "1", name: `s__${name}`, input: {} } as { type: string }] },
      rule,
    ),
  gemini: (name, rule) =>
    runGeminiToolCalls(port, { parts: [{ functionCall: { name: `s__${name}`, args: {} } }] }, rule),
  "AI SDK": async (name, rule) => {
    const tool = (await toAiSdkTools(port, rule))[`s__${name}`]!;
    const output: unknown = await tool.execute!({}, { toolCallId: "1", messages: [] });
    // The program gets everything.
    expect(output).toMatchObject(ANSWERS[name]!);
    return tool.toModelOutput!({ toolCallId: "1", input: {}, output });
  },
  LangChain: async (name, rule) => (await langchain(name, rule)).content,
  toOpenAIContent: async (name, rule) => toOpenAIContent(await port.callTool(`s__${name}`), rule),
  toAnthropicContent: async (name, rule) => toAnthropicContent(await port.callTool(`s__${name}`), rule),
  toGeminiContent: async (name, rule) => toGeminiContent(await port.callTool(`s__${name}`), rule),
  toAiSdkContent: async (name, rule) => toAiSdkContent(await port.callTool(`s__${name}`), rule),
  toLangChainContent: async (name, rule) =>
    toLangChainContent(await port.callTool(`s__${name}`), { ...rule, outputHandling: "content" })[0],
};

describe.each(Object.keys(ADAPTERS))("%s", (adapter) => {
  const given = async (name: string, rule: Rule = {}) => JSON.stringify(await ADAPTERS[adapter]!(name, rule));

  it.each(["mixed", "resource"])(
    "hides it from the model and passes on all other content (%s)",
    async (name) => {
      const content = await given(name);
      expect(content).not.toContain(SECRET);
      expect(content).toContain("for everyone");
    },
  );

  it("passes it on with audience: ignore", async () => {
    expect(await given("mixed", { audience: "ignore" })).toContain(SECRET);
  });

  it("adds a note if nothing else is left", async () => {
    expect(await given("alone")).toContain("[the result is for the user only]");
    const failed = await given("failed");
    expect(failed).toContain("The tool failed; its message is for the user only");
    expect(failed).not.toContain(SECRET);
  });

  it("passes on data, which has no audience", async () => {
    const content = await given("data");
    expect(content).toMatch(/sum\\*":5/);
    expect(content).not.toContain(SECRET);
  });

  it.each(["both", "model", "empty", "odd"])(
    "passes on content that is also for the model (%s)",
    async (name) => {
      expect(await given(name)).toContain("for everyone");
    },
  );
});

describe("LangChain", () => {
  it("turns it into an artifact", async () => {
    const message = await langchain("mixed", {});
    expect(message).toMatchObject({ content: "for everyone", artifact: [secret] });
  });

  it("reads a linked resource for the program, not for the model", async () => {
    const message = await langchain("named", {});
    expect(JSON.stringify(message.content)).not.toContain(SECRET);
    expect(JSON.stringify(message.artifact)).toContain(SECRET);
  });

  it("is not in the exception, whose message the model reads", async () => {
    const tools = await toLangChainTools(port);
    const tool = tools.find(({ name }) => name === "s__failed")!;
    const error = await failure<ToolException>(tool.invoke({}));
    expect(error.message).not.toContain(SECRET);
    expect(error.content).toEqual([secret]);
  });

  it("accepts the option at the top level and for a server, which takes precedence", async () => {
    const ask = async (top: Rule, own: Rule) => {
      await using client = new MultiServerMCPClient({
        ...top,
        mcpServers: { s: { ...server.entry, ...own } },
      });
      const tool = (await client.getTools()).find(({ name }) => name === "mixed")!;
      return JSON.stringify(await tool.invoke({}));
    };
    expect(await ask({ audience: "ignore" }, {})).toContain(SECRET);
    expect(await ask({ audience: "ignore" }, { audience: "respect" })).not.toContain(SECRET);
    expect(await ask({}, { audience: "ignore" })).toContain(SECRET);
  });

  it("rejects any other value", () => {
    const config = { mcpServers: { s: server.entry }, audience: "all" as "ignore" };
    expect(() => new MultiServerMCPClient(config)).toThrow(/respect/);
  });
});

it("does not change the result", async () => {
  const result = await port.callTool("s__mixed");
  expect(result.content).toEqual([open, secret]);
  expect(result.text).toBe(`for everyone\n${SECRET}`);
});

describe('{ type: "resource", uri }, the uri beside the type', () => {
  const result = { content: [{ type: "resource", uri: "file:///notes/a.md" }] };

  it("is named in the text for the model", () => {
    const words = "Resource: file:///notes/a.md";
    expect(toOpenAIContent(result)).toEqual([{ type: "text", text: words }]);
    expect(toAnthropicContent(result)).toEqual([{ type: "text", text: words }]);
    expect(toGeminiContent(result)).toEqual([{ text: words }]);
    expect(toAiSdkContent(result)).toEqual({ type: "text", value: words });
    expect(toLangChainContent(result, { outputHandling: "content" })[0]).toBe(words);
  });

  it("may include its text or bytes", () => {
    const texts = [{ type: "resource", uri: "x://a", text: "Hi", mimeType: "text/plain" }];
    expect(toAnthropicContent({ content: texts })).toEqual([{ type: "text", text: "Resource: x://a\nHi" }]);
    const bytes = [{ type: "resource", uri: "x://a.pdf", blob: "JVBERi0xLjQK" }];
    expect(toAnthropicContent({ content: bytes })).toMatchObject([{ type: "document", title: "a.pdf" }]);
  });
});
