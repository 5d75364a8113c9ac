/** What has to be read before anything runs: the root door and the command line, in files and bytes. */
import { readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { describe, expect, it } from "vitest";
import { walkModules } from "./module-graph.js";
import { root } from "./source-files.js";

/** Entry, most files, most kilobytes, most kilobytes when packed. Whoever needs more says why in the commit. */
const BUDGETS = [
  ["index.js", 4, 392, 124],
  ["cli/main.js", 4, 36, 14],
] as const;

describe.each(BUDGETS)("dist/%s", (entry, files, kilobytes, packedKilobytes) => {
  const loaded = walkModules(join(root, "dist", entry), { conditions: ["node"], staticOnly: true })
    .filter(({ kind }) => kind === "file")
    .map(({ id }) => id);

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
