/** Malformed content of a real server through every adapter: a note for each item, a count, and nothing that a provider rejects. */
import { createToolport, type Toolport } from "toolport";
import { toAiSdkContent, toAiSdkTools } from "toolport/ai-sdk";
import { runAnthropicToolCalls, toAnthropicContent } from "toolport/anthropic";
import { runGeminiToolCalls, toGeminiContent } from "toolport/gemini";
import { toLangChainContent, toLangChainTools } from "toolport/langchain";
import { runOpenAIToolCalls, toOpenAIContent } from "toolport/openai";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type JsonRpcServer, startJsonRpcServer } from "../../../test/fixtures/servers/http-json-rpc.js";
import {
  anthropicRefusals,
  chatRefusals,
  frameworkRefusals,
  geminiRefusals,
  responsesRefusals,
} from "./media-rules.js";
import { PIXEL } from "./workshop.js";

const base64 = (text: string) => Buffer.from(text).toString("base64");
const HTML = base64("<!doctype html><title>502 Bad Gateway</title>");
const SVG = base64('<svg xmlns="http://www.w3.org/2000/svg"/>');

interface Row {
  readonly name: string;
  readonly item: unknown;
  /** The text for the model in its place. */
  readonly note: string;
  /** Valid in the protocol; only providers reject it. */
  readonly isWellFormed?: true;
}

const ROWS: Row[] = [
  // Earlier versions dropped these six silently.
  { name: "null", item: null, note: "[content left out: it is null]" },
  { name: "a number", item: 42, note: "[content left out: it is a number]" },
  { name: "a bare string", item: "hello", note: "[content left out: it is a string]" },
  { name: "a list", item: [], note: "[content left out: it is a list]" },
  { name: "no type", item: { text: "hi" }, note: "[content left out: it is an object without a type]" },
  { name: "a type of 7", item: { type: 7 }, note: "[content left out: it is an object without a type]" },
  { name: "text without text", item: { type: "text" }, note: "[text left out: it has no text]" },
  { name: "text of 42", item: { type: "text", text: 42 }, note: "[text left out: it has no text]" },
  { name: "image without fields", item: { type: "image" }, note: "[image left out: it has no data]" },
  {
    name: "image with data of 42",
    item: { type: "image", data: 42, mimeType: "image/png" },
    note: "[image left out: its data is not a string]",
  },
  {
    name: "image with data that is not base64",
    item: { type: "image", data: "this is not base64", mimeType: "image/png" },
    note: "[image left out: its data is not base64]",
  },
  {
    name: "image with words that look like base64url",
    item: { type: "image", data: "not-base64", mimeType: "image/png" },
    note: "[image left out: its data is not base64]",
  },
  {
    name: "image without bytes",
    item: { type: "image", data: "", mimeType: "image/png" },
    note: "[image left out: its data is empty]",
  },
  {
    name: "image of the type text/html",
    item: { type: "image", data: PIXEL, mimeType: "text/html" },
    note: "[image left out: its type is text/html]",
  },
  {
    name: "image that is an error page",
    item: { type: "image", data: HTML, mimeType: "image/png" },
    note: "[image left out: its data is markup, not image/png]",
  },
  {
    name: "image without a type that its bytes could tell",
    item: { type: "image", data: "aGVsbG8=" },
    note: "[image left out: it has no media type]",
  },
  {
    name: "image of the type SVG",
    item: { type: "image", data: SVG, mimeType: "image/svg+xml" },
    note: "[image, image/svg+xml, 41 bytes, left out]",
    isWellFormed: true,
  },
  {
    name: "audio that is not base64",
    item: { type: "audio", data: "***", mimeType: "audio/wav" },
    note: "[audio left out: its data is not base64]",
  },
  {
    name: "audio of the type text/plain",
    item: { type: "audio", data: "UklGRg==", mimeType: "text/plain" },
    note: "[audio left out: its type is text/plain]",
  },
  { name: "resource without one", item: { type: "resource" }, note: "[resource left out: it has no uri]" },
  {
    name: "resource without a uri",
    item: { type: "resource", resource: { text: "hi" } },
    note: "[resource left out: it has no uri]",
  },
  {
    name: "resource that is a string",
    item: { type: "resource", resource: "file:///a" },
    note: "[resource left out: it has no resource]",
  },
  {
    name: "resource with a blob that is not base64",
    item: { type: "resource", resource: { uri: "x://a.pdf", mimeType: "application/pdf", blob: "%PDF-1.4" } },
    note: "[resource left out: its data is not base64 (x://a.pdf)]",
  },
  {
    name: "resource with a text of 42",
    item: { type: "resource", resource: { uri: "x://a", text: 42 } },
    note: "[resource left out: its text is not a string (x://a)]",
  },
  {
    name: "link without a uri",
    item: { type: "resource_link", name: "a" },
    note: "[resource_link left out: it has no uri]",
  },
  {
    name: "link to a file of the server's machine",
    item: { type: "resource_link", uri: "file:///etc/passwd", name: "passwd" },
    note: "Resource: file:///etc/passwd (passwd)",
    isWellFormed: true,
  },
  {
    name: "a type that does not exist",
    item: { type: "hologram", data: "…" },
    note: '[content of type "hologram" that is not supported]',
    isWellFormed: true,
  },
];

let server: JsonRpcServer;
let port: Toolport;
beforeAll(async () => {
  server = await startJsonRpcServer({
    "tools/list": () => ({
      tools: ROWS.map((_, index) => ({ name: `row${index}`, inputSchema: { type: "object" } })),
    }),
    "tools/call": ({ params }) => {
      const { item } = ROWS[Number(String(params["name"]).slice(3))]!;
      return { content: [{ type: "text", text: "before" }, item, { type: "text", text: "after" }] };
    },
  });
  port = open();
});
afterAll(async () => {
  await port.close();
  await server[Symbol.asyncDispose]();
});

const open = () => createToolport({ mcpServers: { s: server.entry } });

interface Seen {
  /** Violations of the provider's published rules. */
  readonly refusals: string[];
  /** All text for the model, in order. */
  readonly text: string;
}
type Count = { onLeftOut: (leftOut: { note: string }) => void };

const texts = (blocks: unknown): string =>
  typeof blocks === "string"
    ? blocks
    : (blocks as { text?: string }[]).map(({ text }) => text ?? "(bytes)").join("\n");

const ADAPTERS: Record<string, (port: Toolport, name: string, count: Count) => Promise<Seen>> = {
  chat: async (port, name, count) => {
    const call = { id: "1", type: "function", function: { name, arguments: "{}" } };
    const messages = await runOpenAIToolCalls(port, { tool_calls: [call] }, count);
    return {
      refusals: chatRefusals(messages),
      text: messages.map(({ content }) => texts(content)).join("\n"),
    };
  },
  responses: async (port, name, count) => {
    const call = { type: "function_call", call_id: "1", name, arguments: "{}" };
    const items = await runOpenAIToolCalls(port, [call as { type: string }], count);
    return { refusals: responsesRefusals(items), text: texts(items[0]!.output) };
  },
  anthropic: async (port, name, count) => {
    const call = { type: "tool_use", id: "1", name, input: {} };
    const messages = await runAnthropicToolCalls(port, { content: [call] }, count);
    const [block] = messages[0]!.content as { content: unknown }[];
    return { refusals: anthropicRefusals(messages), text: texts(block!.content) };
  },
  gemini: async (port, name, count) => {
    const contents = await runGeminiToolCalls(port, { parts: [{ functionCall: { name, args: {} } }] }, count);
    const { functionResponse } = contents[0]!.parts[0] as { functionResponse: { response: object } };
    return { refusals: geminiRefusals(contents), text: texts(Object.values(functionResponse.response)[0]) };
  },
  "AI SDK": async (port, name, count) => {
    const tool = (await toAiSdkTools(port, count))[name]!;
    const output: unknown = await tool.execute!({}, { toolCallId: "1", messages: [] });
    const { value } = (await tool.toModelOutput!({ toolCallId: "1", input: {}, output })) as {
      value: unknown;
    };
    return {
      refusals: frameworkRefusals(typeof value === "string" ? [] : (value as never)),
      text: texts(value),
    };
  },
  ...Object.fromEntries(
    [false, true].map((useStandardContentBlocks) => [
      `LangChain, ${useStandardContentBlocks ? "standard" : "older"} blocks`,
      async (port: Toolport, name: string, count: Count): Promise<Seen> => {
        const handling = { outputHandling: "content", useStandardContentBlocks } as const;
        const tools = await toLangChainTools(port, { ...handling, ...count });
        const tool = tools.find((each) => each.name === name)!;
        const message = await tool.invoke({ type: "tool_call", id: "1", name, args: {} });
        return { refusals: frameworkRefusals(message.content), text: texts(message.content) };
      },
    ]),
  ),
};

const FUNCTIONS: Record<string, (result: never, count: Count) => unknown> = {
  toOpenAIContent,
  "toOpenAIContent, responses": (result, count) => toOpenAIContent(result, { ...count, api: "responses" }),
  toAnthropicContent,
  toGeminiContent: (result, count) => toGeminiContent(result, count),
  toAiSdkContent: (result, count) => toAiSdkContent(result, count).value,
  toLangChainContent: (result, count) =>
    toLangChainContent(result, { ...count, outputHandling: "content" })[0],
};

describe.each(ROWS.map((row, index) => ({ ...row, tool: `s__row${index}` })))("$name", (row) => {
  const expected = `before\n${row.note}\nafter`;

  it.each(Object.keys(ADAPTERS))("is one note for %s, and is counted", async (adapter) => {
    const leftOut: string[] = [];
    const seen = await ADAPTERS[adapter]!(port, row.tool, { onLeftOut: ({ note }) => leftOut.push(note) });
    expect(seen).toEqual({ refusals: [], text: expected });
    expect(leftOut).toEqual([row.note]);
  });

  it.each(Object.keys(FUNCTIONS))("is one note of %s, and is counted", async (name) => {
    const leftOut: string[] = [];
    const result = await port.callTool(row.tool);
    const content = FUNCTIONS[name]!(result as never, { onLeftOut: ({ note }) => leftOut.push(note) });
    expect(texts(content)).toBe(expected);
    expect(leftOut).toEqual([row.note]);
  });

  it("is counted in the result and in the snapshot, with one warning", async () => {
    await using fresh = open();
    const warnings: string[] = [];
    fresh.on("warning", ({ message }) => void warnings.push(message));
    const result = await fresh.callTool(row.tool);
    await fresh.callTool(row.tool);
    expect(result.content).toHaveLength(3);
    expect(result.malformed?.count ?? 0).toBe(row.isWellFormed ? 0 : 1);
    expect(fresh.snapshot().servers["s"]!.malformedContent).toBe(row.isWellFormed ? 0 : 2);
    expect(warnings.filter((message) => message.includes("malformed"))).toHaveLength(
      row.isWellFormed ? 0 : 1,
    );
  });
});

it("counts many items that are not content blocks, and keeps a hundred of them", async () => {
  await using flood = await startJsonRpcServer({
    "tools/list": () => ({ tools: [{ name: "flood", inputSchema: { type: "object" } }] }),
    "tools/call": () => ({
      content: [...Array.from({ length: 5_000 }, () => 0), { type: "text", text: "last" }],
    }),
  });
  await using fresh = createToolport({ mcpServers: { s: flood.entry } });
  const result = await fresh.callTool("s__flood");
  expect(result.content).toHaveLength(102);
  expect(result.malformed).toMatchObject({ count: 5_000, items: { length: 100 } });
  expect(fresh.snapshot().servers["s"]!.malformedContent).toBe(5_000);
  expect(toAnthropicContent(result).at(-1)).toEqual({
    type: "text",
    text: "[content left out: 4900 more items are not content blocks]",
  });
});

it("reads a block without a list around it", async () => {
  await using odd = await startJsonRpcServer({
    "tools/list": () => ({
      tools: ["one", "none"].map((name) => ({ name, inputSchema: { type: "object" } })),
    }),
    "tools/call": ({ params }) => ({
      content: params["name"] === "one" ? { type: "text", text: "Hi" } : "Hi",
    }),
  });
  await using fresh = createToolport({ mcpServers: { s: odd.entry } });
  const one = await fresh.callTool("s__one");
  expect(one.text).toBe("Hi");
  expect(one.malformed).toBeUndefined();
  expect(await fresh.callTool("s__none")).toMatchObject({
    text: "",
    malformed: { count: 1, items: [{ type: "content", problem: "it is a string" }] },
  });
});
