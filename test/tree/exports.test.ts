/** package.json and the built files agree: every door opens, has its types, and nothing stale lies in dist. */
import { execFile } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { basename, join } from "node:path";
import { promisify } from "node:util";
import { beforeAll, describe, expect, it } from "vitest";
import { filesBelow, root } from "./source-files.js";

const run = promisify(execFile);
const manifest = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));
const doors = Object.keys(manifest.exports).filter((door) => door !== "./package.json");

/** Every string at the leaves of a map of conditions. */
function targetsOf(value: unknown): string[] {
  if (typeof value === "string") return [value];
  return Object.values(value ?? {}).flatMap(targetsOf);
}

beforeAll(() => {
  if (!existsSync(join(root, "dist"))) throw new Error("dist is missing. Run `npm run build` first.");
});

describe("package.json", () => {
  it("points only at files that were built", () => {
    const targets = [manifest.exports, manifest.imports, manifest.bin].flatMap(targetsOf);
    expect(targets.length).toBeGreaterThan(4);
    expect(targets.filter((target) => !existsSync(join(root, target)))).toEqual([]);
  });

  it.each(doors)("gives the door %s its types first", (door) => {
    const conditions = Object.keys(manifest.exports[door]);
    expect(conditions[0]).toBe("types");
    expect(manifest.exports[door].types).toMatch(/\.d\.ts$/);
  });

  it("has a door for every index of a room that users import from", () => {
    const indexes = filesBelow(join(root, "src"), "index.ts")
      .filter((file) => /(^|\/)index\.ts$/.test(file))
      .map((file) => `./dist/${file.replace(/\.ts$/, ".js")}`);
    const inside = ["./dist/cli/", "./dist/console/", "./dist/demo/"];
    const targets = new Set(targetsOf(manifest.exports));
    const closed = indexes.filter(
      (file) => !targets.has(file) && !inside.some((folder) => file.startsWith(folder)),
    );
    expect(closed).toEqual([]);
  });
});

describe("dist", () => {
  it("holds nothing whose source is gone", () => {
    const dist = join(root, "dist");
    const scripts = filesBelow(dist, ".js");
    const isChunk = (file: string) => file.startsWith("chunks/");
    const sources = [...filesBelow(dist, ".d.ts"), ...scripts.filter((file) => !isChunk(file))];
    const stale = sources.filter(
      (file) => !existsSync(join(root, "src", file.replace(/(\.d\.ts|\.js)$/, ".ts"))),
    );
    expect(stale).toEqual([]);
    const text = scripts.map((file) => readFileSync(join(dist, file), "utf8")).join("\n");
    expect(scripts.filter((file) => isChunk(file) && !text.includes(basename(file)))).toEqual([]);
  });

  // In a process of its own, because the test runner would send `toolport` to the sources.
  it.each(doors)("opens the door %s by import and by require", async (door) => {
    const name = door.replace(/^\./, manifest.name);
    const count = `const n = Object.keys(m).length; if (n === 0) throw new Error("no exports"); process.stdout.write("ok");`;
    const imported = `import(${JSON.stringify(name)}).then((m) => { ${count} })`;
    const required = `const m = require(${JSON.stringify(name)}); ${count}`;
    for (const script of [imported, required]) {
      const { stdout } = await run(process.execPath, ["--no-warnings", "-e", script], {
        cwd: root,
        timeout: 15_000,
      });
      expect(stdout).toBe("ok");
    }
  });
});
