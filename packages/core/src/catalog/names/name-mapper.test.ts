/** Names from a mapper are made valid and unique, like all names. */
import { describe, expect, test } from "vitest";
import { assign, expectSound, toEntry } from "../../../../../test/support/assigned-names.js";
import { assignNames } from "./assign-names.js";

describe("a mapper", () => {
  test.each<[string, () => unknown, string]>([
    [
      "that throws",
      () => {
        throw new Error("boom");
      },
      "The name mapper threw: boom",
    ],
    ["that returns nothing", () => undefined, "The name mapper returned no name"],
    ["that returns an empty name", () => "", "The name mapper returned no name"],
    ["that is asynchronous", async () => "x", "The name mapper returned no name"],
  ])("%s: the tool gets its default name, and an issue is reported", (_what, mapper, reason) => {
    const { names, issues } = assign([["s", "get"]], { toolNameMapper: mapper as () => string });
    expect(names).toEqual(["s__get"]);
    expect(issues).toEqual([
      { kind: "mapper", name: "s__get", server: "s", sourceName: "get", wanted: "s__get", reason },
    ]);
  });

  test("may return any name: it is made valid", () => {
    const { names } = assign(
      [
        ["s", "a"],
        ["s", "b"],
      ],
      { toolNameMapper: (_, tool) => `Meine Bücher: ${tool.name}!` },
    );
    expectSound(names);
    expect(names[0]).toMatch(/^Meine_Bucher_a_/);
  });

  test("a name changed by a specification mapper gets no prefix", () => {
    const { server, tool } = toEntry(["s", "get"]);
    const renamed = { server, tool: { ...tool, name: "fetch" } };
    expect(assignNames([renamed], { prefix: true, additionalToolNamePrefix: "" }).names).toEqual(["fetch"]);
  });
});
