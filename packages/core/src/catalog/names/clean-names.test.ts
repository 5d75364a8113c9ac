/** Names that only need `_` for some characters: no fingerprint if the name is free. */

import { isSafeName } from "@toolport/base";
import { describe, expect, test } from "vitest";
import type { SourceTool } from "../source-tool.js";
import { assignNames, type NameOptions } from "./assign-names.js";

type Listed = readonly [server: string, tool: string];

const FINGERPRINT = "[0-9a-hjkmnp-tv-z]{10}";

const assign = (tools: readonly Listed[], options: Partial<NameOptions> = {}) =>
  assignNames(
    tools.map(([server, sourceName]) => ({
      server: { name: server },
      tool: { name: sourceName, sourceName, inputSchema: {} } as unknown as SourceTool,
    })),
    { prefix: true, additionalToolNamePrefix: "", ...options },
  );

describe("a name with punctuation or blanks", () => {
  test.each<[string, Listed, string]>([
    ["a dotted name", ["s", "files.read"], "s__files_read"],
    ["a slash and a blank", ["s", "files/read all"], "s__files_read_all"],
    ["a server with a blank", ["my server", "get"], "my_server__get"],
    ["a server that begins with a digit", ["7z", "get"], "_7z__get"],
    ["a hyphen first", ["-s", "get"], "_-s__get"],
    ["64 characters", ["s", `${"x".repeat(30)}.${"x".repeat(30)}`], `s__${"x".repeat(30)}_${"x".repeat(30)}`],
  ])("%s becomes valid, without a fingerprint if the name is free", (_what, tool, expected) => {
    const { names, issues } = assign([tool]);
    expect(names).toEqual([expected]);
    expect(issues).toMatchObject([{ kind: "invalid", server: tool[0], sourceName: tool[1] }]);
    expect(names.every(isSafeName)).toBe(true);
  });

  test("a tool name that begins with a digit gets a fingerprint, so that it cannot imitate another tool", () => {
    const { names, issues } = assign(
      [
        ["s", "list_tools"],
        ["s", "1ist_too1s"],
      ],
      { prefix: false },
    );
    expect(names).toEqual(["list_tools", expect.stringMatching(new RegExp(`^_1ist_too1s_${FINGERPRINT}$`))]);
    expect(issues).toContainEqual(expect.objectContaining({ kind: "look-alike" }));
  });

  test("an unchanged name takes precedence over an equal replaced name, in any order of the list", () => {
    for (const tools of [
      ["files.read", "files_read"],
      ["files_read", "files.read"],
    ]) {
      const { names, issues } = assign(
        tools.map((tool): Listed => ["s", tool]),
        { prefix: false },
      );
      expect(names[tools.indexOf("files_read")]).toBe("files_read");
      expect(names[tools.indexOf("files.read")]).toMatch(new RegExp(`^files_read_${FINGERPRINT}$`));
      expect(issues).toMatchObject([{ kind: "collision", sourceName: "files.read" }]);
    }
  });

  test("a replaced name stays when a tool with that name is added later", () => {
    const first = assign([["s", "files.read"]]);
    const { names } = assign(
      [
        ["s", "files.read"],
        ["s", "files_read"],
      ],
      { previous: first.given },
    );
    expect(names[0]).toBe("s__files_read");
    expect(names[1]).toMatch(new RegExp(`^s__files_read_${FINGERPRINT}$`));
  });

  test("without a prefix, the server configured first gets the replaced name", () => {
    const { names } = assign(
      [
        ["a", "files.read"],
        ["b", "files_read"],
      ],
      { prefix: false },
    );
    expect(names[0]).toBe("files_read");
    expect(names.every(isSafeName)).toBe(true);
  });
});
