/**
 * Holds the store of a Durable Object against the store contract inside workerd, the runtime of Cloudflare's Workers:
 * `node scripts/test-workerd.mjs`. Miniflare is fetched into `.cache/`, never into package.json.
 */
import { spawn } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { mkdir } from "node:fs/promises";
import { createRequire } from "node:module";
import { dirname, join, relative, resolve } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import ts from "typescript";

const MINIFLARE_VERSION = "4.20260730.0";

const root = fileURLToPath(new URL("..", import.meta.url));
const cache = join(root, ".cache", "miniflare");
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

async function fetchMiniflare() {
  const manifest = join(cache, "node_modules", "miniflare", "package.json");
  const installed = existsSync(manifest) && JSON.parse(readFileSync(manifest, "utf8")).version;
  if (installed !== MINIFLARE_VERSION) await npmInstall(`miniflare@${MINIFLARE_VERSION}`);
  return import(pathToFileURL(createRequire(manifest).resolve("miniflare")).href);
}

async function npmInstall(what) {
  console.log(`Fetching ${what} …`);
  await mkdir(cache, { recursive: true });
  const args = [
    "install",
    "--prefix",
    cache,
    "--no-audit",
    "--no-fund",
    "--ignore-scripts",
    "--silent",
    what,
  ];
  const npm = process.env.npm_execpath;
  const [command, words] = npm ? [process.execPath, [npm, ...args]] : ["npm", args];
  const shell = !npm && process.platform === "win32";
  const child = spawn(command, words, { stdio: "inherit", shell });
  const code = await new Promise((done, fail) => child.once("error", fail).once("close", done));
  if (code !== 0) throw new Error(`npm could not fetch ${what} (exit code ${code}).`);
}

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
