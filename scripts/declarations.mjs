/**
 * Publishes the declarations that `tsc` wrote into `.cache/declarations`: copies those that an entry point of the published package
 * reaches into its `dist/`, once as `.d.ts` and once as `.d.cts`, for programs in CommonJS.
 *
 * An import of another package of `packages/` becomes a relative one there, and a name that package.json resolves differently for each
 * runtime leads to the file for Node: compilers that resolve modules as Node 10 did cannot read `imports`. TypeScript decides by the extension of a declaration
 * which copy of a package its imports refer to. A CommonJS program uses the CommonJS copy of LangChain, whose classes differ from
 * those of the ESM copy.
 */
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { dirname, join, posix } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import ts from "typescript";

const root = fileURLToPath(new URL("..", import.meta.url));
const packages = join(root, "packages");

/** All leaf strings of a map of conditions. */
const leaves = (value) => (typeof value === "string" ? [value] : Object.values(value).flatMap(leaves));

/** Imports in a text: position and specifier. */
const importsOf = (text) =>
  ts
    .preProcessFile(text, true, false)
    .importedFiles.map(({ pos, fileName }) => ({ pos, specifier: fileName }));

/** `text` with every specifier of an import replaced by what `replace` returns for it. */
function withSpecifiers(text, replace) {
  let written = text;
  for (const { pos, specifier } of importsOf(text).reverse()) {
    const start = written.indexOf(specifier, pos);
    written = written.slice(0, start) + replace(specifier) + written.slice(start + specifier.length);
  }
  return written;
}

/** The same text for CommonJS: imports of our files use the other extension. */
export const toCommonJs = (text) =>
  withSpecifiers(text, (specifier) => specifier.replace(/^(\.{1,2}\/.*)\.js$/, "$1.cjs"));

/** Where `dist/` has the script of a source: `cli/main.js` for `src/main.ts` of `cli`, `index.js` for that of the published package. */
const placeOf = (folder, source) =>
  posix.join(folder === "toolport" ? "" : folder, source.replace(/^\.\/src\/(.*)\.ts$/, "$1.js"));

const manifestOf = async (folder) =>
  JSON.parse(await readFile(join(packages, folder, "package.json"), "utf8"));

/** The text of a declaration, with relative imports only. `script` is the path of its script in `dist/`. */
async function readDeclaration(script, from) {
  const [folder, ...rest] = script.includes("/") ? script.split("/") : ["toolport", script];
  const text = await readFile(join(from, folder, "src", declarationOf(rest.join("/"))), "utf8");
  const targets = new Map();
  const { imports } = await manifestOf("toolport");
  for (const { specifier } of importsOf(text)) {
    const [, name, path] = /^@toolport\/([^/]+)(.*)$/.exec(specifier) ?? [];
    if (name !== undefined)
      targets.set(specifier, placeOf(name, (await manifestOf(name)).exports[`.${path}`]));
    else if (specifier.startsWith("#"))
      targets.set(specifier, imports[specifier].default.default.slice("./dist/".length));
  }
  return withSpecifiers(text, (specifier) =>
    targets.has(specifier)
      ? posix.relative(posix.dirname(script), targets.get(specifier)).replace(/^(?!\.)/, "./")
      : specifier,
  );
}

const declarationOf = (script) => script.replace(/\.c?js$/, ".d.ts");

/** Copies from `from` to `folder`; returns how many declarations there are. */
export async function publishDeclarations(
  from = join(root, ".cache/declarations"),
  folder = join(packages, "toolport/dist"),
) {
  const manifest = await manifestOf("toolport");
  const scripts = new Map(
    leaves(manifest.exports)
      .filter((target) => target.endsWith(".d.ts"))
      .map((target) => [target.slice("./dist/".length).replace(/\.d\.ts$/, ".js"), ""]),
  );
  // The map grows while it is walked.
  for (const script of scripts.keys()) {
    const text = await readDeclaration(script, from);
    scripts.set(script, text);
    for (const { specifier } of importsOf(text)) {
      const neighbour = posix.join(posix.dirname(script), specifier);
      if (specifier.startsWith(".") && !scripts.has(neighbour)) scripts.set(neighbour, "");
    }
  }
  for (const [script, text] of scripts) {
    const file = join(folder, declarationOf(script));
    await mkdir(dirname(file), { recursive: true });
    await writeFile(file, text);
    await writeFile(file.replace(/\.d\.ts$/, ".d.cts"), toCommonJs(text));
  }
  return scripts.size;
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? "").href) {
  const count = await publishDeclarations();
  if (process.argv.includes("--counts")) console.log({ count });
}
