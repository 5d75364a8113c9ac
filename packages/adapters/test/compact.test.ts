/** The option `compact`, in every adapter whose schemas are derived. */
import { asSchema, type ToolSet } from "ai";
import { ConfigError, createToolport, type Toolport } from "toolport";
import { toAiSdkTools } from "toolport/ai-sdk";
import { runAnthropicToolCalls, toAnthropicTools } from "toolport/anthropic";
import { toGeminiTools } from "toolport/gemini";
import { MultiServerMCPClient, toLangChainTools } from "toolport/langchain";
import { type OpenAIToolsOptions, toOpenAITools } from "toolport/openai";
import { createTestServer } from "toolport/testing";
import { afterAll, describe, expect, test } from "vitest";

const DESCRIPTION = "\n    Books a   seat.\n\n\n    Long story about seats.  \n";
const server = createTestServer({
  tools: {
    book: {
      description: DESCRIPTION,
      inputSchema: {
        $schema: "http://json-schema.org/draft-07/schema#",
        type: "object",
        title: "bookArguments",
        properties: {
          "seat kind": { type: "string", title: "Seat Kind", enum: ["aisle", "window"] },
          notes: { type: "string", description: " Anything  that\nmatters to the person who travels " },
        },
      },
      handler: (args) => JSON.stringify(args),
    },
  },
});
const toolport = createToolport({ mcpServers: { train: server.memory() } });
afterAll(async () => {
  await toolport.close();
  await server.close();
});

interface Seen {
  readonly description: string | undefined;
  readonly schema: Record<string, unknown>;
}
type Show = (toolport: Toolport, options: Pick<OpenAIToolsOptions, "compact">) => Promise<Seen>;

const first = <Item>(items: readonly Item[]): Item => items[0]!;
const adapters: Record<string, Show> = {
  "openai chat": async (port, options) => {
    const { function: shown } = first(await toOpenAITools(port, { api: "chat", ...options }));
    return { description: shown.description, schema: shown.parameters };
  },
  "openai responses": async (port, options) => {
    const shown = first(await toOpenAITools(port, { api: "responses", ...options }));
    return { description: shown.description, schema: shown.parameters };
  },
  anthropic: async (port, options) => {
    const shown = first(await toAnthropicTools(port, options));
    return { description: shown.description, schema: shown.input_schema };
  },
  gemini: async (port, options) => {
    const shown = first(first(await toGeminiTools(port, options)).functionDeclarations);
    return { description: shown.description, schema: shown.parametersJsonSchema! };
  },
  "ai-sdk": async (port, options) => {
    const tools: ToolSet = await toAiSdkTools(port, options);
    const shown = tools["train__book"]!;
    const schema = await asSchema(shown.inputSchema).jsonSchema;
    return { description: shown.description as string, schema: schema as Record<string, unknown> };
  },
  langchain: async (port, options) => {
    const shown = first(await toLangChainTools(port, options));
    return { description: shown.description, schema: shown.schema as Record<string, unknown> };
  },
};

describe.each(Object.entries(adapters))("%s", (_, show) => {
  test("writes schema and description shorter by default", async () => {
    const { description, schema } = await show(toolport, {});
    expect(description).toBe("Books a seat.\n\nLong story about seats.");
    expect(JSON.stringify(schema)).not.toMatch(/bookArguments|Seat Kind|Anything {2}that/);
  });

  test("leaves them as they are with false", async () => {
    const { description, schema } = await show(toolport, { compact: false });
    expect(description).toBe(DESCRIPTION);
    expect(JSON.stringify(schema)).toMatch(/Anything {2}that/);
  });

  test("cuts descriptions if asked", async () => {
    const { description, schema } = await show(toolport, { compact: { descriptions: 30, parameters: 20 } });
    expect(description).toBe("Books a seat.\n\nLong story…");
    expect(JSON.stringify(schema)).toContain("Anything that…");
  });

  test.each([
    [{ descriptions: 5 }, "compact.descriptions"],
    [{ parameters: Number.NaN }, "compact.parameters"],
    [{ description: 500 }, "compact.description"],
    [{ defs: "yes" }, "compact.defs"],
    ["yes", "compact"],
    [null, "compact"],
  ])("rejects %j and names the option", async (compact, path) => {
    const error = await show(toolport, { compact: compact as never }).catch((thrown) => thrown);
    expect(ConfigError.isInstance(error)).toBe(true);
    expect(error.issues).toEqual([expect.objectContaining({ path })]);
  });
});

test("the schema of the server is sent as it is with schema: source", async () => {
  const listed = first(await toolport.tools());
  const tool = first(await toLangChainTools(toolport, { schema: "source" }));
  expect([tool.schema, tool.description]).toEqual([listed.inputSchema, DESCRIPTION]);
  const tools: ToolSet = await toAiSdkTools(toolport, { schema: "source", compact: { descriptions: 30 } });
  expect(tools["train__book"]!.description).toBe(DESCRIPTION);
});

test("the drop-in for LangChain changes no description", async () => {
  await using client = new MultiServerMCPClient({ train: server.memory() as never });
  expect(first(await client.getTools()).description).toBe(DESCRIPTION);
});

test("reports what it changed", async () => {
  const reports: Parameters<NonNullable<OpenAIToolsOptions["onChange"]>>[0][] = [];
  await toOpenAITools(toolport, { onChange: (report) => reports.push(report) });
  const compacted = reports.flatMap(({ changes }) => changes.filter(({ what }) => what === "compacted"));
  const places = compacted.map(({ path, keyword }) => `${path} ${keyword}`);
  expect(new Set(places)).toEqual(
    new Set([
      "# title",
      "#/properties/seat kind title",
      "#/properties/seat kind type",
      "#/properties/notes description",
      " description",
    ]),
  );
});

test("arguments of renamed parameters are still converted back", async () => {
  const tools = await toAnthropicTools(toolport, { compact: { descriptions: 30 } });
  expect(Object.keys(first(tools).input_schema["properties"] as object)).toEqual(["seat_kind", "notes"]);
  const call = { type: "tool_use", id: "1", name: "train__book", input: { seat_kind: "aisle" } } as const;
  const [message] = await runAnthropicToolCalls(toolport, { content: [call] }, { tools });
  expect(JSON.stringify(message)).toContain(JSON.stringify('{"seat kind":"aisle"}').slice(1, -1));
});
