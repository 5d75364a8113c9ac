/** Limits files and bytes that load at start: the root entry point in both formats, and the command line. */
import { execFileSync } from "node:child_process";
import { existsSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { rolldown } from "rolldown";
import { describe, expect, it } from "vitest";
import { walkModules } from "./module-graph.js";
import { BUDGETS, WORKER_BUDGET } from "./size-budgets.js";
import { dist, root } from "./source-files.js";

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

const WORKER = `import { createToolport } from "toolport";
export default {
  async fetch(request, env) {
    const toolport = createToolport({ mcpServers: JSON.parse(env.SERVERS) });
    return Response.json(await toolport.callTool("files__read", {}));
  },
};`;

it(`a Worker in one file has at most ${WORKER_BUDGET.kilobytes} KB, ${WORKER_BUDGET.packedKilobytes} KB packed`, async () => {
  const name = "\0worker";
  const build = await rolldown({
    input: name,
    cwd: root,
    platform: "neutral",
    resolve: {
      // Those of wrangler.
      conditionNames: ["workerd", "worker", "browser", "import", "default"],
      mainFields: ["browser", "module", "main"],
      alias: { toolport: join(dist, "index.js") },
    },
    external: /^(?:node|cloudflare):/,
    logLevel: "silent",
    plugins: [
      {
        name: "worker",
        resolveId: (id) => (id === name ? id : null),
        load: (id) => (id === name ? WORKER : null),
      },
    ],
  });
  const { output } = await build.generate({ format: "esm", codeSplitting: false, minify: true });
  await build.close();
  expect(output).toHaveLength(1);
  expect(output[0].code).toContain("export");
  expect(output[0].code.length / 1024).toBeLessThanOrEqual(WORKER_BUDGET.kilobytes);
  expect(gzipSync(output[0].code).length / 1024).toBeLessThanOrEqual(WORKER_BUDGET.packedKilobytes);
});
