/** Tools are deferred by choice: for the whole port, by the size of their definitions, for a server, for single tools. */
import { ConfigError, createToolport, type ServerEntry, type ToolportOptions } from "toolport";
import { createTestServer, type TestServer, type TestTool } from "toolport/testing";
import { afterAll, describe, expect, test } from "vitest";

const opened: TestServer[] = [];
afterAll(() => Promise.all(opened.map((server) => server.close())));

/** A server whose tools have definitions of about this many bytes. */
function server(count: number, bytes = 2_000, _meta?: Record<string, unknown>): TestServer {
  const tool = (index: number): TestTool => ({
    description: `Number ${index}. `.padEnd(bytes - 100, "word "),
    inputSchema: { type: "object", properties: { city: { type: "string" } } },
    ...(index === 0 && _meta && { _meta }),
    handler: () => `done ${index}`,
  });
  const tools = Object.fromEntries(
    Array.from({ length: count }, (_, index) => [`tool_${index}`, tool(index)]),
  );
  const made = createTestServer({ tools });
  opened.push(made);
  return made;
}

const port = (
  servers: Record<string, { server: TestServer } & Pick<ServerEntry, "defer" | "trustAnnotations">>,
  options: ToolportOptions = {},
) =>
  createToolport({
    mcpServers: Object.fromEntries(
      Object.entries(servers).map(([name, { server: made, ...entry }]) => [
        name,
        { ...made.memory(), ...entry },
      ]),
    ),
    ...options,
  });

const names = (tools: readonly { name: string }[]) => tools.map(({ name }) => name);
const SEARCH = ["search_tools", "call_tool"];

describe('deferTools: { mode: "auto" }', () => {
  const auto = { deferTools: { mode: "auto" } } as const;

  test("defers what is large, and offers the search only then", async () => {
    await using large = port({ a: { server: server(30) } }, auto);
    await using small = port({ a: { server: server(30, 200) } }, auto);
    expect(names(await large.tools())).toEqual(SEARCH);
    expect(await large.tools({ deferred: true })).toHaveLength(30);
    expect(await small.tools()).toHaveLength(30);
    expect(await small.tools({ deferred: true })).toEqual([]);
    expect((await large.callTool("a__tool_7", {})).text).toBe("done 7");
  });

  test("never defers fewer than 10 tools, however large", async () => {
    await using nine = port({ a: { server: server(9, 20_000) } }, auto);
    await using ten = port({ a: { server: server(10, 20_000) } }, auto);
    expect(await nine.tools()).toHaveLength(9);
    expect(names(await ten.tools())).toEqual(SEARCH);
  });

  test("counts with the limit that was given, and only tools that it could defer", async () => {
    const made = server(20, 400);
    await using low = port({ a: { server: made } }, { deferTools: { mode: "auto", above: 100 } });
    await using visible = port(
      { a: { server: made } },
      { deferTools: { mode: "auto", above: 100, alwaysVisible: ["tool_?", "a__tool_10"] } },
    );
    expect(names(await low.tools())).toEqual(SEARCH);
    expect(await visible.tools()).toHaveLength(20);
  });

  test("decides anew when a server is added", async () => {
    await using toolport = port({ a: { server: server(9) } }, auto);
    expect(await toolport.tools()).toHaveLength(9);
    await toolport.add("b", server(30).memory());
    expect(names(await toolport.tools())).toEqual(SEARCH);
    await toolport.remove("b");
    expect(await toolport.tools()).toHaveLength(9);
  });
});

describe("defer of a server", () => {
  test("takes precedence over the option of the port, in both directions", async () => {
    const [a, b] = [server(3), server(3)];
    await using some = port({ a: { server: a, defer: true }, b: { server: b } });
    await using others = port({ a: { server: a }, b: { server: b, defer: false } }, { deferTools: true });
    await using none = port({ a: { server: a, defer: false } }, { deferTools: { mode: "auto", above: 0 } });
    const shown = [...SEARCH, "b__tool_0", "b__tool_1", "b__tool_2"];
    expect(names(await some.tools())).toEqual(shown);
    expect(names(await others.tools())).toEqual(shown);
    expect(await none.tools()).toHaveLength(3);
    const [search] = await some.tools();
    expect(search?.description).toContain("come from: a.");
    expect(names(await some.tools({ servers: ["b"] }))).toEqual(shown.slice(2));
    const found = await some.callTool("search_tools", { query: "a__tool_1", limit: 1 });
    expect(found.text).toContain('"name":"a__tool_1"');
    expect((await some.callTool("call_tool", { name: "a__tool_1", arguments: {} })).text).toBe("done 1");
  });

  test("a server may ask that a tool is always visible, if its annotations are trusted", async () => {
    const _meta = { "anthropic/alwaysLoad": true };
    await using trusted = port(
      { a: { server: server(2, 300, _meta), trustAnnotations: true } },
      { deferTools: true },
    );
    await using foreign = port({ a: { server: server(2, 300, _meta) } }, { deferTools: true });
    expect(names(await trusted.tools())).toEqual([...SEARCH, "a__tool_0"]);
    expect(names(await foreign.tools())).toEqual(SEARCH);
  });
});

test("without deferral there is no search to call", async () => {
  await using toolport = port({ a: { server: server(2) } }, { deferTools: { mode: "never" } });
  expect(await toolport.tools()).toHaveLength(2);
  await expect(toolport.callTool("search_tools", { query: "x" })).rejects.toMatchObject({
    code: "TOOL_NOT_FOUND",
  });
});

test.each([
  [{ mode: "sometimes" }, "deferTools.mode"],
  [{ above: -1 }, "deferTools.above"],
  [{ alwaysVisible: "files__*" }, "deferTools.alwaysVisible"],
  [{ visible: [] }, "deferTools.visible"],
  ["auto", "deferTools"],
])("rejects deferTools: %j", (deferTools, path) => {
  const make = () => createToolport({ deferTools: deferTools as never });
  expect(make).toThrow(ConfigError);
  expect(make).toThrow(path);
});

describe("cost()", () => {
  test("adds up the definitions by tool and server, and tells what is shown", async () => {
    await using toolport = port({
      a: { server: server(3, 1_000) },
      b: { server: server(2, 250), defer: true },
    });
    const cost = await toolport.cost();
    const { a, b, toolport: own } = cost.servers;
    expect(cost.estimated).toBe(true);
    expect(cost.tools.map(({ server: of, deferred }) => [of, deferred])).toEqual([
      ["a", false],
      ["a", false],
      ["a", false],
      ["toolport", false],
      ["toolport", false],
      ["b", true],
      ["b", true],
    ]);
    expect(cost.tokens).toBe(a!.tokens + b!.tokens + own!.tokens);
    expect(cost.shown).toBe(a!.tokens + own!.tokens);
    expect(b).toMatchObject({ tools: 2, shown: 0 });
    const [first] = cost.tools;
    const info = (await toolport.tools({ all: true })).find(({ name }) => name === first!.name)!;
    const { name, description, inputSchema } = info;
    const text = JSON.stringify({ name, description, inputSchema });
    expect(first).toMatchObject({ bytes: text.length, tokens: Math.ceil(text.length / 4.35) });
  });

  test("counts exactly if it is given a counter, a few tools at a time", async () => {
    await using toolport = port({ a: { server: server(30, 300) } });
    let [running, most] = [0, 0];
    const cost = await toolport.cost({
      count: async (definition, { name }) => {
        most = Math.max(most, ++running);
        await Promise.resolve();
        running -= 1;
        expect(JSON.parse(definition)).toMatchObject({ name });
        return 7;
      },
    });
    expect(cost).toMatchObject({ tokens: 210, shown: 210, estimated: false });
    expect(most).toBeLessThanOrEqual(8);
  });

  test("passes on what the counter throws, and refuses what is no number", async () => {
    await using toolport = port({ a: { server: server(2) } });
    const failing = toolport.cost({ count: () => Promise.reject(new Error("quota")) });
    await expect(failing).rejects.toThrow("quota");
    const odd = toolport.cost({ count: () => Number.NaN });
    await expect(odd).rejects.toThrow(/count returned NaN for the tool "a__tool_0"/);
    const wrong = toolport.cost({ count: "o200k" as never });
    await expect(wrong).rejects.toThrow(/count: must be a function/);
  });
});
