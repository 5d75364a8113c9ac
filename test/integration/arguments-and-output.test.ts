/** Arguments and results match the schemas of a tool, or the error lists every problem. */
import { createToolport, type ToolCallError, type ToolResult } from "toolport";
import { createTestServer, type TestTool } from "toolport/testing";
import { describe, expect, test } from "vitest";
import { failure } from "../support/failure.js";

const booking = {
  type: "object",
  properties: {
    city: { type: "string", minLength: 1 },
    nights: { type: "integer", minimum: 1, default: 1 },
    guests: {
      type: "array",
      items: { type: "object", properties: { name: { type: "string" } }, required: ["name"] },
    },
    room: { type: "object", properties: { view: { enum: ["sea", "yard"], default: "yard" } } },
  },
  required: ["city"],
  additionalProperties: false,
};

const temperature = {
  type: "object",
  properties: { celsius: { type: "number" }, station: { type: "string" } },
  required: ["celsius"],
};

const tools: Record<string, TestTool> = {
  book: { inputSchema: booking, handler: (args) => JSON.stringify(args) },
  measure: {
    outputSchema: temperature,
    handler: ({ answer, isError }) => ({
      content: [{ type: "text", text: "measured" }],
      ...(answer !== undefined && { structuredContent: answer as Record<string, unknown> }),
      ...(isError === true && { isError: true }),
    }),
  },
  any: {
    outputSchema: { type: "array", items: { type: "integer" } },
    handler: ({ answer }) => ({ content: [], structuredContent: answer as never }),
  },
};

const open = (options: Parameters<typeof createToolport>[0] = {}) => {
  const server = createTestServer({ era: "modern", tools });
  const toolport = createToolport({ mcpServers: { s: server.memory() }, ...options });
  return {
    server,
    toolport,
    async [Symbol.asyncDispose]() {
      await toolport.close();
      await server.close();
    },
  };
};

describe("arguments", () => {
  test("that are wrong are never sent; every problem is named with its path", async () => {
    await using scene = open();
    const args = { city: true, nights: 0, guests: [{ name: "Ada" }, {}], room: { view: "street" }, extra: 1 };
    const error = await failure<ToolCallError>(scene.toolport.callTool("s__book", args));
    expect(error).toMatchObject({
      code: "INVALID_ARGUMENTS",
      server: "s",
      tool: "book",
      outcome: "unsent",
      retryable: false,
    });
    const paths = error.issues?.map(({ path }) => path).sort();
    expect(paths).toEqual(["$.city", "$.extra", "$.guests[1].name", "$.nights", "$.room.view"]);
    const lines = error.message.split("\n");
    expect(lines[0]).toBe("[s/book] Nothing was sent: the arguments do not match the tool's schema:");
    for (const path of paths ?? [])
      expect(lines.filter((line) => line.startsWith(`${path} `))).toHaveLength(1);
    expect(scene.server.calls).toHaveLength(0);
  });

  test("get the schema's defaults only on request, and are otherwise sent as they are", async () => {
    await using scene = open();
    const args = { city: "Oslo", room: {} };
    expect(JSON.parse((await scene.toolport.callTool("s__book", args)).text)).toEqual(args);
    const filled = await scene.toolport.callTool("s__book", args, { applyDefaults: true });
    expect(JSON.parse(filled.text)).toEqual({ city: "Oslo", nights: 1, room: { view: "yard" } });
    expect(args).toEqual({ city: "Oslo", room: {} });
  });

  test("are checked against the schema of the server, even if a mapper shows the model another one", async () => {
    await using scene = open({
      toolSpecificationMapper: (_server, tool) => ({
        ...tool,
        inputSchema: { type: "object", properties: {} },
      }),
      interceptors: [(next) => (call) => next({ ...call, args: { city: "Bergen", ...call.args } })],
    });
    expect((await scene.toolport.tools())[0]?.inputSchema).toEqual({ type: "object", properties: {} });
    expect(JSON.parse((await scene.toolport.callTool("s__book", {})).text)).toEqual({ city: "Bergen" });
    expect(await failure(scene.toolport.callTool("s__book", { nights: "two" }))).toMatchObject({
      code: "INVALID_ARGUMENTS",
    });
  });
});

describe("structured content", () => {
  test("that matches is passed on", async () => {
    await using scene = open();
    const result: ToolResult<{ celsius: number }> = await scene.toolport.callTool<{ celsius: number }>(
      "s__measure",
      {
        answer: { celsius: -3.5, station: "x" },
      },
    );
    expect(result.structuredContent?.celsius).toBe(-3.5);
  });

  test("that does not match is INVALID_OUTPUT, with the original result", async () => {
    await using scene = open();
    const answer = { celsius: "cold", station: 4 };
    const error = await failure<ToolCallError>(scene.toolport.callTool("s__measure", { answer }));
    expect(error).toMatchObject({ code: "INVALID_OUTPUT", server: "s", tool: "measure", outcome: "unknown" });
    expect(error.issues?.map(({ path }) => path).sort()).toEqual(["$.celsius", "$.station"]);
    expect(error.result).toMatchObject({
      structuredContent: answer,
      content: [{ type: "text", text: "measured" }],
    });
    expect(scene.server.calls).toHaveLength(1);
  });

  test("that is missing despite an output schema is INVALID_OUTPUT", async () => {
    await using scene = open();
    expect(await failure(scene.toolport.callTool("s__measure"))).toMatchObject({
      code: "INVALID_OUTPUT",
      result: { text: "measured" },
    });
  });

  test("of a tool that reports failure is never checked", async () => {
    await using scene = open();
    const result = await scene.toolport.callTool("s__measure", {
      answer: { celsius: "cold" },
      isError: true,
    });
    expect(result).toMatchObject({ isError: true, structuredContent: { celsius: "cold" } });
    expect(await scene.toolport.callTool("s__measure", { isError: true })).toMatchObject({ isError: true });
  });

  test.each([[[1, 2]], [[]]])("may be any JSON: %j", async (answer) => {
    await using scene = open();
    expect((await scene.toolport.callTool("s__any", { answer })).structuredContent).toEqual(answer);
  });
});

test("a custom validator replaces the built-in one for arguments and output", async () => {
  const compiled: unknown[] = [];
  await using scene = open({
    validator: {
      compile(schema) {
        compiled.push(schema);
        return (value) =>
          JSON.stringify(value).includes("forbidden")
            ? [{ path: "$", message: "must not say that" }]
            : undefined;
      },
    },
  });
  const error = await failure<ToolCallError>(scene.toolport.callTool("s__book", { city: "forbidden" }));
  expect(error).toMatchObject({
    code: "INVALID_ARGUMENTS",
    issues: [{ path: "$", message: "must not say that" }],
  });
  // The built-in validator would refuse this.
  expect((await scene.toolport.callTool("s__book", { city: 1 })).text).toBe('{"city":1}');
  // Once for the tool, and once for each part that the repair checked.
  expect(compiled.filter((schema) => schema === booking || (schema as { type?: string }).type)).toEqual([
    booking,
  ]);
  expect(
    await failure(scene.toolport.callTool("s__measure", { answer: { celsius: 1, note: "forbidden" } })),
  ).toMatchObject({
    code: "INVALID_ARGUMENTS",
  });
});
