import type { ToolInfo } from "@toolport/base";
import { describe, expect, test } from "vitest";
import { RESERVED_NAMES } from "../names/assign-names.js";
import {
  CALL_TOOL_NAME,
  deferredTools,
  readCallArguments,
  readSearchArguments,
  SEARCH_TOOLS_NAME,
} from "./deferred-tools.js";
import { createSearchIndex, searchAnswer } from "./search-index.js";

const bytes = (value: unknown) => Buffer.byteLength(JSON.stringify(value));

/** Ten servers with fifty tools each, with descriptions of realistic length. */
const TOOLS: ToolInfo[] = [
  "github",
  "jira",
  "slack",
  "files",
  "mail",
  "calendar",
  "crm",
  "billing",
  "wiki",
  "metrics",
].flatMap((server) =>
  ["create", "list", "get", "update", "delete"].flatMap((verb) =>
    ["item", "comment", "user", "label", "report", "event", "file", "rule", "view", "token"].map((noun) => ({
      name: `${server}__${verb}_${noun}`,
      server,
      sourceName: `${verb}_${noun}`,
      description: `${verb} a ${noun} in ${server}. Returns the ${noun} with all of its fields, or an error if it is not there.`,
      inputSchema: {
        type: "object",
        properties: {
          id: { type: "string", description: `The ${noun}'s id` },
          fields: { type: "array", items: { type: "string" }, description: "Fields to return" },
        },
        required: ["id"],
      },
    })),
  ),
);

test("their names are reserved", () => {
  expect(RESERVED_NAMES).toEqual(expect.arrayContaining([SEARCH_TOOLS_NAME, CALL_TOOL_NAME]));
  expect(deferredTools().map(({ name }) => name)).toEqual([SEARCH_TOOLS_NAME, CALL_TOOL_NAME]);
});

test("saves at least 90 % of the bytes of 500 tools, even after a search", () => {
  const whole = bytes(
    TOOLS.map(({ name, description, inputSchema }) => ({ name, description, inputSchema })),
  );
  const deferred = bytes(deferredTools([...new Set(TOOLS.map(({ server }) => server))]));
  const { query, limit } = readSearchArguments({ query: "delete a comment in slack" });
  const matches = createSearchIndex(TOOLS).search(query, { limit });
  const answer = searchAnswer(matches);
  expect(TOOLS).toHaveLength(500);
  expect(matches[0]?.tool.name).toBe("slack__delete_comment");
  expect(1 - deferred / whole).toBeGreaterThan(0.99);
  expect(1 - (deferred + Buffer.byteLength(answer)) / whole).toBeGreaterThan(0.9);
});

test("the description names a limited number of servers", () => {
  expect(deferredTools()[0].description).not.toContain("come from");
  expect(deferredTools(["files", "mail"])[0].description).toContain("The tools come from: files, mail.");
  const many = Array.from({ length: 100 }, (_, index) => `server${index}`);
  expect(deferredTools(many)[0].description).toContain("server49 and others.");
});

test.each([
  [{ query: "x" }, { query: "x", limit: 5 }],
  [
    { query: "x", limit: 3 },
    { query: "x", limit: 3 },
  ],
  [
    { query: "x", limit: 0 },
    { query: "x", limit: 1 },
  ],
  [
    { query: "x", limit: 1_000 },
    { query: "x", limit: 20 },
  ],
  [
    { query: "x", limit: "7" },
    { query: "x", limit: 5 },
  ],
  [{ query: 42 }, { query: "", limit: 5 }],
  [{}, { query: "", limit: 5 }],
])("search_tools(%j) means %j", (args, expected) => {
  expect(readSearchArguments(args)).toEqual(expected);
});

test.each([
  [
    { name: "t", arguments: { a: 1 } },
    { name: "t", args: { a: 1 } },
  ],
  [{ name: "t" }, { name: "t", args: {} }],
  [
    { name: "t", arguments: null },
    { name: "t", args: {} },
  ],
  [
    { name: "t", arguments: '{"a":1}' },
    { name: "t", args: { a: 1 } },
  ],
  [
    { name: "t", arguments: "" },
    { name: "t", args: {} },
  ],
  [{ name: "t", arguments: "{" }, { problem: "arguments must be an object" }],
  [{ name: "t", arguments: "[1]" }, { problem: "arguments must be an object" }],
  [{ name: "t", arguments: [1] }, { problem: "arguments must be an object" }],
  [{ name: "", arguments: {} }, { problem: "name must be the name of a tool" }],
  [{ arguments: {} }, { problem: "name must be the name of a tool" }],
])("call_tool(%j) means %j", (args, expected) => {
  expect(readCallArguments(args)).toEqual(expected);
});

describe("the result of search_tools", () => {
  const match = (name: string, extra: Partial<ToolInfo> = {}, isNamed = false) => ({
    score: 1,
    isNamed,
    tool: { name, server: "s", sourceName: name, inputSchema: { type: "object" }, ...extra },
  });

  test("is compact JSON with only the fields that a model needs", () => {
    const answer = searchAnswer([
      match("a", { title: "A", description: "Does a", _meta: { secret: 1 } }),
      match("b"),
    ]);
    expect(answer).toBe(
      '{"tools":[{"name":"a","title":"A","description":"Does a","inputSchema":{"type":"object"}},' +
        '{"name":"b","inputSchema":{"type":"object"}}]}',
    );
  });

  test("says so if nothing was found", () => {
    expect(JSON.parse(searchAnswer([]))).toEqual({ tools: [], hint: "Nothing found. Try other words." });
  });

  test("is limited in size: the first match is complete, the rest are only named", () => {
    const huge = { inputSchema: { enum: ["x".repeat(40_000)] }, description: "y".repeat(1_000) };
    const answer = searchAnswer([match("a", huge), match("b", huge), match("c", huge)]);
    const { tools, hint } = JSON.parse(answer);
    expect(tools.map((tool: object) => "inputSchema" in tool)).toEqual([true, false, false]);
    expect(tools[1].description).toHaveLength(200);
    expect(hint).toContain("inputSchema");
    expect(answer.length).toBeLessThan(45_000);
  });

  const large = { inputSchema: { type: "object", description: "x".repeat(4_000) } };
  const complete = (answer: string) =>
    JSON.parse(answer)
      .tools.filter((tool: object) => "inputSchema" in tool)
      .map(({ name }: { name: string }) => name);

  test("has the schemas of tools that the query names, even if it gets long", () => {
    const named = ["a", "b", "c", "d"].map((name) => match(name, large, true));
    expect(complete(searchAnswer([...named, match("e", large)]))).toEqual(["a", "b", "c", "d"]);
  });

  test("has the schema of a small match after a large one that did not fit", () => {
    expect(complete(searchAnswer([match("a", large), match("b", large), match("c")]))).toEqual(["a", "c"]);
  });

  test("leaves out what says nothing to a model, and changes no listed tool", () => {
    const tool = match("a", {
      description: "\n    Does a.\n\n\n    Really.  \n",
      inputSchema: {
        $schema: "http://json-schema.org/draft-07/schema#",
        type: "object",
        properties: { kind: { type: "string", enum: ["x", "y"] } },
      },
    });
    const before = structuredClone(tool);
    expect(JSON.parse(searchAnswer([tool])).tools).toEqual([
      {
        name: "a",
        description: "Does a.\n\nReally.",
        inputSchema: { type: "object", properties: { kind: { enum: ["x", "y"] } } },
      },
    ]);
    expect(tool).toEqual(before);
  });
});
