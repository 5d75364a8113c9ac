/** `toOpenAIContent` and its siblings convert a result of any origin to a provider's content. */
import { ToolMessage } from "@langchain/core/messages";
import { tool } from "@langchain/core/tools";
import type { Client } from "@modelcontextprotocol/client";
import { type ContentPart, createToolport, toContentParts } from "toolport";
import { toAiSdkContent } from "toolport/ai-sdk";
import { toAnthropicContent } from "toolport/anthropic";
import { toGeminiContent } from "toolport/gemini";
import { toLangChainContent } from "toolport/langchain";
import { runOpenAIToolCalls, toOpenAIContent } from "toolport/openai";
import { createTestServer, type TestToolAnswer } from "toolport/testing";
import { describe, expect, expectTypeOf, it } from "vitest";
import { startTaskServer } from "../../../test/fixtures/servers/task-server.js";
import { anthropicRefusals, chatRefusals, geminiRefusals, responsesRefusals } from "./media-rules.js";
import { PIXEL } from "./workshop.js";

const PDF = Buffer.from("%PDF-1.4\n").toString("base64");
const WAV = "UklGRgAAAABXQVZF";
const JPEG = Buffer.from("ffd8ffe000104a4649460001", "hex").toString("base64");

const ANSWER = [
  { type: "text", text: "Hello" },
  { type: "image", data: PIXEL, mimeType: "image/png" },
  { type: "audio", data: WAV, mimeType: "audio/x-wav" },
  { type: "resource", resource: { uri: "x://paper.pdf", mimeType: "application/pdf", blob: PDF } },
  { type: "resource", resource: { uri: "x://a.md", mimeType: "text/markdown", text: "# A" } },
  { type: "resource_link", uri: "https://example.com/b", name: "b" },
];
const RESULT = { content: ANSWER, structuredContent: { sum: 5 }, isError: false, server: "s" };

const PNG_URI = `data:image/png;base64,${PIXEL}`;
const PDF_URI = `data:application/pdf;base64,${PDF}`;
const WORDS = "Resource: x://a.md\n# A";
const LINK = "Resource: https://example.com/b (b)";
const text = (value: string) => ({ type: "text", text: value });

describe("a result with all kinds of content", () => {
  it("as content of OpenAI's chat API", () => {
    const content = toOpenAIContent(RESULT);
    expect(content).toEqual([
      text("Hello"),
      { type: "image_url", image_url: { url: PNG_URI } },
      { type: "input_audio", input_audio: { data: WAV, format: "wav" } },
      { type: "file", file: { filename: "paper.pdf", file_data: PDF_URI } },
      ...[text(WORDS), text(LINK), text('{"sum":5}')],
    ]);
    expect(chatRefusals([{ role: "user", content }])).toEqual([]);
  });

  it("as text of a tool message of OpenAI's chat API", () => {
    const content = toOpenAIContent(RESULT, { media: "note" });
    expectTypeOf(content).toEqualTypeOf<{ type: "text"; text: string }[]>();
    expect(content.map((part) => part.text)).toEqual([
      "Hello",
      "[image, image/png, 70 bytes, left out]",
      "[audio, audio/x-wav, 12 bytes, left out]",
      "Resource: x://paper.pdf (application/pdf, 9 bytes, left out)",
      ...[WORDS, LINK, '{"sum":5}'],
    ]);
  });

  it("as output of OpenAI's responses API, which does not accept audio", () => {
    const output = toOpenAIContent(RESULT, { api: "responses" });
    expect(output.map(({ type }) => type)).toEqual([
      ...["input_text", "input_image", "input_text", "input_file", "input_text", "input_text", "input_text"],
    ]);
    expect(output[2]).toEqual({ type: "input_text", text: "[audio, audio/x-wav, 12 bytes, left out]" });
    expect(responsesRefusals([{ output }])).toEqual([]);
  });

  it("as content of Anthropic's API, which does not accept audio", () => {
    const content = toAnthropicContent(RESULT);
    expect(content.slice(0, 4)).toEqual([
      text("Hello"),
      { type: "image", source: { type: "base64", media_type: "image/png", data: PIXEL } },
      text("[audio, audio/x-wav, 12 bytes, left out]"),
      {
        type: "document",
        source: { type: "base64", media_type: "application/pdf", data: PDF },
        title: "paper.pdf",
      },
    ]);
    expect(anthropicRefusals([{ role: "user", content: [{ type: "tool_result", content }] }])).toEqual([]);
  });

  it("as parts of Gemini's API, audio included", () => {
    const parts = toGeminiContent(RESULT);
    expect(parts).toEqual([
      { text: "Hello" },
      { inlineData: { mimeType: "image/png", data: PIXEL } },
      { inlineData: { mimeType: "audio/wav", data: WAV } },
      { inlineData: { mimeType: "application/pdf", data: PDF } },
      ...[{ text: WORDS }, { text: LINK }, { text: '{"sum":5}' }],
    ]);
    expect(geminiRefusals([{ role: "user", parts }])).toEqual([]);
  });

  it.each([
    [5, { type: "media", data: PIXEL, mediaType: "image/png" }],
    [6, { type: "image-data", data: PIXEL, mediaType: "image/png" }],
    [7, { type: "file", data: { type: "data", data: PIXEL }, mediaType: "image/png", filename: "image.png" }],
  ] as const)("as output of version %i of the AI SDK", (version, image) => {
    const output = toAiSdkContent(RESULT, { version });
    expect(output).toMatchObject({ type: "content", value: { 0: text("Hello"), 1: image } });
    expect(version === 6 ? toAiSdkContent(RESULT) : output).toEqual(output);
  });

  it("as content and artifact of LangChain", () => {
    const [content, artifact] = toLangChainContent(RESULT);
    expect(content).toEqual([
      text("Hello"),
      { type: "image_url", image_url: { url: PNG_URI } },
      { type: "audio", source_type: "base64", data: WAV, mime_type: "audio/x-wav" },
      { type: "file", source_type: "url", url: "https://example.com/b" },
    ]);
    expect(artifact).toEqual([ANSWER[3], ANSWER[4], { type: "mcp_structured_content", data: { sum: 5 } }]);
    expect(toLangChainContent(RESULT, { useStandardContentBlocks: true })[0][1]).toEqual({
      type: "image",
      source_type: "base64",
      data: PIXEL,
      mime_type: "image/png",
    });
  });

  it("as parts, before any provider", () => {
    const parts: ContentPart[] = toContentParts(RESULT.content);
    expect(parts.map(({ kind }) => kind)).toEqual([
      ...["text", "image", "audio", "blob-resource", "text-resource", "link"],
    ]);
  });
});

describe("a failure", () => {
  const failed = { content: [ANSWER[0], ANSWER[1]], isError: true };

  it("is described in text if the API has no field for it", () => {
    expect(toOpenAIContent(failed)[0]).toEqual(text("Error:"));
    expect(toOpenAIContent(failed, { api: "responses" })[0]).toEqual({ type: "input_text", text: "Error:" });
    expect(toGeminiContent(failed)[0]).toEqual({ text: "Error:" });
    expect(toAiSdkContent(failed).type).toBe("error-text");
  });

  it("is text for Anthropic, which rejects other content with is_error", () => {
    const content = toAnthropicContent(failed);
    expect(content).toEqual([text("Hello"), text("[image, image/png, 70 bytes, left out]")]);
    const block = { type: "tool_result", is_error: true, content };
    expect(anthropicRefusals([{ role: "user", content: [block] }])).toEqual([]);
  });
});

describe("results of every origin", () => {
  it.each([
    ["nothing", {}, "[no output]"],
    ["nothing but a failure", { isError: true }, "The tool failed without a message"],
    ["data alone", { content: [], structuredContent: [1] }, "[1]"],
  ])("%s", (_name, result, said) => {
    expect(toAnthropicContent(result)).toEqual([text(said)]);
  });

  it("callTool, inside a LangChain tool", async () => {
    const server = createTestServer({ tools: { paint: { handler: () => ANSWER as TestToolAnswer } } });
    await using toolport = createToolport({ mcpServers: { s: server.memory() } });
    const paint = tool(async () => toLangChainContent(await toolport.callTool("s__paint")), {
      name: "paint",
      description: "Paints",
      schema: { type: "object", properties: {} },
      responseFormat: "content_and_artifact",
    });
    const message: unknown = await paint.invoke({ type: "tool_call", id: "1", name: "paint", args: {} });
    if (!(message instanceof ToolMessage)) throw new TypeError("no message");
    expect(message.content).toHaveLength(4);
    expect(message.artifact).toHaveLength(2);
    await server.close();
  });

  it("task.result()", async () => {
    await using server = await startTaskServer("modern");
    await using toolport = createToolport({ mcpServers: { jobs: server.entry } });
    const task = await toolport.callTool("jobs__maybe", { text: "x" }, { task: true });
    Object.assign(server.made[0]!, { status: "completed", result: { content: [ANSWER[1]] } });
    expect(toAnthropicContent(await task.result())).toMatchObject([{ type: "image" }]);
  });

  it("the MCP SDK's client, whose types match", async () => {
    const server = createTestServer({ tools: { say: { handler: () => "Hi" } } });
    await using toolport = createToolport({ mcpServers: { s: server.memory() } });
    const client: Client = await toolport.client("s");
    const result = await client.callTool({ name: "say", arguments: {} });
    expect(toGeminiContent(result)).toEqual([{ text: "Hi" }]);
    await server.close();
  });
});

describe("mistakes of servers that are corrected", () => {
  const image = (data: string, mimeType?: string) => ({
    content: [{ type: "image", data, ...(mimeType !== undefined && { mimeType }) }],
  });
  it.each([
    ["a data URI as data", image(PNG_URI, "image/png"), "image/png", PIXEL],
    ["a data URI that alone says the type", image(PNG_URI), "image/png", PIXEL],
    ["a type in capitals with a parameter", image(PIXEL, "Image/PNG; charset=binary"), "image/png", PIXEL],
    ["image/jpg", image(JPEG, "image/jpg"), "image/jpeg", JPEG],
    ["a JPEG that is called a PNG", image(JPEG, "image/png"), "image/jpeg", JPEG],
    ["no type", image(PIXEL), "image/png", PIXEL],
    ["a type that says nothing", image(PIXEL, "application/octet-stream"), "image/png", PIXEL],
    ["base64 in lines", image(PIXEL.replace(/(.{40})/g, "$1\r\n"), "image/png"), "image/png", PIXEL],
    ["no padding", image(PIXEL.replace(/=+$/, ""), "image/png"), "image/png", PIXEL],
    [
      "base64url",
      image(PIXEL.replace(/\+/g, "-").replace(/\//g, "_").replace(/=+$/, ""), "image/png"),
      "image/png",
      PIXEL,
    ],
  ])("%s", (_name, result, mimeType, data) => {
    const content = toAnthropicContent(result);
    expect(content).toEqual([{ type: "image", source: { type: "base64", media_type: mimeType, data } }]);
    expect(anthropicRefusals([{ role: "user", content }])).toEqual([]);
    expect(toGeminiContent(result)).toEqual([{ inlineData: { mimeType, data } }]);
  });

  it.each(["AAAA", "not valid at all", "hello\nworld", "QUJD=", "-_-_", "=", "====", "QQ=A"])(
    "data that may not be base64 never fails a conversion: %j",
    (data) => {
      for (const convert of [toOpenAIContent, toAnthropicContent, toGeminiContent, toLangChainContent])
        expect(convert({ content: [{ type: "image", data, mimeType: "image/png" }] })).toBeDefined();
      const isBase64 = data === "AAAA";
      expect(toContentParts([{ type: "image", data, mimeType: "image/png" }])[0]!.kind).toBe(
        isBase64 ? "image" : "malformed",
      );
    },
  );

  it("reads 15 MB of base64 without a stack overflow", () => {
    const data = PIXEL.slice(0, 40) + "A".repeat(20_000_000);
    expect(toContentParts([{ type: "image", data, mimeType: "image/png" }])[0]).toMatchObject({
      kind: "image",
    });
    const bad = `${data.slice(0, -1)}!`;
    expect(toContentParts([{ type: "image", data: bad, mimeType: "image/png" }])[0]!.kind).toBe("malformed");
  });
});

it("strictContent rejects malformed content with an error", () => {
  const result = { content: [{ type: "image", data: "!", mimeType: "image/png" }], server: "art" };
  expect(() => toOpenAIContent(result, { strictContent: true })).toThrow(
    expect.objectContaining({
      code: "UNSUPPORTED_CONTENT",
      server: "art",
      message: expect.stringContaining("malformed content (image: its data is not base64)"),
    }),
  );
});

describe("audio for OpenAI's chat API", () => {
  const run = async (mimeType: string, audio?: "message" | "note") => {
    const server = createTestServer({
      tools: { hum: { handler: () => [{ type: "audio" as const, data: WAV, mimeType }] } },
    });
    await using toolport = createToolport({ mcpServers: { s: server.memory() } });
    const call = { id: "1", type: "function", function: { name: "s__hum", arguments: "{}" } };
    const messages = await runOpenAIToolCalls(toolport, { tool_calls: [call] }, { audio });
    await server.close();
    expect(chatRefusals(messages)).toEqual([]);
    return messages;
  };

  it("becomes a note, since most models reject a request with audio", async () => {
    expect(await run("audio/wav")).toEqual([
      { role: "tool", tool_call_id: "1", content: "[audio, audio/wav, 12 bytes, left out]" },
    ]);
  });

  it.each([
    ["audio/wav", "wav"],
    ["audio/mpeg", "mp3"],
  ])("follows in a user message if configured (%s)", async (mimeType, format) => {
    expect((await run(mimeType, "message"))[1]).toEqual({
      role: "user",
      content: [text("What s__hum answered:"), { type: "input_audio", input_audio: { data: WAV, format } }],
    });
  });

  it("becomes a note in a format that no model accepts", async () => {
    expect(await run("audio/flac", "message")).toHaveLength(1);
  });
});
