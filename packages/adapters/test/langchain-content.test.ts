/** The adapter contract: every kind of MCP content, in both block formats, as content and artifact, at every level of precedence. */
import { ToolMessage } from "@langchain/core/messages";
import type { ContentBlock } from "@modelcontextprotocol/server";
import { createToolport } from "toolport";
import {
  MultiServerMCPClient,
  type OutputHandling,
  ToolException,
  toLangChainTools,
} from "toolport/langchain";
import { describe, expect, it } from "vitest";
import { startJsonRpcServer } from "../../../test/fixtures/servers/http-json-rpc.js";
import { failure } from "../../../test/support/failure.js";

const text: ContentBlock = { type: "text", text: "hello" };
const more: ContentBlock = { type: "text", text: "again" };
const image: ContentBlock = { type: "image", data: "aW1n", mimeType: "image/png" };
const audio: ContentBlock = { type: "audio", data: "YXVk", mimeType: "audio/wav" };
const noteText: ContentBlock = {
  type: "resource",
  resource: { uri: "note://1", mimeType: "text/plain", text: "a note" },
};
const noteBlob: ContentBlock = {
  type: "resource",
  resource: { uri: "note://2", mimeType: "application/pdf", blob: "cGRm" },
};
const bare = { type: "resource", resource: { uri: "note://here", mimeType: "text/plain" } } as ContentBlock;
const link: ContentBlock = {
  type: "resource_link",
  uri: "note://3",
  name: "three",
  mimeType: "text/markdown",
};

const file = (fields: object) => ({ type: "file", ...fields });
const blocks = {
  imageUrl: { type: "image_url", image_url: { url: "data:image/png;base64,aW1n" } },
  image: { type: "image", source_type: "base64", data: "aW1n", mime_type: "image/png" },
  audio: { type: "audio", source_type: "base64", data: "YXVk", mime_type: "audio/wav" },
  noteText: file({
    source_type: "text",
    text: "a note",
    mime_type: "text/plain",
    metadata: { uri: "note://1" },
  }),
  noteBlob: file({
    source_type: "base64",
    data: "cGRm",
    mime_type: "application/pdf",
    metadata: { uri: "note://2" },
  }),
  here: file({
    source_type: "text",
    text: "read here",
    mime_type: "text/plain",
    metadata: { uri: "note://here" },
  }),
  link: file({ source_type: "url", url: "note://3", mime_type: "text/markdown" }),
};
const here = {
  type: "resource",
  resource: { uri: "note://here", mimeType: "text/plain", text: "read here" },
};

const resources: Record<string, object> = {
  "note://here": { uri: "note://here", mimeType: "text/plain", text: "read here" },
  "note://large": { uri: "note://large", text: "x".repeat(2_000) },
};

/** Returns any requested content, including content that the SDK's server would reject. */
const createEcho = (era: "legacy" | "modern" = "legacy") =>
  startJsonRpcServer(
    {
      "tools/list": () => ({ tools: [{ name: "echo", inputSchema: { type: "object" } }] }),
      "tools/call": ({ params }) => (params["arguments"] as { answer: unknown }).answer,
      "resources/read": ({ params }) => ({ contents: [resources[String(params["uri"])]].filter(Boolean) }),
    },
    { era },
  );

interface Answer {
  content: ContentBlock[];
  structuredContent?: Record<string, unknown>;
  isError?: boolean;
  _meta?: Record<string, unknown>;
}

interface Mapping {
  standard?: boolean;
  outputHandling?: OutputHandling;
  toolErrors?: "throw" | "message";
  maxResourceBytes?: number;
  era?: "legacy" | "modern";
}

async function map(answer: Answer, mapping: Mapping = {}): Promise<ToolMessage> {
  const { standard = false, era, ...options } = mapping;
  await using server = await createEcho(era);
  await using toolport = createToolport({ mcpServers: { echo: server.entry } });
  const [tool] = await toLangChainTools(toolport, { useStandardContentBlocks: standard, ...options });
  return await tool!.invoke({ type: "tool_call", id: "call-1", name: tool!.name, args: { answer } });
}

describe("content for the model", () => {
  it.each<[string, ContentBlock[], unknown, unknown]>([
    ["a lone text", [text], "hello", "hello"],
    [
      "two texts",
      [text, more],
      [
        { type: "text", text: "hello" },
        { type: "text", text: "again" },
      ],
      [
        { type: "text", source_type: "text", text: "hello" },
        { type: "text", source_type: "text", text: "again" },
      ],
    ],
    ["an image", [image], [blocks.imageUrl], [blocks.image]],
    ["audio", [audio], [blocks.audio], [blocks.audio]],
    ["a resource with text", [noteText], [blocks.noteText], [blocks.noteText]],
    ["a resource with bytes", [noteBlob], [blocks.noteBlob], [blocks.noteBlob]],
    ["a resource with only a URI", [bare], [blocks.here], [blocks.here]],
    ["a link", [link], [blocks.link], [blocks.link]],
    ["nothing", [], [], []],
    [
      "mixed content, in order",
      [text, image, noteText],
      [{ type: "text", text: "hello" }, blocks.imageUrl, blocks.noteText],
      [{ type: "text", source_type: "text", text: "hello" }, blocks.image, blocks.noteText],
    ],
  ])("%s", async (_case, content, older, standard) => {
    const outputHandling = "content";
    expect(await map({ content }, { outputHandling })).toMatchObject({ content: older, artifact: [] });
    expect(await map({ content }, { outputHandling, standard: true })).toMatchObject({
      content: standard,
      artifact: [],
    });
  });
});

describe("artifacts", () => {
  it.each<[string, ContentBlock[], unknown, unknown]>([
    ["text", [text], [text], [{ type: "text", source_type: "text", text: "hello" }]],
    ["an image", [image], [image], [blocks.image]],
    ["audio", [audio], [audio], [blocks.audio]],
    ["a resource with text", [noteText], [noteText], [blocks.noteText]],
    ["a resource with bytes", [noteBlob], [noteBlob], [blocks.noteBlob]],
    ["a resource with only a URI", [bare], [here], [blocks.here]],
    ["a link", [link], [link], [blocks.link]],
    [
      "mixed content, in order",
      [image, noteText, link],
      [image, noteText, link],
      [blocks.image, blocks.noteText, blocks.link],
    ],
  ])("%s", async (_case, content, raw, standard) => {
    const outputHandling = "artifact";
    expect(await map({ content }, { outputHandling })).toMatchObject({ content: [], artifact: raw });
    expect(await map({ content }, { outputHandling, standard: true })).toMatchObject({
      content: [],
      artifact: standard,
    });
  });
});

describe("by default", () => {
  it("resources become artifacts and everything else content; a single text stays a string", async () => {
    const message = await map({ content: [text, noteText] });
    expect(message).toMatchObject({ content: "hello", artifact: [noteText] });
  });

  it.each(["legacy", "modern"] as const)("data and _meta of a %s server are artifacts", async (era) => {
    const message = await map(
      { content: [text], structuredContent: { celsius: 4 }, _meta: { "example.com/cost": 3 } },
      { era },
    );
    expect(message).toMatchObject({ status: "success", content: "hello" });
    expect(message.artifact).toEqual([
      { type: "mcp_structured_content", data: { celsius: 4 } },
      { type: "mcp_meta", data: { "example.com/cost": 3 } },
    ]);
  });

  it("data alone is shown to the model as JSON", async () => {
    const message = await map({ content: [], structuredContent: { celsius: 4 } });
    expect(message.content).toBe('{"celsius":4}');
    expect(message.artifact).toEqual([{ type: "mcp_structured_content", data: { celsius: 4 } }]);
  });

  it("an unknown block becomes a note", async () => {
    const hologram = { type: "hologram", data: "…" } as unknown as ContentBlock;
    const message = await map({ content: [hologram] });
    expect(message.content).toBe('[content of type "hologram" that is not supported]');
  });
});

describe("a resource with only a URI", () => {
  const large = { type: "resource", resource: { uri: "note://large" } } as ContentBlock;
  const missing = { type: "resource", resource: { uri: "note://nowhere" } } as ContentBlock;

  it("stays unchanged if it is over the size limit", async () => {
    const limits = { maxResourceBytes: 1_000 };
    expect((await map({ content: [large] }, limits)).artifact).toEqual([large]);
    expect((await map({ content: [large] }, { ...limits, outputHandling: "content" })).content).toBe(
      "Resource: note://large",
    );
    expect((await map({ content: [large] })).artifact).toMatchObject([
      { resource: { text: "x".repeat(2_000) } },
    ]);
  });

  it("stays unchanged if it cannot be read, and the call still succeeds", async () => {
    expect(await map({ content: [text, missing] })).toMatchObject({ content: "hello", artifact: [missing] });
  });
});

describe("isError", () => {
  const answer: Answer = { content: [text, image], structuredContent: { code: 7 }, isError: true };

  it("throws a ToolException with the result", async () => {
    const error = await failure<ToolException>(map(answer));
    expect(error).toBeInstanceOf(ToolException);
    expect(error).toMatchObject({
      name: "ToolException",
      message: "MCP tool 'echo' on server 'echo' returned an error: hello",
      serverName: "echo",
      toolName: "echo",
      content: [text, image],
      structuredContent: { code: 7 },
    });
  });

  it.each([false, true])("is a message with status error if configured (standard: %s)", async (standard) => {
    const message = await map(answer, { toolErrors: "message", standard });
    expect(message).toBeInstanceOf(ToolMessage);
    expect(message).toMatchObject({
      status: "error",
      tool_call_id: "call-1",
      name: "echo__echo",
      content: [{ type: "text", text: "hello" }, standard ? blocks.image : blocks.imageUrl],
      artifact: [{ type: "mcp_structured_content", data: { code: 7 } }],
    });
  });
});

describe("outputHandling", () => {
  const content = [text, image, audio, noteText, link];
  const types = (message: ToolMessage) => ({
    content:
      typeof message.content === "string" ? ["text"] : message.content.map((block) => block.type as string),
    artifact: (message.artifact as { type: string }[]).map(({ type }) => type),
  });

  /** The example of the README: camera and microphone. */
  async function ask(top: OutputHandling | undefined, own: OutputHandling | undefined) {
    await using server = await createEcho();
    const { url } = server.entry;
    await using client = new MultiServerMCPClient({
      ...(top !== undefined && { outputHandling: top }),
      mcpServers: { camera: { url, ...(own !== undefined && { outputHandling: own }) } },
    });
    const [tool] = await client.getTools();
    const args = { answer: { content } };
    return types(await tool!.invoke({ type: "tool_call", id: "1", name: tool!.name, args }));
  }

  it.each<[string, OutputHandling | undefined, OutputHandling | undefined, object]>([
    [
      "defaults",
      undefined,
      undefined,
      { content: ["text", "image_url", "audio", "file"], artifact: ["resource"] },
    ],
    [
      "top level over defaults",
      { image: "artifact", audio: "artifact" },
      undefined,
      { content: ["text", "file"], artifact: ["image", "audio", "resource"] },
    ],
    [
      "server over top level",
      { image: "artifact", audio: "artifact" },
      { image: "content" },
      { content: ["text", "image_url", "file"], artifact: ["audio", "resource"] },
    ],
    [
      "one value for all at the top level",
      "artifact",
      { text: "content" },
      { content: ["text"], artifact: ["image", "audio", "resource", "resource_link"] },
    ],
    [
      "one value for all of a server",
      { text: "artifact" },
      "content",
      { content: ["text", "image_url", "audio", "file", "file"], artifact: [] },
    ],
  ])("%s", async (_case, top, own, expected) => {
    expect(await ask(top, own)).toEqual(expected);
  });
});
