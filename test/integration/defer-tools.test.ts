/** Hundreds of tools, two definitions: a model searches for what it needs and calls it by name. */
import { createToolport, type Toolport, type ToolportOptions, type ToolResult } from "toolport";
import { createTestServer, type TestServer, type TestTool } from "toolport/testing";
import { afterAll, beforeAll, describe, expect, test } from "vitest";

const SERVERS = ["crm", "git", "mail", "calendar", "files", "billing", "weather", "music", "maps", "tickets"];
const VERBS = ["list", "get", "create", "update", "delete"];
const THINGS = [
  "account",
  "branch",
  "draft",
  "event",
  "folder",
  "invoice",
  "alert",
  "playlist",
  "route",
  "label",
];

const routine = (server: string, verb: string, thing: string): TestTool => ({
  title: `${verb} ${thing}`,
  description: `Lets you ${verb} one ${thing} or several of them in ${server}, as far as the account that is signed in may.`,
  inputSchema: {
    type: "object",
    properties: {
      [`${thing}Id`]: { type: "string", description: `Identifier of the ${thing}` },
      limit: { type: "integer", minimum: 1, maximum: 100, description: "How many at most" },
      verbose: { type: "boolean", default: false, description: "Return every field" },
    },
    required: [`${thing}Id`],
  },
  handler: (args) => `${server}: ${verb} ${JSON.stringify(args)}`,
});

/** Fifty tools for each of ten servers; the agent needs one of them. */
function toolsOf(server: string): Record<string, TestTool> {
  const tools = Object.fromEntries(
    VERBS.flatMap((verb) => THINGS.map((thing) => [`${verb}_${thing}`, routine(server, verb, thing)])),
  );
  if (server !== "weather") return tools;
  const { delete_label: _, ...rest } = tools;
  return {
    ...rest,
    forecast: {
      description: "Temperature, rain and wind of the coming days at a place.",
      inputSchema: { type: "object", properties: { city: { type: "string" } }, required: ["city"] },
      handler: ({ city }) => `Sunny in ${city}`,
    },
  };
}

const servers = new Map<string, TestServer>();
beforeAll(() => {
  for (const name of SERVERS) servers.set(name, createTestServer({ tools: toolsOf(name) }));
});
afterAll(() => Promise.all([...servers.values()].map((server) => server.close())));

const port = (options: ToolportOptions = {}): Toolport =>
  createToolport({
    mcpServers: Object.fromEntries([...servers].map(([name, server]) => [name, server.memory()])),
    ...options,
  });

/** The tool definitions that a model gets. */
const definitions = async (toolport: Toolport): Promise<string> =>
  JSON.stringify(
    (await toolport.tools()).map(({ name, description, inputSchema }) => ({
      name,
      description,
      inputSchema,
    })),
  );

describe("500 tools of ten servers", () => {
  test("the definitions for the model shrink by more than nine tenths", async () => {
    await using whole = port();
    await using deferred = port({ deferTools: true });
    const [all, few] = [await definitions(whole), await definitions(deferred)];
    expect(await whole.tools()).toHaveLength(500);
    expect((await deferred.tools()).map(({ name }) => name)).toEqual(["search_tools", "call_tool"]);
    expect(await deferred.tools({ all: true })).toHaveLength(500);
    const saved = 1 - few.length / all.length;
    expect(saved).toBeGreaterThanOrEqual(0.9);
    expect(all.length).toBeGreaterThan(100_000);
    expect(few.length).toBeLessThan(2_000);
  });

  test("a scripted agent finds the right tool and calls it, and reads less than one tenth in all", async () => {
    await using toolport = port({ deferTools: true });
    await using whole = port();
    let read = (await definitions(toolport)).length;
    const answer = await runAgent(
      toolport,
      "What will the weather be like in Oslo? Will it rain?",
      (result) => {
        read += result.text.length;
      },
    );
    expect(answer).toBe("Sunny in Oslo");
    expect(read).toBeLessThan((await definitions(whole)).length / 10);
    expect(servers.get("weather")?.calls.at(-1)).toMatchObject({ name: "forecast", args: { city: "Oslo" } });
  });

  test.each([
    ["forecast", "weather__forecast"],
    ["delete an invoice in billing", "billing__delete_invoice"],
    ["update git branch", "git__update_branch"],
    ["create a calendar event", "calendar__create_event"],
    ["rain", "weather__forecast"],
    ["playlistId music list", "music__list_playlist"],
  ])("searchTools finds what %j means", async (query, name) => {
    await using toolport = port();
    const found = await toolport.searchTools(query, { limit: 3 });
    expect(found.length).toBeLessThanOrEqual(3);
    expect(found[0]?.name).toBe(name);
  });
});

/** A minimal model: it knows only the two tools, searches with the words of the user, and fills in the required arguments. */
async function runAgent(
  toolport: Toolport,
  question: string,
  onResult: (result: ToolResult) => void,
): Promise<string> {
  const known = (await toolport.tools()).map(({ name }) => name);
  expect(known).toContain("search_tools");
  const found = await toolport.callTool("search_tools", { query: question });
  onResult(found);
  const { tools } = JSON.parse(found.text) as {
    tools: { name: string; inputSchema: { properties: Record<string, unknown> } }[];
  };
  const [best] = tools;
  expect(Object.keys(best!.inputSchema.properties)).toEqual(["city"]);
  const called = await toolport.callTool("call_tool", { name: best!.name, arguments: { city: "Oslo" } });
  onResult(called);
  return called.text;
}

test("always visible tools are listed beside the two", async () => {
  await using toolport = port({ deferTools: { alwaysVisible: ["weather__forecast", "get_inv*"] } });
  const names = (await toolport.tools()).map(({ name }) => name);
  expect(names.slice(0, 2)).toEqual(["search_tools", "call_tool"]);
  expect(names).toContain("weather__forecast");
  expect(names).toHaveLength(2 + 1 + SERVERS.length);
  expect((await toolport.callTool("weather__forecast", { city: "Bergen" })).text).toBe("Sunny in Bergen");
});

test("a call through call_tool is validated, approved, observed and filtered like any other", async () => {
  const reported: (string | undefined)[] = [];
  await using toolport = port({
    deferTools: true,
    except: ["music__*"],
    approve: ({ tool }) => tool.sourceName !== "delete_account",
    listeners: [{ after: ({ name, context }) => reported.push(`${name} for ${context}`) }],
  });
  const call = (name: string, args: object) =>
    toolport.callTool("call_tool", { name, arguments: args }, { context: "ada" });
  const result = await call("crm__get_account", { accountId: "7" });
  expect(result).toMatchObject({ text: 'crm: get {"accountId":"7"}', server: "crm" });
  expect(await call("crm__get_account", {})).toMatchObject({
    isError: true,
    text: expect.stringContaining("INVALID_ARGUMENTS"),
  });
  await expect(call("crm__delete_account", { accountId: "7" })).rejects.toMatchObject({ code: "REFUSED" });
  expect(await call("music__list_playlist", { playlistId: "1" })).toMatchObject({
    isError: true,
    text: expect.stringContaining("TOOL_WITHHELD"),
  });
  expect(reported).toEqual([
    "crm__get_account for ada",
    "crm__get_account for ada",
    "crm__delete_account for ada",
  ]);
  const { text } = await toolport.callTool("search_tools", { query: "music playlist", limit: 20 });
  expect(text).not.toContain("music__");
});

test("a mistake of the model is reported to the model", async () => {
  await using toolport = port({ deferTools: true });
  expect(await toolport.callTool("call_tool", { arguments: {} })).toMatchObject({ isError: true });
  expect(await toolport.callTool("call_tool", { name: "x", arguments: [1] })).toMatchObject({
    isError: true,
  });
  const nothing = await toolport.callTool("search_tools", { query: "zzzz qqqq" });
  expect(JSON.parse(nothing.text)).toMatchObject({ tools: [], hint: expect.any(String) });
});

test("without deferTools the two names are free", async () => {
  await using toolport = port();
  await expect(toolport.callTool("search_tools", { query: "x" })).rejects.toMatchObject({
    code: "TOOL_NOT_FOUND",
  });
});
