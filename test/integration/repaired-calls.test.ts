/** Repaired arguments in a call: options, added values, defaults, headers, custom validators. */
import { Ajv2020 } from "ajv/dist/2020.js";
import {
  type CallInterceptor,
  cacheResults,
  createToolport,
  type SchemaValidatorFactory,
  type ToolCallError,
} from "toolport";
import { createTestServer } from "toolport/testing";
import { describe, expect, test } from "vitest";
import { failure } from "../support/failure.js";
import { MESSY, openSearch, REPAIRED, search, tool } from "../support/search-scene.js";

describe("the most specific checkArguments applies", () => {
  test.each([
    [{ port: "strict", server: undefined, call: undefined }, "refused"],
    [{ port: "strict", server: "off", call: undefined }, "sent"],
    [{ port: "off", server: "strict", call: undefined }, "refused"],
    [{ port: "strict", server: "off", call: "repair" }, "repaired"],
    [{ port: undefined, server: undefined, call: undefined }, "repaired"],
    [{ port: undefined, server: undefined, call: "off" }, "sent"],
  ] as const)("%o: %s", async (given, expected) => {
    await using server = createTestServer({ tools: { search: tool(search) } });
    await using toolport = createToolport({
      mcpServers: { s: { ...server.memory(), ...(given.server && { checkArguments: given.server }) } },
      ...(given.port && { checkArguments: given.port }),
    });
    const outcome = await toolport
      .callTool("s__search", MESSY, given.call && { checkArguments: given.call })
      .then(
        ({ repaired }) => (repaired === undefined ? "sent" : "repaired"),
        ({ code }: ToolCallError) => (code === "INVALID_ARGUMENTS" ? "refused" : code),
      );
    expect(outcome).toBe(expected);
    expect(server.calls.map(({ args }) => args)).toEqual(
      { refused: [], sent: [MESSY], repaired: [REPAIRED] }[expected as "sent"],
    );
  });

  test.each([
    [{ checkArguments: "lenient" as never }, "options.checkArguments"],
    [{ mcpServers: { s: { command: "x", checkArguments: true as never } } }, "mcpServers.s.checkArguments"],
  ])("anything else is a ConfigError: %j", (options, path) => {
    expect(() => createToolport(options)).toThrow(
      expect.objectContaining({ code: "INVALID_CONFIG", issues: [expect.objectContaining({ path })] }),
    );
  });
});

describe("the message for the model when its arguments are refused", () => {
  test.each<[string, Record<string, unknown>, string]>([
    [
      "an unknown name",
      { query: "x", limits: 3 },
      '$.limits is not a parameter; did you mean "limit"? There are: query, limit, after, tags',
    ],
    [
      "an unknown name like no other",
      { query: "x", dry_run: true },
      "$.dry_run is not a parameter. There are: query, limit, after, tags",
    ],
    ["null for a required name", { query: null }, "$.query is required and must not be null"],
    ["several values in one text", { query: "x", tags: "a, b" }, '$.tags must be an array: write ["a", "b"]'],
    ["a problem that the repair cannot solve", { ...MESSY, limit: "500" }, "$.limit must be at most 100"],
  ])("%s", async (_case, args, line) => {
    await using scene = await openSearch();
    const error = await failure<ToolCallError>(scene.toolport.callTool("s__search", args));
    expect(error.message.split("\n")).toEqual([
      "[s/search] Nothing was sent: the arguments do not match the tool's schema:",
      `${line}. Correct them and call again. (INVALID_ARGUMENTS)`,
    ]);
    expect(scene.sent()).toEqual([]);
  });
});

describe("added values", () => {
  test("of the call and of interceptors are merged after the check, and override the arguments", async () => {
    await using scene = await openSearch({
      interceptors: [(next) => (call) => next({ ...call, added: { ...call.added, tenant: "acme" } })],
    });
    const added = { trace: 7, query: "mine" };
    expect((await scene.toolport.callTool("s__search", { query: "x" }, { added })).repaired).toBeUndefined();
    expect(scene.sent()).toEqual([{ query: "mine", trace: 7, tenant: "acme" }]);
  });

  test("are part of the key of cacheResults", async () => {
    let tenant = "a";
    const add: CallInterceptor = (next) => (call) => next({ ...call, added: { tenant } });
    await using scene = await openSearch({
      interceptors: [add, cacheResults({ tools: ["s__search"], ttlMs: 60_000 })],
    });
    const ask = () => scene.toolport.callTool("s__search", { query: "x" });
    await ask();
    expect((await ask()).attempts).toBe(0);
    tenant = "b";
    expect((await ask()).attempts).toBe(1);
    expect(scene.sent().map(({ tenant: name }) => name)).toEqual(["a", "b"]);
  });
});

test("applyDefaults fills in values that the repair removed; an invalid default is not sent", async () => {
  await using scene = await openSearch();
  await scene.toolport.callTool("s__search", MESSY, { applyDefaults: true });
  await using broken = await openSearch(
    {},
    { ...search, properties: { ...search.properties, limit: { type: "integer", default: "many" } as never } },
  );
  await broken.toolport.callTool("s__search", { query: "x", limit: null }, { applyDefaults: true });
  expect(scene.sent()).toEqual([{ ...REPAIRED, after: "start" }]);
  expect(broken.sent()).toEqual([{ query: "x", after: "start" }]);
});

test("header values are read from the repaired arguments", async () => {
  const headers: (string | null | undefined)[] = [];
  await using server = createTestServer({
    era: "modern",
    tools: {
      ask: {
        inputSchema: {
          type: "object",
          properties: {
            region: { type: "string", enum: ["eu", "us"], "x-mcp-header": "Region" },
            shard: { type: "integer", "x-mcp-header": "Shard" },
          },
        } as never,
        handler: (args, { request }) => {
          for (const name of ["mcp-param-region", "mcp-param-shard"])
            headers.push(request.http?.req?.headers.get(name));
          return JSON.stringify(args);
        },
      },
    },
  });
  const { entry } = await server.http();
  await using toolport = createToolport({ mcpServers: { s: entry } });
  const { text } = await toolport.callTool("s__ask", { region: "EU", shard: "7" });
  expect(JSON.parse(text)).toEqual({ region: "eu", shard: 7 });
  expect(headers).toEqual(["eu", "7"]);
});

test("a contradictory schema is reported once for each tool, for all users", async () => {
  const closed = { type: "object", required: ["a"], properties: {}, additionalProperties: false };
  await using scene = await openSearch({}, closed as never);
  const warnings: unknown[] = [];
  scene.toolport.on("warning", (warning) => warnings.push(warning));
  for (let round = 0; round < 3; round += 1) await scene.toolport.callTool("s__search", { a: 1 });
  await scene.toolport.refresh("s");
  await scene.toolport.callTool("s__search", { a: 1 });
  await scene.toolport.as("ada").callTool("s__search", { a: 1 });
  expect(scene.sent()).toHaveLength(5);
  expect(warnings).toEqual([
    {
      server: "s",
      tool: "search",
      code: "SCHEMA_CONTRADICTS",
      message: expect.stringMatching(/"search" contradicts itself.*\$\.a is not allowed.*server decides/s),
    },
  ]);
});

test("call_tool of deferTools repairs likewise", async () => {
  await using scene = await openSearch({ deferTools: true });
  const result = await scene.toolport.callTool("call_tool", {
    name: "s__search",
    arguments: JSON.stringify(MESSY),
  });
  expect(scene.sent()).toEqual([REPAIRED]);
  expect(result.repaired).toHaveLength(2);
});

describe("a custom validator", () => {
  const ajv = new Ajv2020({ allErrors: true, strict: false });
  const compile: SchemaValidatorFactory["compile"] = (schema) => {
    const check = ajv.compile(schema);
    return (value) =>
      check(value)
        ? undefined
        : check.errors?.map(({ instancePath, message }) => ({
            path: `$${instancePath}`,
            message: message ?? "",
          }));
  };
  const nested = {
    type: "object",
    properties: {
      filter: { $ref: "#/$defs/filter" },
      limit: { type: "integer" },
    },
    $defs: { filter: { type: "object", properties: { open: { type: "boolean" } } } },
  };
  const args = { filter: '{"open":"true"}', limit: "5" };

  test("checks every part", async () => {
    await using scene = await openSearch({ validator: { compile } }, nested as never);
    const { repaired } = await scene.toolport.callTool("s__search", args);
    expect(scene.sent()).toEqual([{ filter: { open: true }, limit: 5 }]);
    expect(repaired).toHaveLength(3);
    expect(await failure(scene.toolport.callTool("s__search", { limit: "many" }))).toMatchObject({
      issues: [{ path: "$/limit", message: "must be integer" }],
    });
  });

  test("that accepts only whole schemas gets the top level repaired", async () => {
    const known = JSON.stringify(nested);
    const validator: SchemaValidatorFactory = {
      compile(schema) {
        if (JSON.stringify(schema) !== known) throw new Error("This schema was not compiled at build time");
        return compile(schema);
      },
    };
    await using scene = await openSearch({ validator }, nested as never);
    await scene.toolport.callTool("s__search", { limit: "5", filter: '{"open":true}' });
    expect(scene.sent()).toEqual([{ filter: { open: true }, limit: 5 }]);
    expect(await failure(scene.toolport.callTool("s__search", { limit: "many" }))).toMatchObject({
      issues: [{ path: "$/limit", message: "must be integer" }],
    });
  });
});
