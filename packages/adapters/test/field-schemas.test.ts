/** The schemas that servers really list, through every adapter: each tool is listed, accepted by the providers, and called. */
import { Client } from "@modelcontextprotocol/client";
import { generateText, stepCountIs } from "ai";
import { createToolport, type Toolport } from "toolport";
import { Agent } from "toolport/agents";
import { toAiSdkTools } from "toolport/ai-sdk";
import { runAnthropicToolCalls, toAnthropicTools } from "toolport/anthropic";
import { createCodeMode } from "toolport/code";
import { runGeminiToolCalls, toGeminiTools } from "toolport/gemini";
import { MultiServerMCPClient, toLangChainTools } from "toolport/langchain";
import { runOpenAIToolCalls, toOpenAITools } from "toolport/openai";
import { deriveSchema, type SchemaTarget } from "toolport/schemas";
import { createGateway } from "toolport/serve";
import type { TestHttpServer, TestServer } from "toolport/testing";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import {
  createFieldServer,
  FIELD_SCHEMAS,
  type FieldSchema,
  fieldServers,
  isNullable,
} from "../../../test/support/field-schemas.js";
import { type RuleTarget, requestRefusals, type SentTool } from "../../../test/support/provider-refusals.js";
import { scriptedAiSdkModel } from "./ai-sdk-model.js";

const PREFIX = "field__";
/** The gateway accepts 64 requests of one user at the same time. */
const CALLS_AT_ONCE = 60;
const publicName = ({ name }: FieldSchema): string => `${PREFIX}${name}`;
/** By name, so that a failure shows the tools at fault only. */
const ARGUMENTS = Object.fromEntries(FIELD_SCHEMAS.map((field) => [field.name, field.arguments]));
const NAMES = Object.keys(ARGUMENTS).sort();
const namesOf = (fields: readonly FieldSchema[]): string[] => fields.map(({ name }) => name);

/** JSON Schema does not know `nullable`: null is refused if arguments must match exactly, and otherwise sent with a warning. */
const needsLenience = (field: FieldSchema): boolean =>
  isNullable(field) && JSON.stringify(field.arguments).includes("null");

/** Arguments as a model writes them for the schema that it sees. */
const written = (field: FieldSchema, target: SchemaTarget): Record<string, unknown> =>
  deriveSchema(field.schema, target).wrap(field.arguments);

let server: TestServer;
let http: TestHttpServer;
let toolport: Toolport;

beforeAll(async () => {
  server = createFieldServer();
  http = await server.http();
  toolport = createToolport({ mcpServers: fieldServers(server) });
  await toolport.connect();
});
afterAll(async () => {
  await toolport.close();
  await server.close();
});

/** What reached the server while `run` ran, by tool. */
async function arrived(run: () => Promise<unknown>): Promise<Record<string, unknown>> {
  const before = server.calls.length;
  await run();
  const calls = server.calls.slice(before);
  expect(new Set(calls.map(({ name }) => name)).size).toBe(calls.length);
  return Object.fromEntries(calls.map(({ name, args }) => [name, args]));
}

/** Calls every tool, and collects the errors of those that fail. */
async function callAll(call: (field: FieldSchema) => Promise<unknown>): Promise<Record<string, string>> {
  const failed: Record<string, string> = {};
  const one = async (field: FieldSchema) => {
    try {
      await call(field);
    } catch (error) {
      failed[field.name] = (error as Error).message;
    }
  };
  for (let start = 0; start < FIELD_SCHEMAS.length; start += CALLS_AT_ONCE)
    await Promise.all(FIELD_SCHEMAS.slice(start, start + CALLS_AT_ONCE).map(one));
  return failed;
}

const problemsOf = (target: RuleTarget, tools: readonly SentTool[]): string[] =>
  requestRefusals(target, tools)
    // The number of tools is the caller's choice.
    .filter(({ tool }) => tool !== undefined)
    .map(({ tool, rule, problem }) => `${tool}: ${rule}: ${problem}`);

test("the corpus has more than 200 schemas with unique names", () => {
  expect(FIELD_SCHEMAS.length).toBeGreaterThanOrEqual(200);
  expect(NAMES).toHaveLength(FIELD_SCHEMAS.length);
});

describe("a port", () => {
  test("lists every tool with the schema of the server, and withholds none", async () => {
    const tools = await toolport.tools();
    expect(toolport.snapshot().withheldTools).toEqual([]);
    expect(tools.map(({ sourceName }) => sourceName).sort()).toEqual(NAMES);
  });

  // On a busy machine a pattern may reach its time limit, and is then reported.
  const SENT = { retry: 2 };
  test.each(["repair", "strict"] as const)(
    "sends the arguments unchanged (%s)",
    SENT,
    async (checkArguments) => {
      const warnings: string[] = [];
      await using other = createToolport({ mcpServers: fieldServers(server), checkArguments });
      other.on("warning", ({ message, tool }) => warnings.push(`${tool}: ${message}`));
      let failed: object = {};
      const calls = await arrived(async () => {
        failed = await callAll((field) => other.callTool(publicName(field), field.arguments));
      });
      const isSent = (field: FieldSchema) => checkArguments === "repair" || !needsLenience(field);
      expect(Object.keys(failed)).toEqual(namesOf(FIELD_SCHEMAS.filter((field) => !isSent(field))));
      const expected = FIELD_SCHEMAS.filter(isSent).map((field) => [field.name, field.arguments]);
      expect(calls).toEqual(Object.fromEntries(expected));

      const about = ({ name }: FieldSchema) => warnings.filter((text) => text.startsWith(`${name}: `));
      const counts = Object.fromEntries(FIELD_SCHEMAS.map((field) => [field.name, about(field).length]));
      const isWarned = (field: FieldSchema) =>
        field.unchecked !== undefined || (needsLenience(field) && isSent(field));
      expect(counts).toEqual(
        Object.fromEntries(FIELD_SCHEMAS.map((field) => [field.name, isWarned(field) ? 1 : 0])),
      );
      for (const field of FIELD_SCHEMAS)
        for (const keyword of field.unchecked ?? []) expect(about(field)[0]).toContain(keyword);
    },
  );

  // On a busy machine a pattern may reach its time limit, and is then not checked.
  test("refuses what a keyword refuses that can be checked", { retry: 2 }, async () => {
    await using other = createToolport({ mcpServers: fieldServers(server), checkArguments: "strict" });
    const accepted: unknown[] = [];
    const calls = await arrived(async () => {
      await callAll(async (field) => {
        for (const args of field.refused ?? []) {
          const outcome = await other.callTool(publicName(field), args).then(
            () => "sent",
            ({ code }) => code as string,
          );
          if (outcome !== "INVALID_ARGUMENTS") accepted.push({ tool: field.name, args, outcome });
        }
      });
    });
    expect(accepted).toEqual([]);
    expect(calls).toEqual({});
  });
});

describe("the gateway", () => {
  test.each(["modern", "legacy"] as const)("a %s client of the SDK", async (era) => {
    const gateway = createGateway(toolport, { auth: false });
    const mode = era === "modern" ? ({ pin: "2026-07-28" } as const) : "legacy";
    const client = new Client({ name: "test-client", version: "1.0.0" }, { versionNegotiation: { mode } });
    try {
      await client.connect(gateway.memory());
      const names: string[] = [];
      let cursor: string | undefined;
      do {
        const page = await client.listTools(cursor === undefined ? {} : { cursor });
        names.push(...page.tools.map(({ name }) => name.slice(PREFIX.length)));
        cursor = page.nextCursor;
      } while (cursor !== undefined);
      expect(names.sort()).toEqual(NAMES);
      let failed: object = {};
      const calls = await arrived(async () => {
        failed = await callAll(async (field) => {
          const { isError, content } = await client.callTool({
            name: publicName(field),
            arguments: field.arguments,
          });
          if (isError) throw new Error(JSON.stringify(content));
        });
      });
      expect(failed).toEqual({});
      expect(calls).toEqual(ARGUMENTS);
    } finally {
      await client.close();
      await gateway.close();
    }
  });
});

describe("LangChain", () => {
  test("toLangChainTools", async () => {
    const tools = new Map(
      (await toLangChainTools(toolport, { forModel: false })).map((tool) => [tool.name, tool]),
    );
    expect([...tools.keys()].map((name) => name.slice(PREFIX.length)).sort()).toEqual(NAMES);
    let failed: object = {};
    const calls = await arrived(async () => {
      failed = await callAll((field) => tools.get(publicName(field))!.invoke(written(field, "portable")));
    });
    expect(failed).toEqual({});
    expect(calls).toEqual(ARGUMENTS);
    const sent = [...tools.values()].map(({ name, schema }) => ({ name, schema }));
    expect(problemsOf("portable", sent)).toEqual([]);
  });

  test("MultiServerMCPClient with its defaults", async () => {
    const client = new MultiServerMCPClient({ mcpServers: { field: { url: http.url } } });
    try {
      const tools = new Map((await client.getTools()).map((tool) => [tool.name, tool]));
      expect([...tools.keys()].sort()).toEqual(NAMES);
      let failed: object = {};
      const calls = await arrived(async () => {
        failed = await callAll((field) => tools.get(field.name)!.invoke(written(field, "portable")));
      });
      expect(failed).toEqual({});
      expect(calls).toEqual(ARGUMENTS);
    } finally {
      await client.close();
    }
  });
});

describe("the AI SDK", () => {
  test("toAiSdkTools in generateText", async () => {
    const tools = await toAiSdkTools(toolport, { forModel: false });
    const requested = FIELD_SCHEMAS.map((field) => ({
      name: publicName(field),
      args: written(field, "portable"),
    }));
    const model = scriptedAiSdkModel([requested, "done"]);
    let failed: unknown;
    const calls = await arrived(async () => {
      const { steps } = await generateText({ model, tools, stopWhen: stepCountIs(2), prompt: "Call all" });
      failed = steps[0]!.content.filter(({ type }) => type === "tool-error");
    });
    expect(failed).toEqual([]);
    expect(calls).toEqual(ARGUMENTS);
    const sent = (model.doGenerateCalls[0]!.tools ?? []).flatMap((tool) =>
      tool.type === "function" ? [{ name: tool.name, schema: tool.inputSchema }] : [],
    );
    expect(sent).toHaveLength(NAMES.length);
    expect(problemsOf("portable", sent)).toEqual([]);
  });

  test("getAITools of an agent", async () => {
    const agent = new Agent();
    try {
      await agent.addMcpServer("field", http.url);
      const tools = agent.mcp.getAITools();
      const nameOf = ({ name }: FieldSchema) =>
        Object.keys(tools).find(
          (key) => key.endsWith(`_${name}`) && key.split("_").length === 2 + name.split("_").length,
        )!;
      expect(Object.keys(tools)).toHaveLength(NAMES.length);
      const requested = FIELD_SCHEMAS.map((field) => ({
        name: nameOf(field),
        args: written(field, "portable"),
      }));
      let failed: unknown;
      const calls = await arrived(async () => {
        const model = scriptedAiSdkModel([requested, "done"]);
        const { steps } = await generateText({ model, tools, stopWhen: stepCountIs(2), prompt: "Call all" });
        failed = steps[0]!.content.filter(({ type }) => type === "tool-error");
      });
      expect(failed).toEqual([]);
      expect(calls).toEqual(ARGUMENTS);
    } finally {
      await agent.mcp.close();
    }
  });
});

type Written = { readonly name: string; readonly args: Record<string, unknown> };

/** The adapters of the providers: how they list tools, and how they run the calls of one message. */
const PROVIDERS: Record<
  string,
  {
    target: SchemaTarget & RuleTarget;
    list(): Promise<SentTool[]>;
    run(calls: readonly Written[]): Promise<unknown>;
  }
> = {
  "OpenAI chat": {
    target: "openai",
    list: async () =>
      (await toOpenAITools(toolport, { forModel: false })).map(({ function: it }) => ({
        name: it.name,
        schema: it.parameters,
      })),
    run: async (calls) =>
      runOpenAIToolCalls(
        toolport,
        {
          tool_calls: calls.map(({ name, args }) => ({
            id: name,
            type: "function" as const,
            function: { name, arguments: JSON.stringify(args) },
          })),
        },
        { tools: await toOpenAITools(toolport) },
      ),
  },
  Anthropic: {
    target: "anthropic",
    list: async () =>
      (await toAnthropicTools(toolport, { forModel: false })).map(({ name, input_schema: schema }) => ({
        name,
        schema,
      })),
    run: async (calls) =>
      runAnthropicToolCalls(
        toolport,
        {
          content: calls.map(({ name, args }) => ({
            type: "tool_use" as const,
            id: name,
            name,
            input: args,
          })),
        },
        { tools: await toAnthropicTools(toolport) },
      ),
  },
  "Gemini, JSON Schema": {
    target: "gemini-json",
    list: async () =>
      (await toGeminiTools(toolport, { forModel: false })).flatMap(({ functionDeclarations }) =>
        functionDeclarations.map(({ name, parametersJsonSchema: schema }) => ({ name, schema })),
      ),
    run: async (calls) =>
      runGeminiToolCalls(toolport, geminiMessage(calls), { tools: await toGeminiTools(toolport) }),
  },
  "Gemini, OpenAPI": {
    target: "gemini-openapi",
    list: async () =>
      (await toGeminiTools(toolport, { schema: "openapi", forModel: false })).flatMap(
        ({ functionDeclarations }) =>
          functionDeclarations.map(({ name, parameters: schema }) => ({ name, schema })),
      ),
    run: async (calls) =>
      runGeminiToolCalls(toolport, geminiMessage(calls), {
        tools: await toGeminiTools(toolport, { schema: "openapi" }),
      }),
  },
};

const geminiMessage = (calls: readonly Written[]) => ({
  role: "model",
  parts: calls.map(({ name, args }) => ({ functionCall: { id: name, name, args } })),
});

describe.each(Object.entries(PROVIDERS))("%s", (_name, { target, list, run }) => {
  test("accepts every tool, and every call is sent", async () => {
    const tools = await list();
    expect(tools).toHaveLength(NAMES.length);
    expect(problemsOf(target, tools)).toEqual([]);
    let answers: unknown;
    const calls = await arrived(async () => {
      answers = await run(
        FIELD_SCHEMAS.map((field) => ({ name: publicName(field), args: written(field, target) })),
      );
    });
    expect(Object.keys(ARGUMENTS).filter((name) => !Object.hasOwn(calls, name))).toEqual([]);
    expect(JSON.stringify(answers)).toContain("called zod4_plain");
    expect(calls).toEqual(ARGUMENTS);
  });
});

test("OpenAI's strict mode: a schema that it cannot express is sent without it, and every call is sent", async () => {
  const tools = await toOpenAITools(toolport, { strict: true, forModel: false });
  const forms = new Map(tools.map(({ function: it }) => [it.name, it]));
  for (const [name, { parameters, strict }] of forms)
    expect(problemsOf(strict ? "openai-strict" : "openai", [{ name, schema: parameters }])).toEqual([]);
  const calls = await arrived(() =>
    runOpenAIToolCalls(
      toolport,
      {
        tool_calls: FIELD_SCHEMAS.map((field) => ({
          id: field.name,
          type: "function" as const,
          function: {
            name: publicName(field),
            arguments: JSON.stringify(written(field, "openai-strict")),
          },
        })),
      },
      { tools },
    ),
  );
  // The model sends null for every optional argument, and cannot say that one that may be null is not given.
  const expected = FIELD_SCHEMAS.map((field) => [
    field.name,
    deriveSchema(field.schema, "openai-strict").unwrap(written(field, "openai-strict")),
  ]);
  expect(calls).toEqual(Object.fromEntries(expected));
  for (const field of FIELD_SCHEMAS) expect(calls[field.name]).toMatchObject(field.arguments);
});

test("code mode declares every tool, and a program calls them all", async () => {
  await using code = createCodeMode(toolport, { discovery: "declare", declareTokens: 1_000_000 });
  const [{ description } = { description: "" }] = await code.tools();
  const camel = (name: string) => name.replace(/_+(.)/g, (_match, letter: string) => letter.toUpperCase());
  expect(NAMES.filter((name) => !description!.includes(`${camel(name)}(`))).toEqual([]);
  const failed: string[] = [];
  const calls = await arrived(async () => {
    for (let start = 0; start < FIELD_SCHEMAS.length; start += 50) {
      const some = FIELD_SCHEMAS.slice(start, start + 50);
      const program = some.map(
        ({ name, arguments: args }) =>
          `try { await tools.field.${camel(name)}(JSON.parse(${JSON.stringify(JSON.stringify(args))})) } catch (e) { failed.push(${JSON.stringify(name)} + ": " + e.message) }`,
      );
      const outcome = await code.callTool("execute", {
        code: `const failed = [];\n${program.join("\n")}\nreturn failed;`,
      });
      if (outcome.isError) failed.push(outcome.text);
      else failed.push(...((outcome.structuredContent as { value: string[] }).value ?? []));
    }
  });
  expect(failed).toEqual([]);
  expect(calls).toEqual(ARGUMENTS);
});
