/** The store of a Durable Object passes the store contract inside workerd, with and without a key. */
import { readFileSync } from "node:fs";
import { dirname, join, relative, resolve } from "node:path";
import ts from "typescript";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { leaseCases } from "../contract/store-lease-cases.js";
import { recordCases } from "../contract/store-record-cases.js";
import { watchCases } from "../contract/store-watch-cases.js";
import { type Miniflare, openMiniflare } from "../support/workerd.js";
import { root } from "../tree/source-files.js";

/** In the order of test/fixtures/hosts/state-worker.ts. */
const cases = [...recordCases, ...leaseCases, ...watchCases].map(({ name }, index) => ({ name, index }));

let miniflare: Miniflare;
beforeAll(async () => {
  miniflare = await openMiniflare({
    modules: collectModules(join(root, "test/fixtures/hosts/state-worker.ts")),
    durableObjects: { STATE: { className: "StateObject", useSQLite: true } },
  });
});
afterAll(() => miniflare?.dispose());

describe.each(["no", "yes"])("with a key: %s", (key) => {
  it.each(cases)("$name", async ({ index }) => {
    const answer = await miniflare.dispatchFetch(`http://localhost/?case=${index}&key=${key}`);
    expect(await answer.json()).toEqual({});
  });
});

interface Module {
  readonly type: "ESModule";
  readonly path: string;
  readonly contents: string;
}

/** The file and all its imports as JavaScript. Only our own files may be imported: workerd has no packages. */
function collectModules(entry: string, seen = new Map<string, Module>()): Module[] {
  const { outputText } = ts.transpileModule(readFileSync(entry, "utf8"), {
    compilerOptions: {
      target: ts.ScriptTarget.ES2022,
      module: ts.ModuleKind.ESNext,
      verbatimModuleSyntax: true,
    },
  });
  const path = relative(root, entry).replace(/\.ts$/, ".js").replaceAll("\\", "/");
  seen.set(entry, { type: "ESModule", path, contents: outputText });
  for (const { fileName } of ts.preProcessFile(outputText).importedFiles) {
    if (!fileName.startsWith("."))
      throw new Error(`${path} imports ${fileName}, which workerd does not have.`);
    const imported = resolve(dirname(entry), fileName).replace(/\.js$/, ".ts");
    if (!seen.has(imported)) collectModules(imported, seen);
  }
  return [...seen.values()];
}
