/** package.json matches the built files: every entry point loads in both formats and has types, and dist has no stale files. */
import { execFile } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { basename, join } from "node:path";
import { promisify } from "node:util";
import { beforeAll, describe, expect, it } from "vitest";
import { findImports } from "./import-statements.js";
import { dist, filesBelow, published, root, sourceFiles, sourcePath } from "./source-files.js";

const run = promisify(execFile);
const manifest = JSON.parse(readFileSync(join(published, "package.json"), "utf8"));
const entryPoints = Object.keys(manifest.exports).filter((entry) => entry !== "./package.json");

/** Every target in a map of conditions. */
function targetsOf(value: unknown): string[] {
  if (typeof value === "string") return [value];
  return Object.values(value ?? {}).flatMap(targetsOf);
}

beforeAll(() => {
  if (!existsSync(dist)) throw new Error("dist is missing. Run `npm run build` first.");
});

describe("package.json", () => {
  it("points only to built files", () => {
    const { exports, imports, bin, typesVersions } = manifest;
    const targets = [exports, imports, bin, typesVersions].flatMap(targetsOf);
    expect(targets.length).toBeGreaterThan(4);
    expect(targets.filter((target) => !existsSync(join(published, target)))).toEqual([]);
  });

  it.each(entryPoints)("gives the entry point %s both formats, each with its types first", (entry) => {
    const { import: esm, require: cjs, ...others } = manifest.exports[entry];
    expect(others).toEqual({});
    const base = esm.default.replace(/\.js$/, "");
    expect(Object.entries(esm)).toEqual([
      ["types", `${base}.d.ts`],
      ["default", `${base}.js`],
    ]);
    expect(Object.entries(cjs)).toEqual([
      ["types", `${base}.d.cts`],
      ["default", `${base}.cjs`],
    ]);
  });

  it("names the same declarations for compilers that do not read `exports`", () => {
    const { ".": rootEntry, "./package.json": _, ...others } = manifest.exports;
    expect({ main: manifest.main, types: manifest.types }).toEqual({
      main: rootEntry.require.default,
      types: rootEntry.require.types,
    });
    const expected = Object.entries<{ require: { types: string } }>(others).map(
      ([name, { require: cjs }]) => [name.replace("./", ""), [cjs.types]],
    );
    expect(manifest.typesVersions).toEqual({ "*": Object.fromEntries(expected) });
  });

  it("has an entry point for every index that users import from", () => {
    const indexes = sourceFiles("/index.ts").map(
      (file) => `./dist/${file.replace(/^toolport\//, "").replace(/\.ts$/, ".js")}`,
    );
    // What other packages use of these is no entry point.
    const inside = ["base", "core", "http", "stores"].map((name) => `./dist/${name}/index.js`);
    const targets = new Set(targetsOf(manifest.exports));
    const closed = indexes.filter((file) => !targets.has(file) && !inside.includes(file));
    expect(closed).toEqual([]);
  });
});

describe("dist", () => {
  it("contains no file without a source", () => {
    const scripts = [...filesBelow(dist, ".js"), ...filesBelow(dist, ".cjs")];
    const declarations = [...filesBelow(dist, ".d.ts"), ...filesBelow(dist, ".d.cts")];
    const isChunk = (file: string) => file.startsWith("chunks/");
    const sources = [...declarations, ...scripts.filter((file) => !isChunk(file))];
    const stale = sources.filter(
      (file) =>
        !existsSync(
          sourcePath(file.replace(/^(?=[^/]*$)/, "toolport/").replace(/(\.d\.c?ts|\.c?js)$/, ".ts")),
        ),
    );
    expect(stale).toEqual([]);
    const text = scripts.map((file) => readFileSync(join(dist, file), "utf8")).join("\n");
    expect(scripts.filter((file) => isChunk(file) && !text.includes(basename(file)))).toEqual([]);
  });

  it("loads no ES module in its CommonJS build, so that it runs where `import()` does not", () => {
    const found = filesBelow(dist, ".cjs").map((file) =>
      findImports(file, readFileSync(join(dist, file), "utf8")),
    );
    expect(found.flat().filter(({ isRequire }) => isRequire).length).toBeGreaterThan(100);
    expect(found.flat().filter(({ isRequire }) => !isRequire)).toEqual([]);
  });

  // In a separate process, because the test runner resolves `toolport` to the sources. `require` of ESM is disabled, so that only
  // the CommonJS build can be loaded.
  it.each(entryPoints)("has the same exports for %s, imported and required", async (entry) => {
    const name = JSON.stringify(entry.replace(/^\./, manifest.name));
    const script = `import(${name}).then((imported) => process.stdout.write(
      JSON.stringify([imported, require(${name})].map((module) => Object.keys(module).sort()))))`;
    const { stdout, stderr } = await run(
      process.execPath,
      ["--no-experimental-require-module", "-e", script],
      { cwd: root },
    );
    expect(stderr).toBe("");
    const [imported, required] = JSON.parse(stdout);
    expect(imported.length).toBeGreaterThan(0);
    expect(required).toEqual(imported);
  });
});
