import type { ToolInfo } from "@toolport/base";
import { describe, expect, test } from "vitest";
import { createSearchIndex, firstMatches } from "./search-index.js";

const tool = (name: string, sourceName = name.split("__")[1] ?? name, description = ""): ToolInfo => ({
  name,
  server: name.split("__")[0]!,
  sourceName,
  description,
  inputSchema: { type: "object" },
});

const tools = [
  tool("github__create_issue"),
  tool("github__list_issues"),
  tool("gitlab__create_issue"),
  tool("web__search", "search", "Search the web"),
  tool("web__fetch", "fetch", "Fetch a page"),
  tool("files__find", "find", "Find files by words, search the disk"),
  tool("weather__getForecast"),
  tool("notion__API-post-search", "API-post-search"),
  tool("odd__a_b", "a.b"),
  tool("odd__Long_name", "Long name"),
];
const { search } = createSearchIndex(tools);
const named = (query: string, limit?: number) =>
  search(query, { limit })
    .filter(({ isNamed }) => isNamed)
    .map((match) => match.tool.name)
    .toSorted();

test.each([
  ["github__create_issue", ["github__create_issue"]],
  ["GitHub__Create_Issue", ["github__create_issue"]],
  ["create_issue", ["github__create_issue", "gitlab__create_issue"]],
  ["github__create_issue github__list_issues", ["github__create_issue", "github__list_issues"]],
  ["github__create_issue,github__list_issues", ["github__create_issue", "github__list_issues"]],
  ["github__create_issue/github__list_issues", ["github__create_issue", "github__list_issues"]],
  ["name=github__list_issues", ["github__list_issues"]],
  ["Call `github__list_issues`(state) now.", ["github__list_issues"]],
  ["first list_issues, then getForecast!", ["github__list_issues", "weather__getForecast"]],
  ["getforecast for Oslo", ["weather__getForecast"]],
  ["use API-post-search.", ["notion__API-post-search"]],
  ["what does a.b. do", ["odd__a_b"]],
  ["Long name", ["odd__Long_name"]],
  ['the tool "Long name" please', ["odd__Long_name"]],
  ["list_issues, long name", ["github__list_issues", "odd__Long_name"]],
  // Usual words are names only if they are quoted, or if the query is a list of names.
  ["search", ["web__search"]],
  ["please use search, fetch and find", ["files__find", "web__fetch", "web__search"]],
  ["search the disk", []],
  ["'search' the disk", ["web__search"]],
  ["fetch create_issue", ["github__create_issue", "gitlab__create_issue", "web__fetch"]],
  ["fetch the result of create_issue", ["github__create_issue", "gitlab__create_issue"]],
  ["", []],
  ["__proto__ constructor toString", []],
  ["nothing of the kind", []],
])("%j names %j", (query, expected) => {
  expect(named(query, 1)).toEqual(expected);
});

test("a usual word that is a name does not displace the better match", () => {
  expect(search("find files by search words on the disk")[0]?.tool.name).toBe("files__find");
});

test("named tools come before better matches, and no limit cuts them", () => {
  const many = Array.from({ length: 40 }, (_, index) => tool(`s${index}__do_it_${index}`));
  const crowd = Array.from({ length: 100 }, (_, index) =>
    tool(`crowd__do_it_all_${index}x`, `do_it_all_${index}x`, "do it all 1 2 3 4 5 6 7 8 9 10 11 12"),
  );
  const index = createSearchIndex([...crowd, ...many]);
  const query = many.map(({ name }) => name).join(" ");
  const found = index.search(query, { limit: 1 }).map((match) => match.tool.name);
  expect(found.toSorted()).toEqual(many.map(({ name }) => name).toSorted());
  expect(
    index
      .search(query, { limit: 60 })
      .slice(0, 40)
      .every(({ isNamed }) => isNamed),
  ).toBe(true);
  expect(index.search(query, { limit: 0 })).toEqual([]);
});

describe("a name that hundreds of servers have", () => {
  const same = Array.from({ length: 300 }, (_, index) => tool(`s${index}__ping_it`));
  const index = createSearchIndex(same);

  test("is found a limited number of times", () => {
    expect(index.search("ping_it", { limit: 5 })).toHaveLength(50);
    expect(index.search("s299__ping_it", { limit: 5 })[0]?.tool.name).toBe("s299__ping_it");
  });

  test("can be filtered after the search", () => {
    const shown = index.search("ping_it", { limit: 10_000 }).slice(290);
    expect(firstMatches(shown, 5)).toHaveLength(10);
    expect(firstMatches(index.search("ping", { limit: 10_000 }), 5)).toHaveLength(5);
  });
});
