/** Public names: fit for every provider, no two alike, the same every day. */
import { describe, expect, test } from "vitest";
import { publicName, safeName } from "./tool-names.js";

const VALID = /^[a-zA-Z_][a-zA-Z0-9_-]{0,63}$/;
const LONG = "a".repeat(128);

/** Names all of them in order, as the catalog does. */
function nameAll(tools: readonly [server: string, tool: string][], prefix = true): string[] {
  const taken = new Set<string>();
  return tools.map(([server, tool]) => {
    const name = publicName({ server, tool, prefix }, taken);
    taken.add(name.toLowerCase());
    return name;
  });
}

test.each([
  ["weather", "forecast", true, "weather__forecast"],
  ["weather", "forecast", false, "forecast"],
  ["my-server", "get_it", true, "my-server__get_it"],
  ["_a", "b", true, "_a__b"],
  ["a", "x".repeat(61), true, `a__${"x".repeat(61)}`],
])("server %s and tool %s (prefix %s) become %s", (server, tool, prefix, expected) => {
  expect(nameAll([[server, tool]], prefix)).toEqual([expected]);
});

test.each([
  ["dots", "a.b.c", "a_b_c_"],
  ["slashes and blanks", "files/read all", "files_read_all_"],
  ["emoji", "🔥hot", "__hot_"],
  ["other scripts", "天気", "___"],
  ["a leading digit", "7zip", "_7zip_"],
  ["a leading hyphen", "-flag", "_-flag_"],
  ["128 letters", LONG, "a".repeat(56)],
  ["nothing usable", "!?", "___"],
  ["control characters", "a\u0000\n b", "a___b_"],
  ["__proto__ with a dot", "__proto__.x", "__proto___x_"],
])("%s are replaced, and the name carries a fingerprint", (_what, tool, begins) => {
  const [name] = nameAll([["s", tool]], false);
  expect(name).toMatch(VALID);
  expect(name!.startsWith(begins)).toBe(true);
  expect(name).toMatch(/_[0-9a-z]{7}$/);
  // The same tomorrow.
  expect(nameAll([["s", tool]], false)).toEqual([name]);
});

test.each(["search_tools", "call_tool", "list_resources", "read_resource"])(
  "%s is ours; a server's own gets a fingerprint, and a prefix frees it",
  (tool) => {
    expect(nameAll([["s", tool]], false)[0]).toMatch(new RegExp(`^${tool}_[0-9a-z]{7}$`));
    expect(nameAll([["s", tool]])).toEqual([`s__${tool}`]);
  },
);

describe("names that would be alike", () => {
  test("without a prefix the first keeps the bare name", () => {
    const [first, second, third] = nameAll(
      [
        ["a", "search"],
        ["b", "search"],
        ["c", "search"],
      ],
      false,
    );
    expect(first).toBe("search");
    expect(second).toMatch(/^search_[0-9a-z]{7}$/);
    expect(third).toMatch(/^search_[0-9a-z]{7}$/);
    expect(second).not.toBe(third);
  });

  test("upper and lower case count as the same", () => {
    const [first, second] = nameAll(
      [
        ["a", "Search"],
        ["a", "search"],
      ],
      false,
    );
    expect(first).toBe("Search");
    expect(second).toMatch(/^search_[0-9a-z]{7}$/);
  });

  test("server and tool that join to the same text are told apart", () => {
    const names = nameAll([
      ["a__b", "c"],
      ["a", "b__c"],
    ]);
    expect(new Set(names).size).toBe(2);
  });

  test("long names that differ at their end only are told apart", () => {
    const names = nameAll([
      ["s", `${LONG}1`],
      ["s", `${LONG}2`],
    ]);
    expect(new Set(names).size).toBe(2);
    for (const name of names) expect(name).toMatch(VALID);
  });

  test("names that were cleaned to the same text are told apart", () => {
    const tools = ["a.b", "a b", "a/b", "a🔥b", "a_b"].map((tool): [string, string] => ["s", tool]);
    const names = nameAll(tools);
    expect(new Set(names.map((name) => name.toLowerCase())).size).toBe(tools.length);
    expect(names.at(-1)).toBe("s__a_b");
  });

  test("even when the fingerprinted name is taken as well", () => {
    const [, second] = nameAll(
      [
        ["a", "t"],
        ["b", "t"],
      ],
      false,
    );
    const names = nameAll(
      [
        ["a", "t"],
        ["x", second!],
        ["b", "t"],
      ],
      false,
    );
    expect(new Set(names).size).toBe(3);
    for (const name of names) expect(name).toMatch(VALID);
  });
});

test("a thousand hostile names: all valid, all different", () => {
  const tools = Array.from({ length: 1_000 }, (_, index): [string, string] => [
    index % 2 ? "s" : "S",
    ["🔥", ".", "x".repeat(200), "-", "same"][index % 5]! + (index % 10 === 4 ? "" : String(index)),
  ]);
  const names = nameAll(tools);
  for (const name of names) expect(name).toMatch(VALID);
  expect(new Set(names.map((name) => name.toLowerCase())).size).toBe(1_000);
});

test("a fingerprint depends on who the tool is, not on how its name looks", () => {
  expect(safeName("a.b", "one")).not.toBe(safeName("a.b", "two"));
  expect(safeName("fine", "one")).toBe("fine");
});
