/** How arguments are read follows from the tools that the model was offered, not from what else the process offered. */
import { createToolport } from "toolport";
import { type AnthropicToolResultMessage, runAnthropicToolCalls, toAnthropicTools } from "toolport/anthropic";
import { type GeminiResponseContent, runGeminiToolCalls, toGeminiTools } from "toolport/gemini";
import { resumeOpenAIToolCalls, runOpenAIToolCalls, toOpenAITools } from "toolport/openai";
import { createTestServer } from "toolport/testing";
import { describe, expect, test } from "vitest";

const createServer = () =>
  createTestServer({
    tools: {
      find: {
        inputSchema: {
          type: "object",
          properties: { query: { type: "string" }, limit: { type: "integer" } },
          required: ["query"],
        },
        handler: (args) => JSON.stringify(args),
      },
      // Its schema is no object: models get it wrapped.
      pick: {
        inputSchema: {
          anyOf: [
            { type: "object", properties: { id: { type: "integer" } }, required: ["id"] },
            { type: "object", properties: { name: { type: "string" } }, required: ["name"] },
          ],
        },
        handler: (args) => JSON.stringify(args),
      },
      long: { handler: () => "x".repeat(2_000) },
    },
  });

const open = (server: ReturnType<typeof createServer>) =>
  createToolport({ mcpServers: { s: server.memory() }, checkArguments: "strict" });

const chatCall = (name: string, args: object) => ({
  tool_calls: [{ id: "1", type: "function", function: { name, arguments: JSON.stringify(args) } }],
});
const findCall = (args: object) => chatCall("s__find", args);
const contentOf = ([message]: readonly object[]): string =>
  message !== undefined && "content" in message ? String(message.content) : "";

const NULL = findCall({ query: "a", limit: null });
const FOUND = '{"query":"a"}';
const REFUSED = expect.stringContaining("INVALID_ARGUMENTS");

describe("two agents on one port, one of them strict", () => {
  test.each(["strict", "other"])(
    "read their own arguments; the %s one lists its tools last",
    async (last) => {
      await using server = createServer();
      await using toolport = open(server);
      const list = (strict: boolean) => toOpenAITools(toolport, { strict });
      const early = await list(last === "other");
      const late = await list(last === "strict");
      const [strict, other] = last === "strict" ? [late, early] : [early, late];
      for (const tools of [strict, JSON.parse(JSON.stringify(strict)), [{ type: "custom" }, ...strict]])
        expect(contentOf(await runOpenAIToolCalls(toolport, NULL, { tools }))).toBe(FOUND);
      expect(contentOf(await runOpenAIToolCalls(toolport, NULL, { tools: other }))).toEqual(REFUSED);
      const given = findCall({ query: "a", limit: 3 });
      for (const tools of [strict, other])
        expect(contentOf(await runOpenAIToolCalls(toolport, given, { tools }))).toBe(
          '{"query":"a","limit":3}',
        );
    },
  );

  test("read them in the responses API too, also of tools that a search loads", async () => {
    await using server = createServer();
    await using toolport = createToolport({
      mcpServers: { s: server.memory() },
      checkArguments: "strict",
      deferTools: true,
    });
    const call = { type: "function_call", call_id: "1", name: "s__find" };
    const items = [{ ...call, arguments: '{"query":"a","limit":null}' }];
    for (const deferred of ["native", "client"] as const) {
      const list = (strict: boolean) => toOpenAITools(toolport, { api: "responses", deferred, strict });
      const [strict, other] = [await list(true), await list(false)];
      expect(await runOpenAIToolCalls(toolport, items, { tools: strict })).toMatchObject([{ output: FOUND }]);
      expect(await runOpenAIToolCalls(toolport, items, { tools: other })).toMatchObject([
        { output: REFUSED },
      ]);
    }
  });
});

test("two ports that list the same schema read their own arguments", async () => {
  await using server = createServer();
  await using one = open(server);
  await using two = open(server);
  const strict = await toOpenAITools(one, { strict: true });
  const other = await toOpenAITools(two);
  expect(contentOf(await runOpenAIToolCalls(one, NULL, { tools: strict }))).toBe(FOUND);
  expect(contentOf(await runOpenAIToolCalls(two, NULL, { tools: other }))).toEqual(REFUSED);
  expect(contentOf(await runOpenAIToolCalls(two, NULL, { tools: strict }))).toBe(FOUND);
  expect(contentOf(await runOpenAIToolCalls(one, NULL, { tools: other }))).toEqual(REFUSED);
});

describe("without tools", () => {
  test("nothing that was offered before decides how a call is made", async () => {
    await using server = createServer();
    await using toolport = open(server);
    const answers = async () => [
      contentOf(await runOpenAIToolCalls(toolport, NULL)),
      contentOf(await runOpenAIToolCalls(toolport, chatCall("s__pick", { value: { id: 1 } }))),
      JSON.stringify(
        await runAnthropicToolCalls(toolport, {
          content: [{ type: "tool_use", id: "1", name: "s__pick", input: { value: { id: 1 } } }] as never,
        }),
      ),
      JSON.stringify(
        await runGeminiToolCalls(toolport, {
          parts: [{ functionCall: { name: "s__pick", args: { value: { id: 1 } } } }],
        }),
      ),
    ];
    const before = await answers();
    expect(before).toEqual([REFUSED, REFUSED, REFUSED, REFUSED]);
    await toOpenAITools(toolport, { strict: true, onChange: () => {} });
    await toAnthropicTools(toolport);
    await toGeminiTools(toolport, { schema: "openapi" });
    expect(await answers()).toEqual(before);
  });

  test("arguments are repaired against the schema of the server", async () => {
    await using server = createServer();
    await using toolport = createToolport({ mcpServers: { s: server.memory() } });
    expect(contentOf(await runOpenAIToolCalls(toolport, NULL))).toBe(FOUND);
  });

  test("the form may be named", async () => {
    await using server = createServer();
    await using toolport = open(server);
    expect(contentOf(await runOpenAIToolCalls(toolport, NULL, { strict: true }))).toBe(FOUND);
    expect(contentOf(await runOpenAIToolCalls(toolport, NULL, { strict: false }))).toEqual(REFUSED);
    const parts = [{ functionCall: { name: "s__pick", args: { value: { id: 1 } } } }];
    expect(JSON.stringify(await runGeminiToolCalls(toolport, { parts }, { schema: "json" }))).toContain(
      String.raw`{\"id\":1}`,
    );
  });
});

test("Anthropic and Gemini read arguments in the form of their tools", async () => {
  await using server = createServer();
  await using toolport = open(server);
  const input = { value: { id: 1 } };
  const content = [{ type: "tool_use", id: "1", name: "s__pick", input }];
  const anthropic: AnthropicToolResultMessage[] = await runAnthropicToolCalls(
    toolport,
    { content },
    { tools: await toAnthropicTools(toolport) },
  );
  expect(anthropic).toMatchObject([{ content: [{ content: [{ text: '{"id":1}' }] }] }]);
  for (const schema of ["json", "openapi"] as const) {
    const parts = [{ functionCall: { name: "s__pick", args: input } }];
    const gemini: GeminiResponseContent[] = await runGeminiToolCalls(
      toolport,
      { parts },
      { tools: await toGeminiTools(toolport, { schema }) },
    );
    expect(gemini).toMatchObject([{ parts: [{ functionResponse: { response: { output: '{"id":1}' } } }] }]);
  }
});

test("a text that does not fit refers to read_artifact only if the model was offered it", async () => {
  await using server = createServer();
  await using toolport = createToolport({
    mcpServers: { s: server.memory() },
    approve: ({ context }) => (context === "ask" ? "suspend" : true),
  });
  const forModel = { bytes: 1_000 };
  const call = chatCall("s__long", {});
  const withReader = await toOpenAITools(toolport);
  const withoutReader = await toOpenAITools(toolport, { forModel: false });
  for (const [tools, isOffered] of [
    [withReader, true],
    [withoutReader, false],
  ] as const) {
    const options = { tools, forModel };
    const text = contentOf(await runOpenAIToolCalls(toolport, call, options));
    const run = await runOpenAIToolCalls(toolport, call, { ...options, context: "ask", suspend: true });
    const answers = Object.fromEntries(run.pending.map(({ token }) => [token, { approve: true }]));
    const { messages } = await resumeOpenAIToolCalls(toolport, run, answers, options);
    for (const said of [text, contentOf(messages)]) {
      expect(said).toContain("[truncated:");
      expect(said.includes("read_artifact")).toBe(isOffered);
    }
  }
});
