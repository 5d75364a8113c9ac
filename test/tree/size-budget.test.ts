/** Limits files and bytes that load at start: the root entry point in both formats, and the command line. */
import { execFileSync } from "node:child_process";
import { existsSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { describe, expect, it } from "vitest";
import { walkModules } from "./module-graph.js";
import { BUDGETS } from "./size-budgets.js";
import { dist } from "./source-files.js";

const filesImported = (entry: string): string[] =>
  walkModules(join(dist, entry), { conditions: ["node"], staticOnly: true })
    .filter(({ kind }) => kind === "file")
    .map(({ id }) => id);

/** The text does not show which calls of `require` run at load time. */
function filesRequired(entry: string): string[] {
  const script = `require("./${entry}"); process.stdout.write(JSON.stringify(Object.keys(require.cache)))`;
  return JSON.parse(execFileSync(process.execPath, ["-e", script], { cwd: dist, encoding: "utf8" }));
}

it.each(["index.js", "index.cjs"])("dist/%s loads neither the registry nor lists of parameters", (entry) => {
  const loaded = entry.endsWith(".cjs") ? filesRequired(entry) : filesImported(entry);
  const maps = loaded.map((file) => `${file}.map`).filter((map) => existsSync(map));
  const sources = maps.flatMap((map) => JSON.parse(readFileSync(map, "utf8")).sources as string[]);
  expect(sources.length).toBeGreaterThan(100);
  expect(sources.filter((source) => /(?:registry\/src\/|schemas\/src\/parameters)/.test(source))).toEqual([]);
});

describe.each(BUDGETS)("dist/%s", (entry, files, kilobytes, packedKilobytes) => {
  const loaded = entry.endsWith(".cjs") ? filesRequired(entry) : filesImported(entry);

  it(`loads at most ${files} files, and none of a package`, () => {
    expect(loaded.length).toBeLessThanOrEqual(files);
    expect(loaded.filter((file) => file.includes("node_modules"))).toEqual([]);
  });

  it(`of at most ${kilobytes} KB, ${packedKilobytes} KB packed`, () => {
    const size = loaded.reduce((sum, file) => sum + statSync(file).size, 0);
    expect(size / 1024).toBeLessThanOrEqual(kilobytes);
    const packed = gzipSync(Buffer.concat(loaded.map((file) => readFileSync(file)))).length;
    expect(packed / 1024).toBeLessThanOrEqual(packedKilobytes);
  });
});
