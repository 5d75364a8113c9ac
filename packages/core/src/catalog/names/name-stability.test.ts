/** Public names stay the same when servers are added or removed. */

import { lookOf, toolIdentity } from "@toolport/base";
import { describe, expect, test } from "vitest";
import type { SourceTool } from "../source-tool.js";
import { assignNames, type NameOptions } from "./assign-names.js";

type Listed = readonly [server: string, tool: string];

const LONG = `get_${"very_".repeat(23)}long_name`;

const assign = (tools: readonly Listed[], options: Partial<NameOptions> = {}) =>
  assignNames(
    tools.map(([server, sourceName]) => ({
      server: { name: server },
      tool: { name: sourceName, sourceName, inputSchema: {} } as unknown as SourceTool,
    })),
    { prefix: true, additionalToolNamePrefix: "", ...options },
  );

function expectSound(names: readonly string[]): void {
  for (const name of names) expect(name).toMatch(/^[a-zA-Z_][a-zA-Z0-9_-]{0,63}$/);
  expect(new Set(names.map(lookOf)).size).toBe(names.length);
}

describe("when servers are added and removed", () => {
  const A: Listed[] = [
    ["a", "search"],
    ["a", "get.it"],
    ["a", LONG],
    ["a", "🔥"],
  ];
  const B: Listed[] = [
    ["b", "search"],
    ["b", "get.it"],
    ["b", LONG],
    ["b", "🔥"],
  ];
  const C: Listed[] = [
    ["c", "Search"],
    ["c", "get_it"],
    ["c", "s\u0435arch"],
  ];

  test.each([
    { prefix: true },
    { prefix: false },
    { additionalToolNamePrefix: "mcp" },
    { toolNameMapper: (_: unknown, tool: SourceTool) => tool.name },
  ])("a server added later renames nothing: %j", (options) => {
    const before = assign([...A, ...B], options);
    const after = assign([...A, ...B, ...C], options);
    expect(after.names.slice(0, 8)).toEqual(before.names);
    expectSound(after.names);
    const again = assign([...A, ...B, ...C], { ...options, previous: before.given });
    expect(again.names).toEqual(after.names);
  });

  test("with the previous names, a server added in front renames nothing", () => {
    const before = assign(B, { prefix: false });
    const after = assign([...A, ...B], { prefix: false, previous: before.given });
    expect(after.names.slice(4)).toEqual(before.names);
    expectSound(after.names);
    expect(after.issues).toContainEqual(expect.objectContaining({ kind: "collision", server: "a" }));
  });

  test("the names of a removed server stay reserved", () => {
    const both = assign([...A, ...B], { prefix: false });
    const without = assign(B, { prefix: false, previous: both.given });
    expect(without.names).toEqual(both.names.slice(4));
    // A new tool does not get a name that a model may still use for the old one.
    const newcomer = assign([...B, ...C], { prefix: false, previous: without.given });
    expect(newcomer.names).not.toContain("search");
    const back = assign([...B, ...C, ...A], { prefix: false, previous: newcomer.given });
    expect(back.names.slice(-4)).toEqual(both.names.slice(0, 4));
    expectSound(back.names);
  });

  test("ignores invalid previous names", () => {
    const previous = new Map([
      [toolIdentity("a", "x"), "not a name"],
      [toolIdentity("a", "y"), "call_tool"],
      [toolIdentity("a", "z"), "same"],
      [toolIdentity("b", "z"), "SAME"],
    ]);
    const { names } = assign(
      [
        ["a", "x"],
        ["a", "y"],
        ["a", "z"],
        ["b", "z"],
      ],
      { previous },
    );
    expect(names).toEqual(["a__x", "a__y", "same", "b__z"]);
  });

  test("limits the number of names reserved for removed tools", () => {
    const many = Array.from({ length: 12_000 }, (_, index): Listed => ["s", `t${index}`]);
    const { given } = assign(many);
    const after = assign([["s", "new"]], { previous: given });
    expect(after.given.size).toBe(10_001);
    expect(after.given.get(toolIdentity("s", "t11999"))).toBe("s__t11999");
  });
});
