/** Imports in `src/` point to lower layers only and form no cycles. Each violation is reported by file. */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { findCycles } from "./import-cycles.js";
import { checkImports, LAYERS } from "./import-rules.js";
import { filesBelow, root } from "./source-files.js";

const sources = filesBelow(join(root, "src"), ".ts").filter((file) => !file.endsWith(".test.ts"));

describe("imports of src", () => {
  it("finds the sources", () => {
    expect(sources).toContain("errors/toolport-error.ts");
  });

  it("point to lower layers only, and packages are loaded only in their modules", () => {
    const problems = sources.flatMap((file) =>
      checkImports(file, readFileSync(join(root, "src", file), "utf8")),
    );
    expect(problems).toEqual([]);
  });

  it("form no cycles, type imports included", () => {
    const cycles = findCycles(join(root, "src"), sources);
    expect(cycles).toEqual([]);
  });

  it("follow the order that docs/architecture.md shows", () => {
    const text = readFileSync(join(root, "docs/architecture.md"), "utf8");
    const line = text.split("\n").find((candidate) => candidate.startsWith("util → errors"));
    const documented = line?.split(" → ").map((layer) => layer.split(", "));
    expect(documented).toEqual(LAYERS);
  });
});

describe("the checker", () => {
  it.each<[string, string, string]>([
    [
      "an import that points up",
      'import { a } from "../connection/a.js";',
      "points up, util is below connection",
    ],
    [
      "a type that points up",
      'import type { A } from "../toolport.js";',
      "points up, util is below toolport",
    ],
    ["a re-export that points up", 'export { a } from "../index.js";', "points up, util is below index"],
    ["a dynamic import that points up", 'const a = await import("../errors/a.js");', "points up"],
    ["an import type that points up", 'let a: import("../errors/a.js").A;', "points up"],
    ["an import out of src", 'import { a } from "../../test/a.js";', "it leaves src/"],
    ["an unknown module", 'import { a } from "../attic/a.js";', 'the module "attic" is not in the list'],
    [
      "a node: module",
      'import { readFile } from "node:fs/promises";',
      "node: modules may be loaded only in transports",
    ],
    [
      "a builtin without its prefix",
      'import fs from "fs";',
      "node: modules may be loaded only in transports",
    ],
    [
      "a lazy SDK value",
      'await import("@modelcontextprotocol/client");',
      "SDK values may be loaded only in protocol",
    ],
    [
      "an SDK value",
      'import { Client } from "@modelcontextprotocol/client";',
      "SDK values may be loaded only in protocol",
    ],
    [
      "an inline type, which still loads",
      'import { type A } from "node:fs";',
      "node: modules may be loaded only in",
    ],
    [
      "a framework",
      'import { tool } from "@langchain/core/tools";',
      "LangChain may be loaded only in adapters/langchain",
    ],
  ])("names %s", (_case, text, expected) => {
    const problems = checkImports("util/wrong.ts", `/** A file. */\n${text}\n`);
    expect(problems).toHaveLength(1);
    expect(problems[0]).toMatch(/^src\/util\/wrong\.ts:2 imports "/);
    expect(problems[0]).toContain(expected);
  });

  it("names modules of one layer that import each other", () => {
    const problems = checkImports("state/wrong.ts", 'import { a } from "../transports/a.js";');
    expect(problems).toEqual([expect.stringContaining("state and transports are in the same layer")]);
  });

  it("names a module that is in no layer", () => {
    expect(checkImports("attic/a.ts", "")).toEqual([expect.stringContaining('the module "attic"')]);
  });

  it.each([
    ["connection/a.ts", 'import { a } from "../util/a.js";'],
    ["connection/a.ts", 'import { b } from "./b.js";'],
    ["connection/a.ts", 'import type { Client } from "@modelcontextprotocol/client";'],
    ["protocol/a.ts", 'await import("@modelcontextprotocol/client");'],
    ["transports/stdio/a.ts", 'import { spawn } from "node:child_process";'],
    ["adapters/langchain/tools.ts", 'import { tool } from "@langchain/core/tools";'],
    ["index.ts", 'export { createToolport } from "./create-toolport.js";'],
    ["toolport.ts", 'import { a } from "./execution/a.js";'],
    ["cli/main.ts", 'import { a } from "../console/server.js";'],
    ["util/a.ts", '// import { a } from "../index.js";'],
  ])("lets %s pass with %s", (file, text) => {
    expect(checkImports(file, text)).toEqual([]);
  });
});

describe("findCycles", () => {
  it("names the files of each cycle, also one of types only", () => {
    const directory = mkdtempSync(join(tmpdir(), "cycles-"));
    try {
      const sources = {
        "a.ts": 'import { b } from "./b.js";',
        "b.ts": 'import type { C } from "./c.js";',
        "c.ts": 'import type { A } from "./a.js";',
        "d.ts": 'import { a } from "./a.js";',
      };
      for (const [file, text] of Object.entries(sources)) writeFileSync(join(directory, file), text);
      expect(findCycles(directory, Object.keys(sources))).toEqual([["a.ts", "b.ts", "c.ts"]]);
    } finally {
      rmSync(directory, { recursive: true });
    }
  });
});
