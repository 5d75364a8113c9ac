/**
 * Finishes the declarations that `tsc` wrote into `dist/`: keeps those that an entry point of package.json reaches, and copies
 * each to `.d.cts`, for programs in CommonJS.
 *
 * TypeScript decides by the extension of a declaration which copy of a package its imports refer to. A CommonJS program uses the
 * CommonJS copy of LangChain, whose classes differ from those of the ESM copy.
 */
import { readdir, readFile, rm, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import ts from "typescript";

const root = fileURLToPath(new URL("..", import.meta.url));

/** All leaf strings of a map of conditions. */
const leaves = (value) => (typeof value === "string" ? [value] : Object.values(value).flatMap(leaves));

/** Imports in a text: position and specifier. */
const importsOf = (text) =>
  ts
    .preProcessFile(text, true, false)
    .importedFiles.map(({ pos, fileName }) => ({ pos, specifier: fileName }));

/** Our own declarations that `text` in `file` imports. */
function neighboursOf(file, text, privateImports) {
  return importsOf(text).flatMap(({ specifier }) => {
    if (specifier.startsWith(".")) return [join(dirname(file), specifier)];
    return specifier.startsWith("#") ? leaves(privateImports[specifier]).map((path) => join(root, path)) : [];
  });
}

const declarationOf = (script) => script.replace(/\.c?js$/, ".d.ts");

/** The same text for CommonJS: imports of our files use the other extension. */
export function toCommonJs(text) {
  let written = text;
  for (const { pos, specifier } of importsOf(text).reverse()) {
    if (!/^\.{1,2}\/.*\.js$/.test(specifier)) continue;
    const end = written.indexOf(specifier, pos) + specifier.length;
    written = `${written.slice(0, end - ".js".length)}.cjs${written.slice(end)}`;
  }
  return written;
}

/** Works on `folder`; returns how many declarations were kept and removed. */
export async function finishDeclarations(folder = join(root, "dist")) {
  const manifest = JSON.parse(await readFile(join(root, "package.json"), "utf8"));
  const entries = leaves(manifest.exports).filter((target) => target.endsWith(".d.ts"));
  const kept = new Map(entries.map((target) => [join(root, target), ""]));
  // The map grows while it is walked.
  for (const file of kept.keys()) {
    const text = await readFile(file, "utf8");
    kept.set(file, text);
    for (const script of neighboursOf(file, text, manifest.imports)) {
      if (!kept.has(declarationOf(script))) kept.set(declarationOf(script), "");
    }
  }
  const all = (await readdir(folder, { recursive: true })).filter((name) => name.endsWith(".d.ts"));
  const surplus = all.map((name) => join(folder, name)).filter((file) => !kept.has(file));
  await Promise.all([
    ...surplus.map((file) => rm(file)),
    ...[...kept].map(([file, text]) => writeFile(file.replace(/\.d\.ts$/, ".d.cts"), toCommonJs(text))),
  ]);
  return { kept: kept.size, removed: surplus.length };
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? "").href) {
  const { kept, removed } = await finishDeclarations();
  if (process.argv.includes("--counts")) console.log({ kept, removed });
}
