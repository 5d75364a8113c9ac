import { describe, expect, test } from "vitest";
import { createFilterSet } from "./catalog.js";
import { compileFilter, filterTools, type ToolFilters } from "./filters.js";

const entry = (server: string, sourceName: string, name = sourceName) => ({
  server: { name: server },
  tool: { name, sourceName, inputSchema: { type: "object" } },
});
const ALL = [
  entry("files", "read_file"),
  entry("files", "write_file"),
  entry("github", "read_file"),
  entry("github", "delete.repo"),
  entry("readme", "delete_all"),
];
const shown = (entries: readonly { server: { name: string }; tool: { sourceName: string } }[]) =>
  entries.map(({ server, tool }) => `${server.name}/${tool.sourceName}`);

const keep = (filters: ToolFilters, scope?: "server" | "all") =>
  shown(filterTools(ALL, () => [compileFilter(filters, scope)]).tools);

describe("rules for all servers", () => {
  test.each<[string, ToolFilters, string[]]>([
    ["nothing", {}, shown(ALL)],
    ["only: one name", { only: ["read_file"] }, ["files/read_file", "github/read_file"]],
    ["only: an empty list", { only: [] }, []],
    ["only: a glob", { only: ["*_file"] }, ["files/read_file", "files/write_file", "github/read_file"]],
    ["only: server__tool", { only: ["github__read_file"] }, ["github/read_file"]],
    ["only: server.tool", { only: ["github.read_file"] }, ["github/read_file"]],
    ["only: a whole server", { only: ["github__*"] }, ["github/read_file", "github/delete.repo"]],
    ["only: a tool of any server", { only: ["*__read_file"] }, ["files/read_file", "github/read_file"]],
    ["only: a dotted name", { only: ["delete.repo"] }, ["github/delete.repo"]],
    ["only: a dotted name, qualified", { only: ["github__delete.*"] }, ["github/delete.repo"]],
    // "readme__delete_all" begins with "read" as well, but its tool does not.
    [
      "a glob does not match across the server name",
      { only: ["read*"] },
      ["files/read_file", "github/read_file"],
    ],
    ["except", { except: ["*_file", "readme__*"] }, ["github/delete.repo"]],
    ["only and except", { only: ["*_file"], except: ["write_*"] }, ["files/read_file", "github/read_file"]],
    [
      "filter",
      { filter: (server, tool) => server.name === "files" && tool.name.startsWith("w") },
      ["files/write_file"],
    ],
    [
      "all three",
      { only: ["*_file"], except: ["write_*"], filter: (server) => server.name === "github" },
      ["github/read_file"],
    ],
  ])("%s", (_what, filters, expected) => {
    expect(keep(filters)).toEqual(expected);
  });

  test("accept a public name", () => {
    const entries = [entry("files", "read.file", "files__read_file_0123456789")];
    const { tools } = filterTools(entries, () => [compileFilter({ only: ["files__read_file_0123456789"] })]);
    expect(tools).toEqual(entries);
  });
});

test("rules of one server match plain tool names only", () => {
  expect(keep({ only: ["read_file", "github__delete.repo"] }, "server")).toEqual([
    "files/read_file",
    "github/read_file",
  ]);
});

test("a tool must pass all rules, and exclusions have a reason", () => {
  const perServer = compileFilter({ except: ["write_file"] }, "server");
  const global = compileFilter({ only: ["files__*"] });
  const { tools, excluded, withheld } = filterTools(ALL.slice(0, 3), ({ name }) =>
    name === "files" ? [perServer, global] : [global],
  );
  expect(shown(tools)).toEqual(["files/read_file"]);
  expect(excluded).toEqual([
    { server: "files", name: "write_file", reason: "Named in except" },
    { server: "github", name: "read_file", reason: "Not named in only" },
  ]);
  expect(withheld).toEqual([]);
});

describe("a failing filter withholds only the tool it failed for", () => {
  test.each<[string, () => boolean, string]>([
    [
      "throws",
      () => {
        throw new Error("boom");
      },
      "The filter threw: boom",
    ],
    [
      "throws a string",
      () => {
        throw "text";
      },
      "The filter threw: text",
    ],
    [
      "is asynchronous",
      (async () => {
        throw new Error("late");
      }) as unknown as () => boolean,
      "The filter is asynchronous; filters must be synchronous",
    ],
  ])("a filter that %s", (_what, bad, reason) => {
    const filter: ToolFilters["filter"] = (_server, tool) => (tool.name === "write_file" ? bad() : true);
    const { tools, withheld } = filterTools(ALL, () => [compileFilter({ filter })]);
    expect(tools).toHaveLength(ALL.length - 1);
    expect(withheld).toEqual([{ server: "files", name: "write_file", reason }]);
  });
});

describe("a filter set", () => {
  const kept = (set: ReturnType<typeof createFilterSet>) => shown(filterTools(ALL, () => set.filters).tools);

  test("adds filters, replaces them and resets; every change increases the version", () => {
    const set = createFilterSet();
    expect(set.version).toBe(0);
    expect(set.add({ only: ["*_file"] })).toBe(1);
    expect(set.add((server) => server.name === "files")).toBe(2);
    expect(kept(set)).toEqual(["files/read_file", "files/write_file"]);
    expect(set.set({ only: ["delete*"] })).toBe(3);
    expect(kept(set)).toEqual(["github/delete.repo", "readme/delete_all"]);
    expect(set.set([{ only: ["delete*"] }, { except: ["readme__*"] }])).toBe(4);
    expect(kept(set)).toEqual(["github/delete.repo"]);
    expect(set.reset()).toBe(5);
    expect(kept(set)).toEqual(shown(ALL));
    expect(set.version).toBe(5);
  });

  test("never widens what the options allow", () => {
    const set = createFilterSet({ except: ["delete*"] });
    set.set(() => true);
    expect(kept(set)).not.toContain("readme/delete_all");
    set.reset();
    expect(kept(set)).not.toContain("readme/delete_all");
  });

  test("returns lists that later changes do not affect", () => {
    const set = createFilterSet();
    const before = set.filters;
    set.add({ only: [] });
    expect(before).toHaveLength(1);
    expect(set.filters).toHaveLength(2);
  });
});
