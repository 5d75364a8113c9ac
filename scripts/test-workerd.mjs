/**
 * Holds the store of a Durable Object against the store contract inside workerd, the runtime of Cloudflare's Workers:
 * `npm run test:workerd`. Miniflare is fetched into `.cache/`, never into package.json.
 */
import { readFileSync } from "node:fs";
import { dirname, join, relative, resolve } from "node:path";
import ts from "typescript";
import { fetchMiniflare, root } from "./fetch-tool.mjs";

const { Miniflare } = await fetchMiniflare();

const miniflare = new Miniflare({
  modules: collectModules(join(root, "test/fixtures/hosts/state-worker.ts")),
  compatibilityDate: "2026-07-01",
  durableObjects: { STATE: { className: "StateObject", useSQLite: true } },
});
let failed = 0;
try {
  const ask = async (query) => (await miniflare.dispatchFetch(`http://localhost/${query}`)).json();
  const names = await ask("");
  for (const key of ["no", "yes"]) {
    for (const [index, name] of names.entries()) {
      const { error } = await ask(`?case=${index}&key=${key}`);
      console.log(`${error ? "FAIL" : "pass"}  ${name}${key === "yes" ? " (with a key)" : ""}`);
      if (error) console.log(error.replace(/^/gm, "      "));
      if (error) failed++;
    }
  }
  console.log(`\n${2 * names.length - failed} of ${2 * names.length} cases passed in workerd`);
} finally {
  await miniflare.dispose();
}
process.exitCode = failed === 0 ? 0 : 1;

/** The file and all it imports as JavaScript. An import of anything but our own files fails here: workerd has none. */
function collectModules(entry, seen = new Map()) {
  const text = readFileSync(entry, "utf8");
  const { outputText } = ts.transpileModule(text, {
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
