/** A tool whose schema cannot be checked in full is listed and called; one warning says what is not checked. */
import { createToolport } from "toolport";
import { MultiServerMCPClient } from "toolport/langchain";
import { expect, test } from "vitest";
import { startJsonRpcServer } from "../fixtures/servers/http-json-rpc.js";
import { failure } from "../support/failure.js";

const object = (a: Record<string, unknown>, more: Record<string, unknown> = {}) => ({
  type: "object",
  properties: { a },
  ...more,
});

const tools = [
  { name: "python", inputSchema: object({ type: "string", pattern: "^(?P<year>\\d+)\\Z" }) },
  { name: "atomic", inputSchema: object({ type: "string", pattern: "^(?>a+)b" }) },
  { name: "dialect", inputSchema: { ...object({ type: "string" }), $schema: "https://example.com/mine" } },
  { name: "remote", inputSchema: object({ $ref: "https://example.com/s.json?key=1" }) },
  { name: "missing", inputSchema: object({ $ref: "#/$defs/none" }) },
  { name: "flag", inputSchema: object({ type: "string", required: true }) },
  {
    name: "output",
    inputSchema: { type: "object" },
    outputSchema: object({ type: "string", pattern: "^(?>a+)b" }, { $schema: 7 }),
  },
  { name: "no_output", inputSchema: { type: "object" }, outputSchema: "x" },
];

const serve = () =>
  startJsonRpcServer({
    "tools/list": () => ({ tools }),
    "tools/call": ({ params }) => ({
      content: [{ type: "text", text: JSON.stringify(params["arguments"]) }],
      structuredContent: { a: params["name"] },
    }),
  });

/** What is not checked, by tool. */
const UNCHECKED: Record<string, string[]> = {
  atomic: ['the pattern "^(?>a+)b" at /properties/a/pattern'],
  dialect: ['the dialect "https://example.com/mine", read as 2020-12, at /$schema'],
  remote: ['the reference "https://example.com/s.json" at /properties/a/$ref'],
  missing: ['the reference "#/$defs/none" at /properties/a/$ref'],
  flag: ['required "true" at /properties/a/required'],
  output: ['the pattern "^(?>a+)b" at /properties/a/pattern of the outputSchema', "the dialect"],
  no_output: ["outputSchema, which is not an object"],
};

test.each(["repair", "strict"] as const)(
  "listed, called, one warning per tool (%s)",
  async (checkArguments) => {
    await using server = await serve();
    await using toolport = createToolport({ mcpServers: { s: server.entry }, checkArguments });
    const warnings = new Map<string, string[]>();
    toolport.on("warning", ({ code, tool, message }) => {
      expect(code).toBe("SCHEMA_CONTRADICTS");
      warnings.set(String(tool), [...(warnings.get(String(tool)) ?? []), message]);
    });
    await toolport.connect();
    expect(toolport.snapshot().withheldTools).toEqual([]);
    expect((await toolport.tools()).map(({ sourceName }) => sourceName)).toEqual(
      tools.map(({ name }) => name),
    );
    for (let round = 0; round < 2; round += 1) {
      for (const { name } of tools) {
        const { text, structuredContent } = await toolport.callTool(`s__${name}`, { a: "2026" });
        expect(text).toBe('{"a":"2026"}');
        expect(structuredContent).toEqual({ a: name });
      }
      await toolport.refresh("s");
    }
    expect([...warnings.keys()].sort()).toEqual(Object.keys(UNCHECKED).sort());
    for (const [name, parts] of Object.entries(UNCHECKED)) {
      expect(warnings.get(name)).toHaveLength(1);
      for (const part of parts) expect(warnings.get(name)![0]).toContain(part);
    }
    expect(JSON.stringify([...warnings])).not.toContain("key=1");
  },
);

test("what can be checked is still checked", async () => {
  await using server = await serve();
  await using toolport = createToolport({ mcpServers: { s: server.entry } });
  for (const name of ["python", "atomic", "dialect", "flag"])
    expect(await failure(toolport.callTool(`s__${name}`, { a: [] }))).toMatchObject({
      code: "INVALID_ARGUMENTS",
      outcome: "unsent",
    });
  const error = await failure(toolport.callTool("s__python", { a: "2026\n" }));
  expect(error).toMatchObject({ code: "INVALID_ARGUMENTS" });
  expect(server.asked.filter((method) => method === "tools/call")).toEqual([]);
});

test("a user's validator that cannot compile such a schema refuses nothing", async () => {
  await using server = await serve();
  const validator = {
    compile(): never {
      throw new Error("no such dialect");
    },
  };
  await using toolport = createToolport({
    mcpServers: { s: server.entry },
    validator,
    checkArguments: "strict",
  });
  for (const { name } of tools)
    expect((await toolport.callTool(`s__${name}`, { a: 1 })).text).toBe('{"a":1}');
});

test("LangChain's client lists and calls them with its defaults", async () => {
  await using server = await serve();
  const client = new MultiServerMCPClient({ mcpServers: { s: server.entry } });
  try {
    const made = await client.getTools();
    expect(made.map(({ name }) => name)).toEqual(tools.map(({ name }) => name));
    expect(client.withheldTools).toEqual([]);
    for (const tool of made) expect(JSON.stringify(await tool.invoke({ a: "2026" }))).toContain("2026");
  } finally {
    await client.close();
  }
});
