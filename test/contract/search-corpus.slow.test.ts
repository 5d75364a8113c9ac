/** Searching the tools of 20 real servers: what is found, and how long the answers for models are. */
import { describe, expect, it } from "vitest";
import type { ToolInfo } from "../../packages/base/src/model/tool-info.js";
import { createSearchIndex, searchAnswer } from "../../packages/core/src/catalog/search/search-index.js";
import { collectedTools as tools } from "../support/definitions.js";

/** The default of `search_tools`. */
const LIMIT = 5;
/** 1,500 tokens by the estimate of `cost()`. */
const MAX_MEDIAN_BYTES = 1_500 * 4.35;

const { search } = createSearchIndex(tools);
const found = (query: string) => search(query, { limit: LIMIT }).map(({ tool }) => tool);

function medianBytes(queries: readonly string[]): number {
  const sizes = queries.map((query) => Buffer.byteLength(searchAnswer(search(query, { limit: LIMIT }))));
  return sizes.toSorted((a, b) => a - b)[sizes.length >> 1]!;
}

/** Four names of different servers, so that every tool stands in four queries. */
const fourNames = (nameOf: (tool: ToolInfo) => string) =>
  tools.map((_, index) =>
    [0, 100, 200, 300].map((step) => nameOf(tools[(index + step) % tools.length]!)).join(" "),
  );

it("has more than 400 tools of 20 servers", () => {
  expect(new Set(tools.map(({ server }) => server)).size).toBe(20);
  expect(tools.length).toBeGreaterThan(400);
});

describe("exact names", () => {
  it("one public name finds its tool first", () => {
    expect(tools.filter((tool) => found(tool.name)[0] !== tool)).toEqual([]);
  });

  it("one name of a server's own finds its tool among the first, whatever the limit is", () => {
    for (const tool of tools) {
      const same = tools.filter(({ sourceName }) => sourceName === tool.sourceName);
      const first = search(tool.sourceName, { limit: 1 }).map((match) => match.tool);
      expect(new Set(first.slice(0, same.length)), tool.name).toEqual(new Set(same));
    }
  });

  it.each([
    ["public names", ({ name }: ToolInfo) => name],
    ["names of the servers' own", ({ sourceName }: ToolInfo) => sourceName],
  ])("four %s in one query all come first", (_, nameOf) => {
    for (const query of fourNames(nameOf)) {
      const names = query.split(" ");
      const meant = tools.filter((tool) => names.includes(nameOf(tool)));
      expect(new Set(found(query).slice(0, meant.length)), query).toEqual(new Set(meant));
    }
  });
});

it("words of a description find the tool within the limit in 9 of 10 cases", () => {
  const hits = tools.filter((tool) => found(firstWords(tool)).includes(tool));
  expect(hits.length / tools.length).toBeGreaterThan(0.9);
});

it.each([
  ["public names", tools.map(({ name }) => name)],
  ["names of the servers' own", tools.map(({ sourceName }) => sourceName)],
  ["words of descriptions", tools.map(firstWords)],
  ["four names at once", fourNames(({ name }) => name)],
])("the median answer to %s stays within 1,500 tokens", (_, queries) => {
  expect(medianBytes(queries)).toBeLessThan(MAX_MEDIAN_BYTES);
});

it("has the schema of every tool that the query names", () => {
  for (const query of fourNames(({ name }) => name)) {
    const answered = JSON.parse(searchAnswer(search(query, { limit: LIMIT }))).tools;
    for (const name of query.split(" "))
      expect(answered.find((tool: ToolInfo) => tool.name === name)?.inputSchema, name).toBeDefined();
  }
});

function firstWords({ description = "" }: ToolInfo): string {
  return description.trim().split(/\s+/).slice(0, 6).join(" ");
}
