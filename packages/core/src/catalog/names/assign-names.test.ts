/** Public names: valid for every provider, and unique. */

import { lookOf } from "@toolport/base";
import { describe, expect, test } from "vitest";
import {
  assign,
  expectSound,
  FINGERPRINT,
  type Listed,
  LONG,
  PROVIDERS,
} from "../../../../../test/support/assigned-names.js";
import { cpuTimeMs } from "../../../../../test/support/cpu-time.js";
import { type NameOptions, RESERVED_NAMES } from "./assign-names.js";

describe("one tool", () => {
  test.each<[string, Listed, Partial<NameOptions>, string]>([
    ["prefix", ["weather", "forecast"], {}, "weather__forecast"],
    ["no prefix", ["weather", "forecast"], { prefix: false }, "forecast"],
    ["hyphens", ["my-server", "get-it"], {}, "my-server__get-it"],
    ["additional prefix", ["w", "get"], { additionalToolNamePrefix: "mcp" }, "mcp__w__get"],
    ["only additional", ["w", "get"], { prefix: false, additionalToolNamePrefix: "mcp" }, "mcp__get"],
    [
      "mapper",
      ["w", "get"],
      { toolNameMapper: (server, tool) => `${tool.name}_of_${server.name}` },
      "get_of_w",
    ],
    [
      "a mapper comes before prefixes",
      ["w", "get"],
      { additionalToolNamePrefix: "mcp", toolNameMapper: () => "x" },
      "x",
    ],
    ["64 characters", ["a", "x".repeat(61)], {}, `a__${"x".repeat(61)}`],
  ])("%s: %j", (_what, tool, options, expected) => {
    const { names, issues } = assign([tool], options);
    expect(names).toEqual([expected]);
    expect(issues).toEqual([]);
    expectSound(names);
  });

  test.each<[string, Listed, string]>([
    ["punctuation only", ["s", "..."], "s__tool"],
    ["an emoji name", ["s", "🔥"], "s__tool"],
    ["an emoji in a name", ["s", "fire🔥alarm"], "s__fire_alarm"],
    ["Chinese", ["s", "天气查询"], "s__tool"],
    ["Cyrillic", ["s", "погода"], "s__pogoda"],
    ["accents", ["s", "résumé"], "s__resume"],
    ["a server of emoji", ["🔥", "get"], "server__get"],
    ["65 characters", ["a", "x".repeat(62)], `a__${"x".repeat(50)}`],
    ["128 characters", ["s", LONG.slice(0, 128)], `s__${LONG.slice(0, 50)}`.replace(/_+$/, "")],
    ["a long server", ["s".repeat(128), "get_it"], `${"s".repeat(45)}__get_it`],
    ["a long server, a long tool", ["s".repeat(99), "t".repeat(99)], `${"s".repeat(14)}__${"t".repeat(37)}`],
    ["control characters", ["s", "a\u0000\n\u001bb"], "s__ab"],
    ["a lone surrogate", ["s", "a\ud83d"], "s__a"],
  ])("%s becomes valid, with a fingerprint", (_what, tool, stem) => {
    const { names, issues } = assign([tool]);
    expect(names[0]).toMatch(new RegExp(`^${stem}_${FINGERPRINT}$`));
    expect(issues).toContainEqual(
      expect.objectContaining({ kind: "invalid", server: tool[0], sourceName: tool[1] }),
    );
    expectSound(names);
    expect(assign([tool]).names).toEqual(names);
  });

  test("its fingerprint is the same in every process and version", () => {
    const tools: Listed[] = [
      ["files", "read_file"],
      ["files", "read.file"],
    ];
    expect(assign(tools).names).toEqual(["files__read_file", "files__read_file_51f6vyrgzc"]);
  });
});

describe("reserved names", () => {
  test.each([
    ...RESERVED_NAMES,
    "Search_Tools",
    "search-tools",
    "search.tools",
    "ca11_tool",
    "c\u0430ll_tool",
  ])("%s is not given to a server's tool", (tool) => {
    const { names, issues } = assign([["s", tool]], { prefix: false });
    expectSound(names);
    expect(names[0]).toMatch(new RegExp(`_${FINGERPRINT}$`));
    expect(issues.length).toBeGreaterThan(0);
  });

  test("are allowed after a prefix", () => {
    expect(assign([["s", "search_tools"]]).names).toEqual(["s__search_tools"]);
  });

  test("are not available to a mapper, and the issue says why", () => {
    const { names, issues } = assign([["s", "x"]], { toolNameMapper: () => "call_tool" });
    expect(names[0]).toMatch(new RegExp(`^call_tool_${FINGERPRINT}$`));
    expect(issues).toEqual([
      {
        kind: "reserved",
        name: names[0],
        server: "s",
        sourceName: "x",
        wanted: "call_tool",
        reason: "call_tool is reserved for a tool of Toolport",
      },
    ]);
  });
});

describe("names that would collide", () => {
  test.each<[string, readonly Listed[], Partial<NameOptions>]>([
    [
      "two servers, one tool",
      [
        ["a", "search"],
        ["b", "search"],
      ],
      { prefix: false },
    ],
    [
      "case",
      [
        ["a", "Search"],
        ["b", "search"],
      ],
      { prefix: false },
    ],
    [
      "servers' case",
      [
        ["A", "search"],
        ["a", "search"],
      ],
      {},
    ],
    [
      "separators",
      [
        ["a", "read-file"],
        ["b", "read_file"],
      ],
      { prefix: false },
    ],
    [
      "joined the same",
      [
        ["a", "b__c"],
        ["a__b", "c"],
      ],
      {},
    ],
    [
      "digits",
      [
        ["a", "too1"],
        ["b", "tool"],
      ],
      { prefix: false },
    ],
    [
      "a mapper that returns one name for all",
      [
        ["a", "x"],
        ["b", "y"],
      ],
      { toolNameMapper: () => "same" },
    ],
  ])("%s: the first keeps it, the second gets a fingerprint and is reported", (_what, tools, options) => {
    const { names, issues } = assign(tools, options);
    expectSound(names);
    expect(names[1]).toMatch(new RegExp(`^.+_${FINGERPRINT}$`));
    expect(names[0]).not.toMatch(new RegExp(`_${FINGERPRINT}$`));
    expect(issues).toHaveLength(1);
    expect(issues[0]).toMatchObject({ kind: "collision", name: names[1], server: tools[1]![0] });
    expect(issues[0]!.reason).toBe(`The name belongs to tool "${tools[0]![1]}" of server "${tools[0]![0]}"`);
  });

  test("letters of another script are distinguished and reported", () => {
    const { names, issues } = assign([
      ["s", "read_file"],
      ["s", "re\u0430d_file"],
    ]);
    expectSound(names);
    expect(names[0]).toBe("s__read_file");
    expect(issues.map(({ kind, sourceName }) => [kind, sourceName])).toEqual([
      ["invalid", "re\u0430d_file"],
      ["look-alike", "re\u0430d_file"],
    ]);
    expect(issues[1]!.reason).toBe('Looks like tool "read_file" of server "s"');
  });

  test("such letters are reported even if prefixes differ", () => {
    const { issues } = assign([
      ["a", "read_file"],
      ["b", "re\u0430d_file"],
    ]);
    expect(issues.map(({ kind }) => kind)).toEqual(["invalid", "look-alike"]);
  });

  test("names that become the same text", () => {
    const { names } = assign(["a.b", "a b", "a/b", "a🔥b", "a_b"].map((tool): Listed => ["s", tool]));
    expectSound(names);
    expect(names.at(-1)).toBe("s__a_b");
  });

  test("a tool that is named like another's fingerprinted name", () => {
    const [, taken] = assign(
      [
        ["a", "t"],
        ["b", "t"],
      ],
      { prefix: false },
    ).names;
    const { names } = assign(
      [
        ["a", "t"],
        ["x", taken!],
        ["b", "t"],
      ],
      { prefix: false },
    );
    expectSound(names);
    expect(names[1]).toBe(taken);
  });

  test("the same tool twice", () => {
    expectSound(
      assign([
        ["a", "t"],
        ["a", "t"],
        ["a", "t"],
      ]).names,
    );
  });

  test("the order in which a server lists its tools does not matter", () => {
    const tools: Listed[] = [
      ["s", "read_file"],
      ["s", "read-file"],
      ["s", "READ_FILE"],
      ["s", "x"],
    ];
    const byTool = (list: readonly Listed[]) => {
      const { names } = assign(list);
      return Object.fromEntries(list.map(([, tool], index) => [tool, names[index]]));
    };
    expect(byTool(tools)).toEqual(byTool(tools.toReversed()));
  });
});

test("makes 20,000 hostile names valid and unique in time", () => {
  const kinds = ["🔥", ".", "x".repeat(200), "-", "same", "天", "re\u0430d", "Search_Tools"];
  const tools = Array.from(
    { length: 20_000 },
    (_, index): Listed => [["s", "S", "ѕ"][index % 3]!, `${kinds[index % 8]}${index}`],
  );
  const started = cpuTimeMs();
  const { names } = assign(tools, { prefix: false });
  expect(cpuTimeMs() - started).toBeLessThan(5_000);
  for (const name of names) expect(PROVIDERS.toolport.test(name)).toBe(true);
  expect(new Set(names.map(lookOf)).size).toBe(20_000);
});
