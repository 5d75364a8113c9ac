import type { ToolInfo } from "@toolport/base";
import { describe, expect, test } from "vitest";
import { cpuTimeMs } from "../../../../../test/support/cpu-time.js";
import { createSearchIndex, searchWords, stem } from "./search-index.js";

const tool = (
  server: string,
  sourceName: string,
  description = "",
  parameters: Record<string, string> = {},
): ToolInfo => ({
  name: `${server}__${sourceName}`,
  server,
  sourceName,
  description,
  inputSchema: {
    type: "object",
    properties: Object.fromEntries(
      Object.entries(parameters).map(([name, text]) => [name, { type: "string", description: text }]),
    ),
  },
});

test.each([
  ["getHTTPResponse", ["gethttprespons", "get", "http", "respons"]],
  ["list_open-issues", ["list", "open", "issu"]],
  ["GitHub", ["github", "git", "hub"]],
  ["OAuth2 v3", ["oauth2", "o", "auth", "2", "v3", "v", "3"]],
  ["天气查", ["天", "天气", "气", "气查", "查"]],
  ["Überprüfen", ["überprüfen"]],
  ["", []],
  ["!?", []],
])("the words of %j", (text, expected) => {
  expect(searchWords(text)).toEqual(expected);
});

test.each([
  ["file", "files"],
  ["query", "queries"],
  ["create", "created"],
  ["create", "creating"],
  ["search", "searching"],
  ["search", "searches"],
  ["run", "running"],
  ["stop", "stopped"],
  ["box", "boxes"],
  ["delete", "deletes"],
])("%s and %s have the same stem", (one, other) => {
  expect(stem(other)).toBe(stem(one));
});

test.each(["address", "status", "is", "as", "red", "ring"])("does not shorten %s too much", (word) => {
  expect(word.startsWith(stem(word))).toBe(true);
  expect(stem(word).length).toBeGreaterThanOrEqual(Math.min(word.length, 2));
});

describe("searching", () => {
  const tools = [
    tool("github", "create_issue", "Open a new issue in a repository", { title: "Title of the issue" }),
    tool("github", "list_issues", "List the issues of a repository", { state: "open or closed" }),
    tool("github", "create_pull_request", "Open a pull request", { head: "Branch with the changes" }),
    tool("files", "read_file", "Read the text of a file", { path: "Where the file is" }),
    tool("files", "write_file", "Write text to a file", { path: "Where the file is", text: "What to write" }),
    tool("mail", "send", "Deliver an email to a person", {
      recipient: "E-mail address",
      subject: "Subject line",
    }),
    tool("weather", "getForecast", "How the weather will be", { city: "Name of the city" }),
    tool("weather", "天气查询", "查询城市的天气"),
  ];
  const { search } = createSearchIndex(tools);
  const found = (query: string, limit?: number) => search(query, { limit }).map((match) => match.tool.name);

  test.each([
    ["create issue", "github__create_issue"],
    ["creating issues", "github__create_issue"],
    ["list issues", "github__list_issues"],
    ["github__list_issues", "github__list_issues"],
    ["LIST_ISSUES", "github__list_issues"],
    ["read files", "files__read_file"],
    ["how do I send an email to a friend", "mail__send"],
    ["recipient", "mail__send"],
    ["forecast", "weather__getForecast"],
    ["weath", "weather__getForecast"],
    ["pull request", "github__create_pull_request"],
    ["branch", "github__create_pull_request"],
    ["天气", "weather__天气查询"],
  ])("%j finds %s first", (query, expected) => {
    expect(found(query)[0]).toBe(expected);
  });

  test("a server's name finds its tools", () => {
    expect(found("GitHub").toSorted()).toEqual([
      "github__create_issue",
      "github__create_pull_request",
      "github__list_issues",
    ]);
  });

  test("stop words are used if there are no other words", () => {
    expect(found("the")).not.toEqual([]);
  });

  test("a word in the name counts more than one in the description", () => {
    const index = createSearchIndex([
      tool("a", "other", "Will archive things"),
      tool("b", "archive", "Other things"),
    ]);
    expect(index.search("archive").map((match) => match.tool.sourceName)).toEqual(["archive", "other"]);
  });

  test.each([["no match: xyzzy"], [""], ["   "], ["\u0000🔥"]])("%j", (query) => {
    expect(found(query.replace("no match: ", ""))).toEqual([]);
  });

  test.each([
    [1, 1],
    [2, 2],
    [2.9, 2],
    [0, 0],
    [-1, 0],
    [Number.POSITIVE_INFINITY, 3],
    [Number.NaN, 3],
    [undefined, 3],
  ])("limit %s gives %s", (limit, count) => {
    expect(found("github", limit)).toHaveLength(count);
  });

  test("sorts by score, then by name, in any order of the tools", () => {
    const same = ["c", "a", "b"].map((server) => tool(server, "ping", "Ping it"));
    const names = (list: ToolInfo[]) =>
      createSearchIndex(list)
        .search("ping")
        .map((match) => match.tool.name);
    expect(names(same)).toEqual(["a__ping", "b__ping", "c__ping"]);
    expect(names(same.toReversed())).toEqual(names(same));
    const scores = search("open issue of a repository").map((match) => match.score);
    expect(scores).toEqual(scores.toSorted((a, b) => b - a));
  });

  test("accepts schemas of any shape", () => {
    const odd = [
      { properties: null },
      { properties: { a: null, b: { description: 1 } } },
      { properties: "x" },
      {},
    ];
    const index = createSearchIndex(
      odd.map((inputSchema, at) => ({ ...tool("s", `odd${at}`), inputSchema })),
    );
    expect(index.search("odd")).toHaveLength(4);
    expect(createSearchIndex([]).search("odd")).toEqual([]);
  });
});

test("builds and searches an index of 50,000 tools in time", () => {
  const verbs = ["create", "list", "delete", "update", "search", "export", "import"];
  const nouns = [
    "issue",
    "file",
    "invoice",
    "user",
    "ticket",
    "page",
    "event",
    "report",
    "message",
    "order",
    "image",
  ];
  const tools = Array.from({ length: 50_000 }, (_, index) => {
    const [verb, noun] = [verbs[index % 7]!, nouns[index % 11]!];
    return tool(
      `server${index % 100}`,
      `${verb}_${noun}_${index}`,
      `Can ${verb} one ${noun} or more of them`,
      { id: "Which" },
    );
  });
  const built = cpuTimeMs();
  const { search } = createSearchIndex(tools);
  const buildMs = cpuTimeMs() - built;
  search("warm");
  const asked = cpuTimeMs();
  for (let round = 0; round < 10; round += 1) search("export the invoices of a user 4242");
  const searchMs = (cpuTimeMs() - asked) / 10;
  const { sourceName } = tools[1_770]!;
  expect(search(sourceName)[0]?.tool.sourceName).toBe(sourceName);
  expect(buildMs).toBeLessThan(10_000);
  expect(searchMs).toBeLessThan(500);
});
