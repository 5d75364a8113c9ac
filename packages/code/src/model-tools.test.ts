import { estimateTokens, type ToolInfo } from "@toolport/base";
import { describe, expect, test } from "vitest";
import { collectedTools } from "../../../test/support/definitions.js";
import type { CodeCall } from "./code-mode.js";
import { describeTools, modelTools, readProgram, toModelResult } from "./model-tools.js";
import { createProgramApi } from "./program-api.js";

const LIMITS = { calls: 100, timeMs: 60_000, cpuMs: 2_000, resultBytes: 256_000 };
const OPTIONS = { discovery: "search", declareTokens: 4_000, limits: LIMITS } as const;

const shownTokens = (tools: readonly ToolInfo[]): number =>
  estimateTokens(
    JSON.stringify(
      tools.map(({ name, description, inputSchema }) => ({ name, description, parameters: inputSchema })),
    ),
  );

const manyTools = (servers: number, each: number): ToolInfo[] =>
  Array.from({ length: servers * each }, (_, index) => {
    const server = `a-server-with-a-rather-long-name-${index % servers}`;
    const sourceName = `do_thing_${index}`;
    return { name: `${server}__${sourceName}`, server, sourceName, inputSchema: { type: "object" } };
  });

describe("search and execute", () => {
  test.each([
    [10, collectedTools.slice(0, 10)],
    [100, collectedTools.slice(0, 100)],
    [483, collectedTools],
    [1_000, manyTools(200, 5)],
  ])("take at most 450 tokens at %i tools", (count, tools) => {
    expect(tools).toHaveLength(count);
    const shown = modelTools(createProgramApi(tools), OPTIONS);
    expect(shown.map(({ name }) => name)).toEqual(["search", "execute"]);
    expect(shownTokens(shown)).toBeLessThanOrEqual(450);
  });

  test("name the servers, and how many are not named", () => {
    const [search] = modelTools(createProgramApi(manyTools(200, 1)), OPTIONS);
    expect(search?.description).toMatch(/They belong to: aServerWith.* and 19\d more\./);
    expect(modelTools(createProgramApi([]), OPTIONS)[0]?.description).not.toContain("belong");
  });

  test("tell the limits", () => {
    const limits = { calls: 7, timeMs: 1_500, cpuMs: 250, resultBytes: 10_000 };
    const [, execute] = modelTools(createProgramApi([]), { ...OPTIONS, limits });
    expect(execute?.description).toContain("Limits: 7 calls, 1.5 s, 0.3 s of computing, 10 kB returned");
  });

  test("declare all tools in the description of execute if they are few", () => {
    const few = createProgramApi(collectedTools.filter(({ server }) => server === "memory"));
    const declared = modelTools(few, { ...OPTIONS, discovery: "declare" });
    expect(declared.map(({ name }) => name)).toEqual(["execute"]);
    expect(declared[0]?.description).toContain("createEntities(args:{");
    expect(declared[0]?.description).not.toContain("`search`");
    const all = modelTools(createProgramApi(collectedTools), { ...OPTIONS, discovery: "declare" });
    expect(all.map(({ name }) => name)).toEqual(["search", "execute"]);
  });
});

describe("the answer of a search", () => {
  const api = createProgramApi(collectedTools.slice(0, 50));
  const finder = (found: readonly ToolInfo[]) => ({
    searchTools: async (_query: string, { limit }: { limit: number }) => found.slice(0, limit),
  });

  test("declares what was found, without tools that programs do not have", async () => {
    const found = [collectedTools[400]!, ...collectedTools.slice(0, 8)];
    const text = await describeTools(api, finder(found), { query: "records", limit: 2 });
    expect(text.match(/Promise</g)).toHaveLength(2);
  });

  test("adds the functions that the query names", async () => {
    const server = api.servers[0]!;
    const { member } = server.tools.at(-1)!;
    const query = `tools.${server.member}.${member}`;
    expect(await describeTools(api, finder([]), { query, limit: 1 })).toContain(`\n${member}(`);
  });

  test("lists what exists if nothing was found, in bounded length", async () => {
    const text = await describeTools(createProgramApi(manyTools(300, 30)), finder([]), {
      query: "x",
      limit: 5,
    });
    expect(text).toMatch(/^Nothing found\./);
    expect(text).toContain("aServerWithARatherLongName0: doThing0");
    expect(text.length).toBeLessThan(3_000);
  });
});

describe("the result for the model", () => {
  const call = (tool: string, more: Partial<CodeCall> = {}): CodeCall => ({
    tool,
    ok: true,
    durationMs: 1,
    ...more,
  });

  test("is JSON with the value, the lines of the console and the calls", () => {
    const calls = [
      call("a__x"),
      call("a__x"),
      call("b__y", { ok: false, code: "TIMEOUT", outcome: "unknown" }),
    ];
    const result = toModelResult({ value: { sum: 3 }, logs: ["one"], calls, cpuMs: 2 });
    expect(result.isError).toBe(false);
    expect(JSON.parse(result.text)).toEqual({
      value: { sum: 3 },
      logs: ["one"],
      calls: { a__x: 2, b__y: 1 },
      failed: [{ tool: "b__y", code: "TIMEOUT", outcome: "unknown" }],
    });
    expect(result.structuredContent).toEqual(JSON.parse(result.text));
  });

  test("says null for a program that returns nothing", () => {
    expect(toModelResult({ value: undefined, logs: [], calls: [], cpuMs: 0 }).text).toBe(
      '{"value":null,"calls":{}}',
    );
  });

  test("is the message of a program that failed, with the lines of the console", () => {
    const error = { code: "THROWN", message: "TypeError, line 2: x is undefined." } as const;
    const result = toModelResult({ error, logs: ["before"], calls: [], cpuMs: 1 });
    expect(result).toMatchObject({
      isError: true,
      text: "TypeError, line 2: x is undefined.\nConsole:\nbefore",
      structuredContent: undefined,
      _meta: { "toolport/code": { error } },
    });
  });
});

test.each([
  ["return 1", "return 1"],
  ["```ts\nreturn 1\n```", "return 1"],
  ["\n```\nreturn `a`\n```\n", "return `a`"],
  ["", undefined],
  [7, undefined],
])("reads the program of %j", (code, program) => {
  expect(readProgram({ code })).toBe(program);
});
