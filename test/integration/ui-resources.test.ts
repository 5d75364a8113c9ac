/** MCP Apps: user interfaces and their tools are passed through unchanged, and marked. */
import { createToolport } from "toolport";
import { runOpenAIToolCalls, toOpenAITools } from "toolport/openai";
import { createTestServer } from "toolport/testing";
import { describe, expect, test } from "vitest";

const html = "<!doctype html><title>Clock</title>";
const ui = { resourceUri: "ui://clock/face", visibility: ["model", "app"] };

const served = () => {
  let reads = 0;
  const server = createTestServer({
    tools: {
      clock: { _meta: { ui, other: 1 }, handler: () => ({ content: [], _meta: { "ui/hint": "big" } }) },
      old: { _meta: { "ui/resourceUri": "ui://clock/old" }, handler: () => "old" },
      wind: {
        description: "Winds the clock",
        _meta: { ui: { visibility: ["app"] } },
        handler: () => "wound",
      },
      odd: {
        _meta: { ui: { resourceUri: "https://example.com", visibility: "model" } },
        handler: () => "odd",
      },
      plain: { handler: () => "plain" },
    },
    resources: {
      "ui://clock/face": {
        mimeType: "text/html;profile=mcp-app",
        _meta: { ui: { prefersBorder: true, csp: { connectDomains: [] } } },
        read() {
          reads += 1;
          return html;
        },
      },
      "docs://manual": { text: "manual" },
    },
  });
  return Object.assign(server, { reads: () => reads });
};

test("tools and resources are marked, and nothing is fetched", async () => {
  await using server = served();
  await using toolport = createToolport({ mcpServers: { it: server.memory() } });
  const tools = await toolport.tools();
  expect(Object.fromEntries(tools.map(({ sourceName, ui: found }) => [sourceName, found]))).toEqual({
    clock: ui,
    old: { resourceUri: "ui://clock/old" },
    odd: undefined,
    plain: undefined,
  });
  expect(tools.find(({ sourceName }) => sourceName === "clock")?._meta).toEqual({ ui, other: 1 });
  const [face, manual] = await toolport.resources();
  expect(face).toMatchObject({
    isUi: true,
    mimeType: "text/html;profile=mcp-app",
    _meta: { ui: { prefersBorder: true, csp: { connectDomains: [] } } },
  });
  expect(manual).not.toHaveProperty("isUi");
  expect((await toolport.callTool("it__clock"))._meta).toMatchObject({ "ui/hint": "big" });
  expect(server.reads()).toBe(0);
  expect(await toolport.readResource("it", face!.uri)).toMatchObject([{ text: html }]);
});

describe("a tool that only an interface may call", () => {
  test("is hidden from models, and available to a host that asks for all tools", async () => {
    await using server = served();
    await using toolport = createToolport({ mcpServers: { it: server.memory() } });
    const shown = (await toolport.tools()).map(({ name }) => name);
    expect(shown).not.toContain("it__wind");
    expect((await toolport.tools({ all: true })).map(({ name }) => name)).toContain("it__wind");
    expect(JSON.stringify(await toOpenAITools(toolport))).not.toContain("it__wind");
    expect(await toolport.searchTools("wind the clock")).not.toContainEqual(
      expect.objectContaining({ sourceName: "wind" }),
    );
    expect((await toolport.callTool("it__wind")).text).toBe("wound");
  });

  test("is not called for a model that guesses its name", async () => {
    await using server = served();
    await using toolport = createToolport({ mcpServers: { it: server.memory() } });
    const [answer] = await runOpenAIToolCalls(toolport, {
      tool_calls: [{ id: "1", type: "function", function: { name: "it__wind", arguments: "{}" } }],
    } as never);
    expect(JSON.stringify(answer)).toContain("no tool named");
    await using deferred = createToolport({ mcpServers: { it: server.memory() }, deferTools: true });
    await deferred.connect();
    expect(await deferred.callTool("call_tool", { name: "it__wind", arguments: {} })).toMatchObject({
      isError: true,
    });
    expect((await deferred.callTool("search_tools", { query: "wind the clock" })).text).not.toContain("wind");
    expect(server.calls).toEqual([]);
  });
});

test("a host that renders interfaces declares it to servers", async () => {
  let seen: unknown;
  await using server = createTestServer({
    era: "legacy",
    tools: {
      look: {
        handler: (_args, { server: own }) => {
          seen = own.getClientCapabilities();
          return "seen";
        },
      },
    },
  });
  const extensions = { "io.modelcontextprotocol/ui": { mimeTypes: ["text/html;profile=mcp-app"] } };
  await using toolport = createToolport({ mcpServers: { it: server.memory() }, extensions });
  await toolport.callTool("it__look");
  expect(seen).toMatchObject({ extensions });
});
