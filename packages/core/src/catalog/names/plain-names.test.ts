import fc from "fast-check";
import { expect, test } from "vitest";
import type { SourceTool } from "../source-tool.js";
import { assignNames, type NameOptions, NameOwners, plainNames } from "./assign-names.js";

type Listed = readonly [server: string, tool: string];

const SERVERS = ["a", "b"].map((name) => ({ name }));

const entries = (listed: readonly Listed[]) =>
  listed.map(([server, sourceName]) => ({
    server: SERVERS.find(({ name }) => name === server)!,
    tool: { name: sourceName, sourceName, inputSchema: {} } as unknown as SourceTool,
  }));

const plain = (listed: readonly Listed[], previous = new Map<string, string>()) =>
  plainNames(entries(listed), new NameOwners(previous), (server) => [server]);

test("tools without collisions get their plain names, in the order of the list", () => {
  expect(
    plain([
      ["a", "z"],
      ["a", "Search"],
      ["b", "z"],
    ]),
  ).toEqual(["a__z", "a__Search", "b__z"]);
});

test.each<[string, Listed[]]>([
  [
    "two names that look alike",
    [
      ["a", "search"],
      ["a", "Search"],
    ],
  ],
  ["a name that providers reject", [["a", "get.it"]]],
  [
    "a name listed twice",
    [
      ["a", "x"],
      ["a", "x"],
    ],
  ],
  ["a name that is too long", [["a", "x".repeat(64)]]],
])("returns undefined for %s", (_what, listed) => {
  expect(plain(listed)).toBeUndefined();
});

test("keeps previous names, including those of removed tools", () => {
  const previous = new Map([
    ["a\u0000x", "a__x"],
    ["b\u0000gone", "a__y"],
  ]);
  expect(plain([["a", "x"]], previous)).toEqual(["a__x"]);
  expect(plain([["a", "y"]], previous)).toBeUndefined();
  expect(plain([["b", "gone"]], previous)).toBeUndefined();
});

test("assigns the same names as the path for collisions", () => {
  // Few names, so that many collide.
  const names = ["x", "X", "y", "l1", "ll", "a.b", "a_b", "search_tools", "s\u0435arch", "search"];
  const listed = fc.uniqueArray(fc.tuple(fc.constantFrom("a", "b"), fc.constantFrom(...names)), {
    selector: ([server, name]) => `${server} ${name}`,
    maxLength: 6,
  });
  fc.assert(
    fc.property(listed, listed, (before, after) => {
      const options: NameOptions = { prefix: false, additionalToolNamePrefix: "" };
      const inTurn: NameOptions = { ...options, toolNameMapper: (_server, tool) => tool.sourceName };
      const first = assignNames(entries(before), options);
      const firstInTurn = assignNames(entries(before), inTurn);
      expect([first.names, first.issues, first.given]).toEqual([
        firstInTurn.names,
        firstInTurn.issues,
        firstInTurn.given,
      ]);
      const previous = first.given;
      const second = assignNames(entries(after), { ...options, previous });
      const secondInTurn = assignNames(entries(after), { ...inTurn, previous });
      expect([second.names, second.issues, second.given]).toEqual([
        secondInTurn.names,
        secondInTurn.issues,
        secondInTurn.given,
      ]);
    }),
  );
});
