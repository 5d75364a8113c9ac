/** Packages import each other in one direction and through their `exports`, modules of `core` too. Each violation is reported by file. */
import { execFileSync } from "node:child_process";
import {
  cpSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { findCycles } from "./import-cycles.js";
import { checkImports, MODULES, PACKAGES } from "./import-rules.js";
import { findImports } from "./import-statements.js";
import { root, sourceFiles, sourcePath } from "./source-files.js";

const sources = sourceFiles();
const textOf = (file: string) => readFileSync(sourcePath(file), "utf8");
const jsonOf = (path: string) => JSON.parse(readFileSync(join(root, path), "utf8"));
const packages = PACKAGES.flat();

/** At most this many names of `core` that are not public may be used by other packages. */
const MAX_INTERNAL_NAMES = 60;

describe("imports of the packages", () => {
  it("are those of all folders of packages/", () => {
    expect(readdirSync(join(root, "packages")).sort()).toEqual([...packages].sort());
    expect(sources).toContain("base/errors/toolport-error.ts");
  });

  it("point in one direction, and foreign packages are loaded only in their homes", () => {
    expect(sources.flatMap((file) => checkImports(file, textOf(file)))).toEqual([]);
  });

  it("form no cycles, type imports included", () => {
    expect(findCycles(sources, textOf)).toEqual([]);
  });

  it.each(packages.filter((name) => name !== "toolport"))(
    "of %s are what its manifest and its tsconfig name",
    (name) => {
      const used = new Set(
        sources
          .filter((file) => file.startsWith(`${name}/`))
          .flatMap((file) =>
            findImports(file, textOf(file)).map(
              ({ specifier }) => /^@toolport\/([^/]+)/.exec(specifier)?.[1],
            ),
          )
          .filter((each) => each !== undefined),
      );
      const expected = packages.filter((each) => used.has(each));
      const { dependencies = {} } = jsonOf(`packages/${name}/package.json`);
      const siblings = Object.keys(dependencies).filter((each) => each.startsWith("@toolport/"));
      expect(siblings).toEqual(expected.map((each) => `@toolport/${each}`));
      const { references } = jsonOf(`packages/${name}/tsconfig.json`);
      expect(references).toEqual(expected.map((each) => ({ path: `../${each}` })));
    },
  );

  it("of other people's packages are what the published package installs, in the same versions", () => {
    const manifests = packages.map((name) => jsonOf(`packages/${name}/package.json`));
    for (const kind of ["dependencies", "peerDependencies"]) {
      const parts = manifests.slice(0, -1).map((manifest) => Object.entries<string>(manifest[kind] ?? {}));
      const foreign = parts.flat().filter(([name]) => !name.startsWith("@toolport/"));
      const published = Object.entries(manifests.at(-1)[kind]);
      expect([...new Set(foreign.map(String))].sort(), kind).toEqual(published.map(String).sort());
    }
  });

  it("hide no type of another package behind a cast", () => {
    const casts = sources.flatMap((file) => {
      const text = textOf(file);
      const names = new Set(
        [...text.matchAll(/\{([^{}]*)\}\s*from\s*"@toolport\//g)].flatMap(
          ([, list = ""]) => list.match(/\w+/g) ?? [],
        ),
      );
      return [...text.matchAll(/\bas unknown as (?:readonly )?(\w+)/g)]
        .filter(([, name = ""]) => names.has(name))
        .map(([cast]) => `${file}: ${cast}`);
    });
    expect(casts).toEqual([]);
  });

  it("follow the order that docs/architecture.md shows", () => {
    const text = readFileSync(join(root, "docs/architecture.md"), "utf8");
    const orderIn = (start: string) =>
      text
        .split("\n")
        .find((candidate) => candidate.startsWith(start))
        ?.split(" → ")
        .map((layer) => layer.split(", "));
    expect(orderIn("base → ")).toEqual(PACKAGES);
    expect(orderIn("config, content → ")).toEqual(MODULES);
  });
});

describe("what other packages use of core", () => {
  /** The packages that import each name of `@toolport/core/internal`. */
  function usersOfInternals(): Record<string, string> {
    const users = new Map<string, Set<string>>();
    for (const file of sources) {
      for (const [, names = ""] of textOf(file).matchAll(
        /\{([^{}]*)\}\s*(?:from|= await import\()\s*"@toolport\/core\/internal"/g,
      )) {
        for (const name of names.split(",").map((each) =>
          each
            .trim()
            .replace(/^type /, "")
            .replace(/ as .*/, ""),
        ))
          if (name !== "")
            users.set(name, (users.get(name) ?? new Set()).add(file.slice(0, file.indexOf("/"))));
      }
    }
    return Object.fromEntries(
      [...users]
        .sort(([a], [b]) => (a < b ? -1 : 1))
        .map(([name, set]) => [name, packages.filter((each) => set.has(each)).join(", ")]),
    );
  }

  it("is listed, with the packages that use it", async () => {
    const rows = Object.entries(usersOfInternals()).map(([name, users]) => `${name}: ${users}`);
    await expect(`${rows.join("\n")}\n`).toMatchFileSnapshot("./core-internal.txt");
  });

  it(`are all names of internal.ts, at most ${MAX_INTERNAL_NAMES}`, () => {
    const names = [...textOf("core/internal.ts").matchAll(/\{([^}]*)\}/g)].flatMap(([, list = ""]) =>
      list
        .split(",")
        .map((each) => each.trim().replace(/^type /, ""))
        .filter((each) => each !== ""),
    );
    expect(names.sort()).toEqual(Object.keys(usersOfInternals()));
    expect(names.length).toBeLessThanOrEqual(MAX_INTERNAL_NAMES);
  });
});

describe("the compiler", () => {
  /** A copy of the packages that has only them and the packages of others. */
  function copyOfPackages(): string {
    const folder = mkdtempSync(join(tmpdir(), "toolport-packages-"));
    onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
    for (const name of ["tsconfig.json", "tsconfig.package.json"])
      cpSync(join(root, name), join(folder, name));
    mkdirSync(join(folder, "node_modules/@toolport"), { recursive: true });
    const modules = join(root, "node_modules");
    for (const name of readdirSync(modules).filter((each) => !/^(\.|@toolport$|toolport$)/.test(each)))
      symlinkSync(join(modules, name), join(folder, "node_modules", name), "junction");
    for (const name of packages) {
      cpSync(join(root, "packages", name, "package.json"), join(folder, "packages", name, "package.json"));
      cpSync(join(root, "packages", name, "tsconfig.json"), join(folder, "packages", name, "tsconfig.json"));
      const isSource = (path: string) => !/\.test\.ts$|[\\/]page$/.test(path);
      cpSync(join(root, "packages", name, "src"), join(folder, "packages", name, "src"), {
        recursive: true,
        filter: isSource,
      });
      symlinkSync(join(folder, "packages", name), join(folder, "node_modules/@toolport", name), "junction");
    }
    return folder;
  }
  const compiler = join(root, "node_modules/typescript-native/bin/tsc");
  const compile = (folder: string, name: string) =>
    execFileSync(process.execPath, [compiler, "-b", `packages/${name}`], { cwd: folder, encoding: "utf8" });

  it("refuses an import of a package further right, and of a file that a package does not export", () => {
    const folder = copyOfPackages();
    compile(folder, "stores");
    const forbidden = [
      [
        'import type { Toolport } from "@toolport/core";\nexport type A = Toolport;',
        "is not under 'rootDir'",
      ],
      ['export { timerMs } from "@toolport/base/src/util/timers.js";', "Cannot find module"],
      ['export type { Toolport } from "../../core/src/toolport.js";', "is not under 'rootDir'"],
    ] as const;
    for (const [text, reason] of forbidden) {
      writeFileSync(join(folder, "packages/stores/src/forbidden.ts"), `${text}\n`);
      expect(() => compile(folder, "stores"), text).toThrow(
        expect.objectContaining({ stdout: expect.stringContaining(reason) }),
      );
    }
  });
});

describe("the checker", () => {
  it.each<[string, string, string, string]>([
    [
      "a package further right",
      "stores/wrong.ts",
      'import { a } from "@toolport/core";',
      "stores may not import core",
    ],
    [
      "a type of it",
      "core/wrong.ts",
      'import type { A } from "@toolport/gateway";',
      "core may not import gateway",
    ],
    [
      "a lazy import of it",
      "core/wrong.ts",
      'const a = await import("@toolport/cli");',
      "core may not import cli",
    ],
    [
      "a package of the same level",
      "gateway/wrong.ts",
      'import { a } from "@toolport/console";',
      "gateway may not import console",
    ],
    ["the published package", "cli/wrong.ts", 'import { a } from "toolport";', "cli may not import toolport"],
    ["its own name", "core/wrong.ts", 'import { a } from "@toolport/core";', "by relative paths"],
    ["an unknown package", "core/wrong.ts", 'import { a } from "@toolport/attic";', 'no package "attic"'],
    [
      "a file of another package",
      "core/config/wrong.ts",
      'import { a } from "../../base/a.js";',
      "it leaves the package",
    ],
    [
      "a module further right",
      "core/config/wrong.ts",
      'export { a } from "../connection/a.js";',
      "points up, config is below connection",
    ],
    [
      "a module of the same level",
      "core/protocol/wrong.ts",
      'import { a } from "../auth/a.js";',
      "in the same layer",
    ],
    [
      "an unknown module",
      "core/config/wrong.ts",
      'import { a } from "../attic/a.js";',
      'the module "attic" is not in the list',
    ],
    [
      "a node: module",
      "core/config/wrong.ts",
      'import { readFile } from "node:fs/promises";',
      "node: modules may be loaded only in core/transports",
    ],
    [
      "a builtin without its prefix",
      "base/wrong.ts",
      'import fs from "fs";',
      "node: modules may be loaded only in core/transports",
    ],
    [
      "a lazy SDK value",
      "core/config/wrong.ts",
      'await import("@modelcontextprotocol/client");',
      "SDK values may be loaded only in core/protocol",
    ],
    [
      "an inline type, which still loads",
      "base/wrong.ts",
      'import { type A } from "node:fs";',
      "node: modules may be loaded only in",
    ],
    [
      "a framework",
      "base/wrong.ts",
      'import { tool } from "@langchain/core/tools";',
      "LangChain may be loaded only in adapters/langchain",
    ],
  ])("names %s", (_case, file, text, expected) => {
    const problems = checkImports(file, `/** A file. */\n${text}\n`);
    expect(problems).toHaveLength(1);
    expect(problems[0]).toContain(`${file}:2 imports "`);
    expect(problems[0]).toContain(expected);
  });

  it("names a file that is in no package or module", () => {
    expect(checkImports("attic/a.ts", "")).toEqual([expect.stringContaining("not in the list")]);
    expect(checkImports("core/attic/a.ts", "")).toEqual([expect.stringContaining('the module "attic"')]);
  });

  it.each([
    ["core/connection/a.ts", 'import { a } from "../config/a.js";'],
    ["core/connection/a.ts", 'import { b } from "./b.js";'],
    ["core/connection/a.ts", 'import { b } from "@toolport/base";'],
    ["core/connection/a.ts", 'import type { Client } from "@modelcontextprotocol/client";'],
    ["core/protocol/a.ts", 'await import("@modelcontextprotocol/client");'],
    ["core/transports/stdio/a.ts", 'import { spawn } from "node:child_process";'],
    ["adapters/langchain/tools.ts", 'import { tool } from "@langchain/core/tools";'],
    ["core/index.ts", 'export { createToolport } from "./create-toolport.js";'],
    ["core/toolport.ts", 'import { a } from "./execution/a.js";'],
    ["gateway/a.ts", 'import { a } from "@toolport/core/internal";'],
    ["cli/main.ts", 'import { a } from "@toolport/console";'],
    ["base/a.ts", '// import { a } from "../index.js";'],
  ])("lets %s pass with %s", (file, text) => {
    expect(checkImports(file, text)).toEqual([]);
  });
});

describe("findCycles", () => {
  it("names the files of each cycle, also one of types only", () => {
    const sources: Record<string, string> = {
      "a.ts": 'import { b } from "./b.js";',
      "b.ts": 'import type { C } from "./c.js";',
      "c.ts": 'import type { A } from "./a.js";',
      "d.ts": 'import { a } from "./a.js";',
    };
    expect(findCycles(Object.keys(sources), (file) => sources[file]!)).toEqual([["a.ts", "b.ts", "c.ts"]]);
  });
});
