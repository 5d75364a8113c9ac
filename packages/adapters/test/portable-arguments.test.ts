/** Arguments for the portable form of a schema are converted back to the form of the server's schema. */

import { AIMessage } from "@langchain/core/messages";
import { fakeModel } from "@langchain/core/testing";
import { generateText, stepCountIs } from "ai";
import { createAgent } from "langchain";
import { createToolport, type Toolport } from "toolport";
import { toAiSdkTools } from "toolport/ai-sdk";
import { MultiServerMCPClient, toLangChainTools } from "toolport/langchain";
import { createTestServer } from "toolport/testing";
import { describe, expect, it } from "vitest";
import { failure } from "../../../test/support/failure.js";
import { refusals } from "../../../test/support/provider-refusals.js";
import { scriptedAiSdkModel } from "./ai-sdk-model.js";

type Args = Record<string, unknown>;

/** The server's schema, the model's arguments, and the arguments that the server gets. */
const CASES: readonly { title: string; schema: Args; sent: Args; got: Args }[] = [
  {
    title: "names that a provider refuses",
    schema: {
      type: "object",
      properties: {
        "filter[name]": { type: "string" },
        $top: { type: "integer" },
        strict: { type: "boolean" },
      },
      required: ["$top"],
      additionalProperties: false,
    },
    sent: { filter_name: "a", top: 3, strict_2: true },
    got: { "filter[name]": "a", $top: 3, strict: true },
  },
  {
    title: "free-form objects, as JSON text",
    schema: {
      type: "object",
      properties: {
        env: { type: "object", additionalProperties: { type: "string" } },
        all: { type: "array", items: { type: "object" } },
        value: {},
      },
    },
    sent: { env: '{"A":"b"}', all: ['{"x":[1]}', '{"y":2}'], value: "[1, 2]" },
    got: { env: { A: "b" }, all: [{ x: [1] }, { y: 2 }], value: [1, 2] },
  },
  {
    title: "free-form objects, as themselves",
    schema: { type: "object", properties: { env: { type: "object" }, value: {} }, required: ["env"] },
    sent: { env: { A: "b" }, value: { a: 1 } },
    got: { env: { A: "b" }, value: { a: 1 } },
  },
  {
    title: "texts that are no JSON, and numbers, where anything goes",
    schema: { type: "object", properties: { a: {}, b: {}, c: { description: "anything" } } },
    sent: { a: "[not JSON", b: 5, c: "123" },
    got: { a: "[not JSON", b: 5, c: "123" },
  },
  {
    title: "a choice of objects at the root",
    schema: {
      type: "object",
      oneOf: [
        {
          properties: { kind: { const: "circle" }, radius: { type: "number" } },
          required: ["kind", "radius"],
          additionalProperties: false,
        },
        {
          properties: { kind: { const: "square" }, "side-length": { type: "number" } },
          required: ["kind", "side-length"],
          additionalProperties: false,
        },
      ],
    },
    sent: { kind: "square", side_length: 2 },
    got: { kind: "square", "side-length": 2 },
  },
  {
    title: "no arguments",
    schema: { $schema: "http://json-schema.org/draft-07/schema#" },
    sent: {},
    got: {},
  },
];

describe.each(CASES)("$title", ({ schema, sent, got }) => {
  const start = () =>
    createTestServer({ tools: { it: { inputSchema: schema, handler: (args) => JSON.stringify(args) } } });

  it("are converted through LangChain", async () => {
    await using server = start();
    await using toolport = createToolport({ mcpServers: { s: server.memory() }, prefix: false });
    const [tool] = await toLangChainTools(toolport);
    expect(refusals("portable", tool!.schema)).toEqual([]);
    expect(JSON.parse(await tool!.invoke(sent))).toEqual(got);
  });

  it("are converted through a LangChain agent", async () => {
    await using server = start();
    await using toolport = createToolport({ mcpServers: { s: server.memory() }, prefix: false });
    const model = fakeModel()
      .respondWithTools([{ name: "it", args: sent, id: "1" }])
      .respond(new AIMessage("Done"));
    const agent = createAgent({ model, tools: await toLangChainTools(toolport) });
    await agent.invoke({ messages: "Go" });
    expect(server.calls.map(({ args }) => args)).toEqual([got]);
  });

  it("are converted through the AI SDK", async () => {
    await using server = start();
    await using toolport = createToolport({ mcpServers: { s: server.memory() }, prefix: false });
    const model = scriptedAiSdkModel([[{ name: "it", args: sent }], "Done"]);
    const tools = await toAiSdkTools(toolport);
    const { steps } = await generateText({ model, tools, stopWhen: stepCountIs(2), prompt: "Go" });
    expect(steps[0]!.toolResults[0]).toMatchObject({ output: { text: JSON.stringify(got) } });
    const [given] = model.doGenerateCalls[0]!.tools!;
    expect(refusals("portable", (given as { inputSchema: unknown }).inputSchema)).toEqual([]);
  });
});

const CLOSED = {
  type: "object",
  properties: { "max-size": { type: "integer", enum: [1, 2] } },
  required: ["max-size"],
  additionalProperties: false,
};

describe("arguments", () => {
  const open = async (): Promise<{ toolport: Toolport } & AsyncDisposable> => {
    const server = createTestServer({ tools: { it: { inputSchema: CLOSED, handler: () => "done" } } });
    const toolport = createToolport({ mcpServers: { s: server.memory() }, prefix: false });
    return {
      toolport,
      async [Symbol.asyncDispose]() {
        await toolport.close();
        await server.close();
      },
    };
  };

  it("are checked against the server's schema, which is stricter than the portable form", async () => {
    await using opened = await open();
    const [tool] = await toLangChainTools(opened.toolport);
    expect(tool!.schema).toEqual({
      type: "object",
      properties: { max_size: { type: "integer", description: "Must be one of: 1, 2." } },
      required: ["max_size"],
    });
    expect(await tool!.invoke({ max_size: 2 })).toBe("done");
    expect(await failure(tool!.invoke({ max_size: 3 }))).toMatchObject({
      cause: { code: "INVALID_ARGUMENTS", issues: [{ path: '$["max-size"]' }] },
    });
    // Programs may use the server's own names.
    expect(await tool!.invoke({ "max-size": 1 })).toBe("done");
  });

  it("reach a rule for approval under the server's names", async () => {
    await using opened = await open();
    const seen: unknown[] = [];
    const tools = await toAiSdkTools(opened.toolport, {
      needsApproval: (_tool, input) => {
        seen.push(input);
        return true;
      },
    });
    const model = scriptedAiSdkModel([[{ name: "it", args: { max_size: 2 } }]]);
    const { content } = await generateText({ model, tools, prompt: "Go" });
    expect(content.map(({ type }) => type)).toContain("tool-approval-request");
    expect(seen).toEqual([{ "max-size": 2 }]);
  });

  it("reach the hooks under the server's names", async () => {
    await using server = createTestServer({
      tools: { it: { inputSchema: CLOSED, handler: (args) => JSON.stringify(args) } },
    });
    const seen: unknown[] = [];
    await using client = new MultiServerMCPClient({
      mcpServers: { s: server.memory() },
      beforeToolCall: ({ args }) => {
        seen.push(args);
        return { args: { "max-size": 2 } };
      },
    });
    const [tool] = await client.getTools();
    expect(await tool!.invoke({ max_size: 1 })).toBe('{"max-size":2}');
    expect(seen).toEqual([{ "max-size": 1 }]);
  });
});

describe("the option schema", () => {
  it("gives the server's schemas to a LangChain client; an invalid value is rejected by name", async () => {
    await using server = createTestServer({ tools: { it: { inputSchema: CLOSED, handler: () => "done" } } });
    await using client = new MultiServerMCPClient({ mcpServers: { s: server.memory() }, schema: "source" });
    const [tool] = await client.getTools();
    expect(tool!.schema).toEqual(CLOSED);
    expect(await tool!.invoke({ "max-size": 2 })).toBe("done");
    const make = () => new MultiServerMCPClient({ mcpServers: {}, schema: "plane" as never });
    expect(make).toThrow(/must be one of "source", "plain", "portable"/);
  });

  it("gives the server's schemas to the AI SDK, and keeps them with every tool", async () => {
    await using server = createTestServer({ tools: { it: { inputSchema: CLOSED, handler: () => "done" } } });
    await using toolport = createToolport({ mcpServers: { s: server.memory() }, prefix: false });
    const schemaOf = (tools: Awaited<ReturnType<typeof toAiSdkTools>>) =>
      (tools["it"]!.inputSchema as { jsonSchema: unknown }).jsonSchema;
    const source = await toAiSdkTools(toolport, { schema: "source" });
    expect(schemaOf(source)).toEqual(CLOSED);
    const portable = await toAiSdkTools(toolport);
    expect(schemaOf(portable)).not.toEqual(CLOSED);
    const { metadata } = portable["it"] as unknown as { metadata: { inputSchema: unknown } };
    expect(metadata.inputSchema).toEqual(CLOSED);
    expect(Object.keys(metadata)).toEqual(["server", "tool"]);
    const error = await failure(toAiSdkTools(toolport, { schema: "nonsense" as never }));
    expect(error).toMatchObject({ code: "INVALID_CONFIG" });
    expect(error.message).toContain('"source"');
  });
});
