/** The tools: real structured tools with schemas that every model accepts, however they were loaded. */
import { AIMessage, HumanMessage } from "@langchain/core/messages";
import { DynamicStructuredTool, ToolInputParsingException } from "@langchain/core/tools";
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { Client as ClientV1 } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport as TransportV1 } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { type ContentBlock, createToolport, type Toolport } from "toolport";
import {
  type LoadMcpToolsOptions,
  loadMcpTools,
  MCPClientError,
  toLangChainMessages,
  toLangChainTools,
} from "toolport/langchain";
import { createTestServer } from "toolport/testing";
import { describe, expect, it } from "vitest";
import { failure } from "../../../test/support/failure.js";
import { refusals } from "../../../test/support/provider-refusals.js";

/** Unions, circular references and newer keywords, which some models reject. */
const schema = {
  $schema: "https://json-schema.org/draft/2020-12/schema",
  type: "object",
  properties: {
    name: { anyOf: [{ type: "string" }, { type: "null" }] },
    id: { oneOf: [{ type: "integer" }, { type: "string", pattern: "^x" }] },
    pair: { type: "array", prefixItems: [{ type: "string" }, { type: "number" }], items: false },
    tree: { $ref: "#/$defs/node" },
  },
  required: ["id"],
  $defs: {
    node: { type: "object", properties: { children: { type: "array", items: { $ref: "#/$defs/node" } } } },
  },
};

const createServer = () =>
  createTestServer({
    era: "legacy",
    tools: {
      make: {
        title: "Maker",
        description: "Makes things",
        inputSchema: schema,
        annotations: { readOnlyHint: true },
        _meta: { "example.com/a": 1 },
        handler: (args) => JSON.stringify(args),
      },
      work: {
        handler: async (_args, { progress }) => {
          await progress(1, 2);
          return "worked";
        },
      },
      fail: {
        handler: () => ({
          isError: true,
          content: [{ type: "text", text: "no" }],
          structuredContent: { a: 1 },
        }),
      },
    },
  });

describe("a tool", () => {
  it("is a real structured tool with all metadata of the server", async () => {
    await using server = createServer();
    await using toolport = createToolport({ mcpServers: { shop: server.memory() } });
    const [make] = await toLangChainTools(toolport);
    expect(make).toBeInstanceOf(DynamicStructuredTool);
    expect(make).toMatchObject({
      name: "shop__make",
      description: "Makes things",
      responseFormat: "content_and_artifact",
      metadata: {
        annotations: { readOnlyHint: true },
        title: "Maker",
        _meta: { "example.com/a": 1 },
        server: "shop",
        sourceName: "make",
      },
    });
    expect(refusals("portable", make!.schema)).toEqual([]);
    expect(make!.metadata!["inputSchema"]).toEqual(schema);
  });

  it("has extras for providers if it is deferred or programs may call it", async () => {
    await using server = createServer();
    const mcpServers = { shop: server.memory() };
    await using toolport = createToolport({ mcpServers, deferTools: { alwaysVisible: ["fail", "work"] } });
    const tools = await toLangChainTools(toolport, {
      deferred: "native",
      allowedCallers: ({ sourceName }) => (sourceName === "work" ? ["direct"] : undefined),
    });
    expect(Object.fromEntries(tools.map(({ name, extras }) => [name, extras]))).toEqual({
      shop__work: { allowed_callers: ["direct"] },
      shop__fail: undefined,
      shop__make: { defer_loading: true },
      read_artifact: undefined,
    });
    const none = toLangChainTools(toolport, { allowedCallers: () => [], throwOnLoadError: false });
    expect(await failure(none)).toMatchObject({ name: "ConfigError", issues: [{ path: "allowedCallers" }] });
  });

  it("has the server's schema on request", async () => {
    await using server = createServer();
    await using toolport = createToolport({ mcpServers: { shop: server.memory() } });
    const [make] = await toLangChainTools(toolport, { schema: "source" });
    expect(make!.schema).toEqual(schema);
    const error = await failure(toLangChainTools(toolport, { schema: "gpt" as never }));
    expect(error).toMatchObject({ name: "ConfigError", code: "INVALID_CONFIG" });
    expect(error.message).toContain('"portable", "openai"');
    expect(error.message).toContain('"source"');
  });

  it("has its own schema object, which may be changed or replaced", async () => {
    await using server = createServer();
    await using toolport = createToolport({ mcpServers: { shop: server.memory() } });
    const [one, other] = (await Promise.all([toLangChainTools(toolport), toLangChainTools(toolport)])).map(
      ([first]) => first!,
    );
    (one!.schema as { title?: string }).title = "changed";
    expect(other!.schema).not.toHaveProperty("title");
    const copy = Object.create(other!) as typeof one;
    copy!.schema = { type: "object", properties: {} };
    expect(other!.schema).toHaveProperty("properties.tree");
    other!.schema = { type: "object", properties: {} };
    expect(other!.schema).toEqual({ type: "object", properties: {} });
    expect(await other!.invoke({ id: 1 })).toBe('{"id":1}');
  });

  it("does not copy the server's schema into messages and traces", async () => {
    await using server = createServer();
    await using toolport = createToolport({ mcpServers: { shop: server.memory() } });
    const [make] = await toLangChainTools(toolport);
    const call = { type: "tool_call" as const, id: "1", name: make!.name, args: { id: 1 } };
    expect(JSON.stringify(await make!.invoke(call))).not.toContain("$defs");
    expect(JSON.stringify(make!.metadata)).not.toContain("$defs");
  });

  it("checks arguments against the current schema, by its draft", async () => {
    await using server = createServer();
    await using toolport = createToolport({ mcpServers: { shop: server.memory() } });
    const [make] = await toLangChainTools(toolport);
    const good = { id: "x1", name: null, pair: ["a", 1], tree: { children: [{ children: [] }] } };
    expect(await make!.invoke(good)).toBe(JSON.stringify(good));
    for (const bad of [{}, { id: "y" }, { id: 1, pair: ["a", 1, 2] }, { id: 1, tree: { children: [1] } }]) {
      const error = await failure(make!.invoke(bad));
      // The class that LangChain's agents look for.
      expect(error).toBeInstanceOf(ToolInputParsingException);
      expect(error).toMatchObject({
        message: expect.stringContaining("did not match expected schema"),
        output: JSON.stringify(bad),
        cause: { code: "INVALID_ARGUMENTS", outcome: "unsent" },
      });
    }
    for (const odd of ["text", [1], 1, null]) {
      const error = await failure(make!.invoke(odd as never));
      expect(error).toBeInstanceOf(ToolInputParsingException);
      expect(error).toMatchObject({ cause: { code: "INVALID_ARGUMENTS" } });
    }
    expect(server.calls.length).toBe(1);
  });

  it("runs callbacks and emits streamed events", async () => {
    await using server = createServer();
    await using toolport = createToolport({ mcpServers: { shop: server.memory() }, prefix: false });
    const [make, , fail] = await toLangChainTools(toolport);
    const seen: string[] = [];
    const callbacks = [
      {
        handleToolStart: (_tool: unknown, input: string) => void seen.push(`start ${input}`),
        handleToolEnd: (output: unknown) => void seen.push(`end ${String(output)}`),
        handleToolError: (error: Error) => void seen.push(`error ${error.name}`),
      },
    ];
    await make!.invoke({ id: 1 }, { callbacks });
    await failure(fail!.invoke({}, { callbacks }));
    expect(seen).toEqual(['start {"id":1}', 'end {"id":1}', "start {}", "error ToolException"]);
    const events: string[] = [];
    for await (const { event, name } of make!.streamEvents({ id: 1 }, { version: "v2" }))
      events.push(`${event} ${name}`);
    expect(events).toEqual(["on_tool_start make", "on_tool_end make"]);
    const chunks: unknown[] = [];
    for await (const chunk of await make!.stream({ id: 2 })) chunks.push(chunk);
    expect(chunks).toEqual(['{"id":2}']);
  });

  it("that cannot be converted fails the whole list, or is omitted", async () => {
    const odd = {
      name: "odd",
      server: "s",
      sourceName: "odd",
      inputSchema: { type: "object" },
      get description(): string {
        throw new Error("No description");
      },
    };
    const good = { name: "good", server: "s", sourceName: "good", inputSchema: { type: "object" } };
    const toolport = { tools: async () => [odd, good] } as unknown as Toolport;
    const error = await failure(toLangChainTools(toolport));
    expect(error).toMatchObject({ name: "MCPClientError", serverName: "s" });
    expect((await toLangChainTools(toolport, { throwOnLoadError: false })).map(({ name }) => name)).toEqual([
      "good",
    ]);
  });
});

describe.each([
  [
    "version 2",
    () => new Client({ name: "own", version: "1" }),
    (url: URL) => new StreamableHTTPClientTransport(url),
  ],
  ["version 1", () => new ClientV1({ name: "own", version: "1" }), (url: URL) => new TransportV1(url)],
] as const)("loadMcpTools with a client of %s of the SDK", (_version, create, transportTo) => {
  async function load(options?: LoadMcpToolsOptions) {
    const server = createServer();
    const http = await server.http();
    const client = create();
    await client.connect(transportTo(new URL(http.url)) as never);
    const tools = await loadMcpTools("shop", client, options);
    return {
      server,
      client,
      tools,
      async [Symbol.asyncDispose]() {
        await client.close();
        await server.close();
      },
    };
  }

  it("returns the same tools as a port", async () => {
    await using loaded = await load();
    const [make] = loaded.tools;
    expect(loaded.tools.map(({ name }) => name)).toEqual(["make", "work", "fail"]);
    expect(refusals("portable", make!.schema)).toEqual([]);
    expect(make!.metadata!["inputSchema"]).toEqual(schema);
    expect(make!.metadata).toMatchObject({ title: "Maker", server: "shop", sourceName: "make" });
    expect(await make!.invoke({ id: 1 })).toBe('{"id":1}');
    expect(await failure(make!.invoke({}))).toMatchObject({ cause: { code: "INVALID_ARGUMENTS" } });
  });

  it("accepts the options of a client", async () => {
    const seen: unknown[] = [];
    await using loaded = await load({
      prefixToolNameWithServerName: true,
      additionalToolNamePrefix: "mcp",
      onProgress: (...event) => void seen.push(event),
      beforeToolCall: () => ({ args: { id: 5 } }),
      outputHandling: "artifact",
    });
    const [make, work] = loaded.tools;
    expect(make!.name).toBe("mcp__shop__make");
    const call = { type: "tool_call" as const, id: "1", name: make!.name, args: { id: 1 } };
    expect(await make!.invoke(call)).toMatchObject({
      content: [],
      artifact: [{ type: "text", text: '{"id":5}' }],
    });
    await work!.invoke({});
    expect(seen).toMatchObject([
      [
        { progress: 1, total: 2 },
        { type: "tool", name: "work", server: "shop" },
      ],
    ]);
  });

  it("reports failures, cancels calls, and does not close the client", async () => {
    await using loaded = await load();
    const [make, , fail] = loaded.tools;
    expect(await failure(fail!.invoke({}))).toMatchObject({
      name: "ToolException",
      structuredContent: { a: 1 },
    });
    const reason = new Error("enough");
    expect(await failure(make!.invoke({ id: 1 }, { signal: AbortSignal.abort(reason) }))).toBe(reason);
    await loaded.client.ping();
    await loaded.client.close();
    expect(await failure(make!.invoke({ id: 1 }))).toMatchObject({ name: "ToolException" });
    expect(await failure(loadMcpTools("shop", loaded.client))).toBeInstanceOf(MCPClientError);
  });
});

describe("toLangChainMessages", () => {
  it("converts a prompt with images and files", async () => {
    await using server = createTestServer({
      prompts: {
        review: {
          get: ({ topic }) => [
            { role: "user", content: { type: "text", text: `Look at ${topic}` } },
            { role: "user", content: { type: "image", data: "aW1n", mimeType: "image/png" } },
            { role: "assistant", content: { type: "text", text: "I see" } },
          ],
        },
      },
    });
    await using toolport = createToolport({ mcpServers: { notes: server.memory() } });
    const prompt = await toolport.getPrompt("notes", "review", { topic: "tea" });
    const messages = toLangChainMessages(prompt);
    expect(messages.map((message) => message.constructor)).toEqual([HumanMessage, HumanMessage, AIMessage]);
    expect(messages.map(({ content }) => content)).toEqual([
      "Look at tea",
      [{ type: "image_url", image_url: { url: "data:image/png;base64,aW1n" } }],
      "I see",
    ]);
    expect(toLangChainMessages(prompt, { useStandardContentBlocks: true })[1]!.content).toEqual([
      { type: "image", source_type: "base64", data: "aW1n", mime_type: "image/png" },
    ]);
  });

  it("rejects content that it cannot convert", () => {
    const image = { type: "image", data: "aW1n", mimeType: "image/png" } as const;
    const zip = { uri: "file:///a.zip", mimeType: "application/zip", blob: "emlw" };
    const refuse = (role: "user" | "assistant", content: ContentBlock) =>
      expect(() => toLangChainMessages({ messages: [{ role, content }] })).toThrow(/UNSUPPORTED_CONTENT/);
    refuse("user", { type: "hologram" } as unknown as ContentBlock);
    refuse("user", { type: "resource", resource: zip });
    refuse("user", { type: "resource", resource: { ...zip, mimeType: undefined } });
    // Assistant messages contain text only.
    refuse("assistant", image);
    refuse("assistant", { type: "resource", resource: zip });
    const note = { uri: "note://1", mimeType: "text/plain", text: "noted" };
    const said = { role: "assistant", content: { type: "resource", resource: note } } as const;
    expect(toLangChainMessages({ messages: [said] })[0]!.content).toContain("noted");
  });
});
