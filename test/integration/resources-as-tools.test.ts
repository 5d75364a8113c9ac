/** Resources (and prompts) as tools: their definitions and results, the same through every adapter. */
import { createToolport, type ToolportOptions } from "toolport";
import { toAiSdkTools } from "toolport/ai-sdk";
import { runAnthropicToolCalls, toAnthropicTools } from "toolport/anthropic";
import { runGeminiToolCalls, toGeminiTools } from "toolport/gemini";
import { toLangChainTools } from "toolport/langchain";
import { runOpenAIToolCalls, toOpenAITools } from "toolport/openai";
import { createTestServer, type TestServerDefinition } from "toolport/testing";
import { describe, expect, test } from "vitest";
import { failure } from "../support/failure.js";

const about = (who: string): TestServerDefinition => ({
  tools: { hello: { handler: () => `I am ${who}` } },
  resources: {
    "file:///info": {
      name: "basicInfo",
      description: `Basic information about ${who}\u200b`,
      mimeType: "text/plain",
      text: `${who} likes tea`,
    },
    "ui://face": { text: "<html>" },
  },
});
const bob: TestServerDefinition = {
  ...about("Bob"),
  resources: {
    ...about("Bob").resources,
    "file:///photo": { blob: "aGk=" },
  },
  resourceTemplates: {
    "file:///diary/{day}": { read: (uri) => (uri === "file:///diary/monday" ? "tired" : undefined) },
  },
};

const open = (options: ToolportOptions = {}) => {
  const servers = { alice: createTestServer(about("Alice")), bob: createTestServer(bob) };
  const toolport = createToolport({
    mcpServers: { alice: servers.alice.memory(), bob: servers.bob.memory() },
    resourcesAsTools: true,
    ...options,
  });
  const close = async () => {
    await toolport.close();
    await Promise.all([servers.alice.close(), servers.bob.close()]);
  };
  return { toolport, servers, [Symbol.asyncDispose]: close };
};

const info = (server: string, who: string) => ({
  mcpServer: server,
  uri: "file:///info",
  uriTemplate: null,
  name: "basicInfo",
  description: `Basic information about ${who}`,
  mimeType: "text/plain",
});

const LISTED = [
  info("alice", "Alice"),
  info("bob", "Bob"),
  {
    mcpServer: "bob",
    uri: "file:///photo",
    uriTemplate: null,
    name: "file:///photo",
    description: null,
    mimeType: null,
  },
  {
    mcpServer: "bob",
    uri: null,
    uriTemplate: "file:///diary/{day}",
    name: "file:///diary/{day}",
    description: null,
    mimeType: null,
  },
];

describe("the two tools", () => {
  test("are off by default", async () => {
    await using port = open({ resourcesAsTools: false });
    expect((await port.toolport.tools()).map(({ name }) => name)).toEqual(["alice__hello", "bob__hello"]);
    expect(await failure(port.toolport.callTool("list_resources"))).toMatchObject({ code: "TOOL_NOT_FOUND" });
  });

  test("list all resources in the form of the LangChain4j document", async () => {
    await using port = open();
    const tools = await port.toolport.tools();
    expect(tools.map(({ name }) => name)).toEqual([
      ...["list_resources", "read_resource"],
      ...["alice__hello", "bob__hello"],
    ]);
    const { text, server, isError } = await port.toolport.callTool("list_resources");
    expect({ server, isError }).toEqual({ server: "toolport", isError: false });
    expect(JSON.parse(text)).toEqual(LISTED);
    expect(Object.keys(JSON.parse(text)[0])).toEqual([
      ...["mcpServer", "uri", "uriTemplate", "name", "description", "mimeType"],
    ]);
  });

  test("read text, bytes and templates; get_resource is an alias", async () => {
    await using port = open();
    const read = async (args: Record<string, unknown>, name = "read_resource") =>
      JSON.parse((await port.toolport.callTool(name, args)).text);
    const uri = "file:///info";
    expect(await read({ mcpServer: "alice", uri })).toEqual([
      { uri, mimeType: "text/plain", text: "Alice likes tea" },
    ]);
    expect(await read({ mcpServer: "bob", uri }, "get_resource")).toEqual([
      { uri, mimeType: "text/plain", text: "Bob likes tea" },
    ]);
    expect(await read({ mcpServer: "bob", uri: "file:///photo" })).toEqual([
      { uri: "file:///photo", mimeType: null, blob: "aGk=" },
    ]);
    expect(await read({ mcpServer: "bob", uri: "file:///diary/monday" })).toMatchObject([{ text: "tired" }]);
    // Only one server has it, so the server may be omitted.
    expect(await read({ uri: "file:///photo" })).toMatchObject([{ blob: "aGk=" }]);
  });

  test.each([
    [{ mcpServer: "alcie", uri: "file:///info" }, "Did you mean alice?"],
    [{ mcpServer: "carol", uri: "file:///info" }, "Use one of: alice, bob."],
    [{ uri: "file:///info" }, "mcpServer is missing"],
    [{ mcpServer: "alice" }, "uri must be"],
    [{ mcpServer: "alice", uri: "file:///inof" }, "Did you mean file:///info?"],
    [{ mcpServer: "alice", uri: "x://y" }, "Call list_resources"],
    [{ mcpServer: "bob", uri: "file:///diary/{day}" }, "replace the names in braces"],
  ])("tell a model what was wrong with %o", async (args, words) => {
    await using port = open();
    const { text, isError } = await port.toolport.callTool("read_resource", args);
    expect({ text, isError }).toEqual({ text: expect.stringContaining(words), isError: true });
  });

  test("listeners see the access with the caller's context; a server that is down is an error", async () => {
    const heard: unknown[] = [];
    await using port = open({
      listeners: [{ after: ({ kind, server, uri, context }) => heard.push({ kind, server, uri, context }) }],
    });
    const args = { mcpServer: "alice", uri: "file:///info" };
    await port.toolport.callTool("read_resource", args, { context: "mine" });
    expect(heard).toEqual([{ kind: "resource", server: "alice", uri: "file:///info", context: "mine" }]);
    await port.toolport.disconnect("alice");
    expect(await failure(port.toolport.callTool("read_resource", args))).toMatchObject({ code: "CLOSED" });
  });

  test("are truncated like any other result", async () => {
    await using port = open({ maxResultBytes: 60 });
    const { text, _meta } = await port.toolport.callTool("list_resources");
    expect(text).toMatch(/^\[truncated: \d+ of \d+ bytes\. /);
    expect(text.length).toBeLessThan(500);
    expect(_meta).toHaveProperty(["toolport/truncated"]);
  });

  test("are listed with deferTools, too", async () => {
    await using port = open({ deferTools: true });
    expect((await port.toolport.tools()).map(({ name }) => name)).toEqual([
      ...["search_tools", "call_tool", "list_resources", "read_resource"],
    ]);
    expect(JSON.parse((await port.toolport.callTool("list_resources")).text)).toEqual(LISTED);
    const all = (await port.toolport.tools({ all: true })).map(({ name }) => name);
    expect(all).toEqual(["list_resources", "read_resource", "alice__hello", "bob__hello"]);
  });

  test("a selection of servers or tools that excludes them excludes them", async () => {
    await using port = open();
    const names = async (selection: object) => (await port.toolport.tools(selection)).map(({ name }) => name);
    expect(await names({ servers: ["alice"] })).toEqual(["alice__hello"]);
    expect(await names({ servers: ["alice", "bob"] })).toContain("read_resource");
    expect(await names({ only: ["hello"] })).toEqual(["alice__hello", "bob__hello"]);
    expect(await names({ only: ["read_resource"] })).toEqual(["read_resource"]);
    expect(await names({ except: ["*resource*"] })).toEqual(["alice__hello", "bob__hello"]);
  });

  test("only for the selected servers", async () => {
    await using port = open({ resourcesAsTools: { servers: ["bob"] } });
    expect(JSON.parse((await port.toolport.callTool("list_resources")).text)).toEqual(LISTED.slice(1));
    const refused = await port.toolport.callTool("read_resource", {
      mcpServer: "alice",
      uri: "file:///info",
    });
    expect(refused.isError).toBe(true);
    expect((await port.toolport.tools({ servers: ["bob"] })).map(({ name }) => name)).toContain(
      "read_resource",
    );
  });

  test("each user reads through its own connection", async () => {
    await using port = open();
    const ada = port.toolport.as("ada");
    expect(JSON.parse((await ada.callTool("list_resources")).text)).toEqual(LISTED);
    await ada.close();
  });
});

describe("a presenter", () => {
  test("with other names, descriptions and output", async () => {
    await using port = open({
      resourcesAsTools: {
        list: {
          name: "documents",
          description: "What there is to read",
          present: (all) => all.map(({ mcpServer, uri }) => `${mcpServer} ${uri}`).join("\n"),
        },
        read: {
          name: "get_document",
          description: "Reads",
          mcpServer: "Whose",
          uri: "Which",
          present: ([first], { server, uri }) => `${server} ${uri}: ${first?.text}`,
        },
      },
    });
    const [list, read] = await port.toolport.tools();
    expect(list).toMatchObject({ name: "documents", description: "What there is to read" });
    expect(read).toMatchObject({
      name: "get_document",
      inputSchema: { properties: { mcpServer: { description: "Whose" }, uri: { description: "Which" } } },
    });
    expect((await port.toolport.callTool("documents")).text).toContain("alice file:///info");
    const args = { mcpServer: "alice", uri: "file:///info" };
    expect((await port.toolport.callTool("get_document", args)).text).toBe(
      "alice file:///info: Alice likes tea",
    );
    const slip = await port.toolport.callTool("get_document", { ...args, uri: "x://y" });
    expect(slip.text).toContain("Call documents");
  });

  test("with custom tools", async () => {
    await using port = open({
      resourcesAsTools: (resources) => [
        {
          name: "who_is",
          description: "Describes a person",
          inputSchema: { type: "object", properties: { name: { type: "string" } }, required: ["name"] },
          call: async ({ name }, { signal }) =>
            (await resources.read(String(name), "file:///info", { signal }))[0]?.text ?? "",
        },
        {
          name: "count",
          description: "Counts",
          inputSchema: { type: "object" },
          call: async () => String((await resources.list()).length),
        },
      ],
    });
    expect((await port.toolport.tools()).slice(0, 2).map(({ name }) => name)).toEqual(["who_is", "count"]);
    expect((await port.toolport.callTool("who_is", { name: "bob" })).text).toBe("Bob likes tea");
    expect(await port.toolport.callTool("who_is", { name: "bbo" })).toMatchObject({ isError: true });
    expect((await port.toolport.callTool("count")).text).toBe("4");
  });

  test("names are checked and reserved", async () => {
    expect(() => open({ resourcesAsTools: { list: { name: "not a name" } } })).toThrow(/INVALID_CONFIG/);
    expect(() => open({ resourcesAsTools: { list: { name: "same" }, read: { name: "same" } } })).toThrow(
      /INVALID_CONFIG/,
    );
    expect(() => open({ resourcesAsTools: { lst: {} } as never })).toThrow(/resourcesAsTools/);
    expect(() => open({ resourcesAsTools: "yes" as never })).toThrow(/resourcesAsTools/);
    await using server = createTestServer({ tools: { get_resource: { handler: () => "a server's own" } } });
    await using toolport = createToolport({
      mcpServers: { it: server.memory() },
      prefix: false,
      resourcesAsTools: true,
    });
    const [, , theirs] = await toolport.tools();
    expect(theirs!.name).toMatch(/^get_resource_/);
    expect((await toolport.callTool(theirs!.name)).text).toBe("a server's own");
  });
});

describe("through every adapter", () => {
  const args = { mcpServer: "bob", uri: "file:///info" };
  const words = /Bob likes tea/;

  test("OpenAI", async () => {
    await using port = open();
    const offered = await toOpenAITools(port.toolport);
    expect(offered.map((tool) => tool.function.name)).toContain("read_resource");
    const [answer] = await runOpenAIToolCalls(port.toolport, {
      tool_calls: [
        { id: "1", type: "function", function: { name: "read_resource", arguments: JSON.stringify(args) } },
      ],
    });
    expect(JSON.stringify(answer)).toMatch(words);
  });

  test("Anthropic", async () => {
    await using port = open();
    expect((await toAnthropicTools(port.toolport)).map(({ name }) => name)).toContain("list_resources");
    const content = [{ type: "tool_use", id: "1", name: "read_resource", input: args }];
    expect(JSON.stringify(await runAnthropicToolCalls(port.toolport, { content }))).toMatch(words);
  });

  test("Gemini", async () => {
    await using port = open();
    expect(JSON.stringify(await toGeminiTools(port.toolport))).toContain("read_resource");
    const parts = [{ functionCall: { name: "read_resource", args } }];
    expect(JSON.stringify(await runGeminiToolCalls(port.toolport, { parts }))).toMatch(words);
  });

  test("the AI SDK", async () => {
    await using port = open();
    const { read_resource: read, list_resources: list } = await toAiSdkTools(port.toolport);
    const call = { toolCallId: "1", messages: [] };
    expect(JSON.stringify(await read!.execute!(args, call as never))).toMatch(words);
    expect(JSON.stringify(await list!.execute!({}, call as never))).toContain("basicInfo");
  });

  test("LangChain", async () => {
    await using port = open();
    const tools = await toLangChainTools(port.toolport);
    const tool = (name: string) => tools.find((each) => each.name === name)!;
    expect(await tool("read_resource").invoke(args)).toMatch(words);
    expect(JSON.parse((await tool("list_resources").invoke({})) as string)).toEqual(LISTED);
  });
});
