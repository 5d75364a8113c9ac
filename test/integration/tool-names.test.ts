/** Names and filters of tools: valid, unique and stable while servers are added and removed. */
import { createToolport, type ToolportOptions } from "toolport";
import { createTestServer, type TestServer, type TestTool } from "toolport/testing";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { failure } from "../support/failure.js";

const LONG = `list_${"every_single_thing_".repeat(7)}`.slice(0, 128);
const DOTTED = "repo.issues.list";
const EMOJI = "🚀launch";

const named = (...names: string[]): Record<string, TestTool> =>
  Object.fromEntries(
    names.map((name) => [name, { description: `Does ${name}`, handler: () => `${name} ran` }]),
  );

/** The documented name rules of OpenAI, Anthropic and Gemini (functions). */
const PROVIDERS = [/^[a-zA-Z0-9_-]{1,64}$/, /^[a-zA-Z0-9_-]{1,128}$/, /^[a-zA-Z_][a-zA-Z0-9_.:-]{0,63}$/];

let alpha: TestServer;
let beta: TestServer;
beforeAll(() => {
  alpha = createTestServer({ tools: named("search", "read", LONG, DOTTED, EMOJI, "call_tool") });
  beta = createTestServer({
    tools: named("search", "Search", "write", "ｓｅａｒｃｈ", "repo_issues_list", LONG),
  });
});
afterAll(() => Promise.all([alpha.close(), beta.close()]));

const port = (options: ToolportOptions = {}) =>
  createToolport({ mcpServers: { alpha: alpha.memory(), beta: beta.memory() }, ...options });

/** `server/tool` of the offered tools, sorted. */
async function offered(options: ToolportOptions): Promise<string[]> {
  await using toolport = port(options);
  return (await toolport.tools()).map(({ server, sourceName }) => `${server}/${sourceName}`).sort();
}

const NAMING: [string, ToolportOptions][] = [
  ["by default", {}],
  ["without a prefix", { prefix: false }],
  ["with a prefix of the program", { additionalToolNamePrefix: "acme" }],
  ["with a prefix that no provider accepts", { additionalToolNamePrefix: "9 läuft.", prefix: false }],
  ["with a mapper", { toolNameMapper: (server, tool) => `${tool.name}.of.${server.name}` }],
  ["with a mapper that names all alike", { toolNameMapper: () => "tool" }],
  ["with a mapper that throws", { toolNameMapper: (_server, tool) => tool.name.at(-1)!.repeat(-1) }],
  [
    "with a mapper of specifications",
    { toolSpecificationMapper: (_server, tool) => ({ ...tool, title: "T" }) },
  ],
  [
    "with a mapper of specifications that renames",
    { toolSpecificationMapper: (_server, tool) => ({ ...tool, name: `${tool.name}!` }) },
  ],
];

describe.each(NAMING)("names %s", (_case, options) => {
  test("are valid for every provider, unique, and call their tools", async () => {
    await using toolport = port(options);
    const tools = await toolport.tools();
    expect(tools).toHaveLength(12);
    for (const { name } of tools) for (const provider of PROVIDERS) expect(name).toMatch(provider);
    const folded = tools.map(({ name }) => name.normalize("NFKC").toLowerCase());
    expect(new Set(folded).size).toBe(12);
    for (const { name, server, sourceName } of tools) {
      expect(await toolport.callTool(name)).toMatchObject({ text: `${sourceName} ran`, server });
    }
  });

  test("do not change when a server is added, and stay the same after a reconnect", async () => {
    await using gamma = createTestServer({
      tools: named("search", "read", LONG, DOTTED, EMOJI, "alpha__read"),
    });
    await using toolport = port(options);
    const namesOf = async () =>
      Object.fromEntries(
        (await toolport.tools()).map(({ server, sourceName, name }) => [`${server}/${sourceName}`, name]),
      );
    const before = await namesOf();
    await toolport.add("gamma", gamma.memory());
    const during = await namesOf();
    expect(Object.keys(during)).toHaveLength(18);
    expect(during).toMatchObject(before);
    await toolport.remove("alpha");
    const without = await namesOf();
    expect(Object.keys(without)).toHaveLength(12);
    for (const [tool, name] of Object.entries(without)) expect(name).toBe(during[tool]);
    await toolport.add("alpha", alpha.memory());
    expect(await namesOf()).toEqual(during);
  });

  test("are the same in the next process", async () => {
    const names = async () => {
      await using toolport = port(options);
      return (await toolport.tools()).map(({ name }) => name);
    };
    expect(await names()).toEqual(await names());
  });
});

test("simple names stay simple", async () => {
  await using toolport = port();
  const names = new Map(
    (await toolport.tools()).map(({ server, sourceName, name }) => [`${server}/${sourceName}`, name]),
  );
  expect(names.get("alpha/search")).toBe("alpha__search");
  expect(names.get("beta/search")).not.toBe(names.get("beta/Search"));
  expect(names.get("alpha/call_tool")).toBe("alpha__call_tool");
  expect(names.get(`alpha/${LONG}`)).toMatch(/^alpha__list_every_single_thing_/);
  await using bare = port({ prefix: false });
  const tools = await bare.tools();
  const nameOf = (server: string, tool: string) =>
    tools.find(({ server: name, sourceName }) => name === server && sourceName === tool)?.name;
  expect(nameOf("alpha", "search")).toBe("search");
  expect(nameOf("beta", "search")).toMatch(/^search_.+/);
  expect(nameOf("alpha", "call_tool")).not.toBe("call_tool");
  const kinds = bare.snapshot().nameIssues.map(({ kind }) => kind);
  expect(new Set(kinds)).toEqual(new Set(["invalid", "reserved", "collision", "look-alike"]));
});

test("a specification mapper that keeps the names does not change them", async () => {
  await using plain = port({ additionalToolNamePrefix: "some_rather_long_prefix_of_a_program" });
  await using mapped = port({
    additionalToolNamePrefix: "some_rather_long_prefix_of_a_program",
    toolSpecificationMapper: (_server, tool) => ({ ...tool, description: "Another one" }),
  });
  const tools = await mapped.tools();
  expect(tools.map(({ name }) => name)).toEqual((await plain.tools()).map(({ name }) => name));
  expect(tools.every(({ description }) => description === "Another one")).toBe(true);
});

const ALL = [
  ...["search", "read", LONG, DOTTED, EMOJI, "call_tool"].map((name) => `alpha/${name}`),
  ...["search", "Search", "write", "ｓｅａｒｃｈ", "repo_issues_list", LONG].map((name) => `beta/${name}`),
];
const of = (...tools: string[]) => tools.sort();

test.each<[string, ToolportOptions, string[]]>([
  ["only, exact", { only: ["search"] }, of("alpha/search", "beta/search")],
  ["only, glob", { only: ["re*"] }, of("alpha/read", `alpha/${DOTTED}`, "beta/repo_issues_list")],
  ["only, of one server", { only: ["beta__search", "alpha.read"] }, of("beta/search", "alpha/read")],
  ["except", { except: ["*e*"] }, of(`alpha/${EMOJI}`, "alpha/call_tool", "beta/ｓｅａｒｃｈ")],
  [
    "only and except",
    { only: ["alpha__*"], except: ["?ea*"] },
    of(`alpha/${LONG}`, `alpha/${DOTTED}`, `alpha/${EMOJI}`, "alpha/call_tool"),
  ],
  ["filter", { filter: (server, tool) => server.name === "beta" && tool.name === "write" }, ["beta/write"]],
  [
    "all of them together",
    { only: ["search", "read"], except: ["beta__*"], filter: (_, { name }) => name !== "read" },
    ["alpha/search"],
  ],
  ["nothing", { only: [] }, []],
  ["everything", { only: ["*"] }, [...ALL].sort()],
])("filters: %s", async (_case, options, expected) => {
  expect(await offered(options)).toEqual(expected);
});

test("filters of a server and of the port must both agree", async () => {
  const mcpServers = {
    alpha: { ...alpha.memory(), only: ["search", "read"] },
    beta: {
      ...beta.memory(),
      except: ["search"],
      filter: (_server: unknown, tool: { name: string }) => tool.name !== LONG,
    },
  };
  expect(await offered({ mcpServers, except: ["read", "Search", "ｓｅａｒｃｈ"] })).toEqual(
    of("alpha/search", "beta/repo_issues_list", "beta/write"),
  );
});

test("filters are added, replaced and reset at run time without a request; names stay", async () => {
  await using toolport = port({ except: ["read"] });
  const tools = async () =>
    (await toolport.tools()).map(({ server, sourceName }) => `${server}/${sourceName}`);
  const all = await toolport.tools();
  toolport.addFilter({ only: ["search", "write"] });
  expect(await tools()).toEqual(["alpha/search", "beta/search", "beta/write"]);
  toolport.addFilter((server) => server.name === "beta");
  expect(await tools()).toEqual(["beta/search", "beta/write"]);
  await expect(toolport.callTool("alpha__search")).rejects.toMatchObject({ code: "TOOL_WITHHELD" });
  toolport.setFilters([{ only: ["read", "call_tool"] }]);
  expect(await tools()).toEqual(["alpha/call_tool"]);
  toolport.resetFilters();
  expect(await toolport.tools()).toEqual(all);
  expect(await toolport.tools({ servers: ["beta"], only: ["beta__write", "search"] })).toMatchObject([
    { sourceName: "search" },
    { sourceName: "write" },
  ]);
});

test("a filter that throws withholds the tool, with a warning", async () => {
  await using toolport = port({
    filter: (_server, tool) => {
      if (tool.name === "read") throw new Error("broken filter");
      return true;
    },
  });
  expect(await toolport.tools()).toHaveLength(11);
  expect(toolport.snapshot().withheldTools).toMatchObject([
    { server: "alpha", name: "read", reason: expect.stringContaining("broken filter") },
  ]);
});

test("required tools that are missing fail connect() with their names", async () => {
  await using toolport = port({ requiredTools: ["alpha__search", "beta.write", "alpha__fly", "nowhere"] });
  expect(await failure(toolport.connect())).toMatchObject({
    code: "REQUIRED_TOOLS_MISSING",
    missing: ["alpha__fly", "nowhere"],
  });
  await using content = port({ requiredTools: ["alpha__search", "beta.write", "read"] });
  await content.connect();
});

test("all fields of a tool are kept, annotations separately", async () => {
  await using server = createTestServer({
    tools: {
      full: {
        title: "Title",
        description: "Description",
        annotations: { title: "Annotation title", readOnlyHint: true },
        icons: [{ src: "https://example.com/icon.png" }],
        _meta: { "example/key": 1 },
        outputSchema: { type: "object" },
        handler: () => ({ structuredContent: {} }),
      },
    },
  });
  await using toolport = createToolport({ mcpServers: { s: server.memory() } });
  expect(await toolport.tools()).toMatchObject([
    {
      name: "s__full",
      title: "Title",
      annotations: { title: "Annotation title", readOnlyHint: true },
      icons: [{ src: "https://example.com/icon.png" }],
      _meta: { "example/key": 1 },
      outputSchema: { type: "object" },
    },
  ]);
});
