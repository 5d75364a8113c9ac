/**
 * Bundles the sources into `dist/`, one file for each entry point and shared chunks between them.
 *
 * Hundreds of small modules cost more to find and open than to run. Dynamic imports of the sources stay separate chunks, and
 * code that two entry points share is one chunk, so that both use the same classes. Line breaks and the names of functions and
 * classes are kept: users can read a stack trace without a source map. See docs/decisions/bundle.md.
 */
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { rolldown } from "rolldown";
import ts from "typescript";

const root = fileURLToPath(new URL("..", import.meta.url));
const packages = join(root, "packages");
const published = join(packages, "toolport");

/** Renaming variables saves a sixth of the bytes that are read before any code runs. */
const NAMES_OF_VARIABLES = { toplevel: false, keepNames: { function: true, class: true } };

/** Started by their path. */
const PROGRAMS = ["cli/demo/notes-server", "cli/demo/broken-server", "code/worker/main"];
/** These find other files by relative path, so they keep the path of their source. */
const PLACED = ["cli/demo/servers", "console/page-files"];

/** The two builds: files of package.json with this extension, and the content of their chunks. */
const FORMATS = {
  // The command line shares code with the root entry point, so a group must not include all of its dependencies.
  esm: { extension: ".js", programs: PROGRAMS, recursive: false, output: { format: "esm" } },
  // `require` everywhere: a CommonJS program gets the CommonJS copy of every package, and a test runner
  // without support for `import()` (Jest by default) can load everything.
  cjs: {
    extension: ".cjs",
    programs: [],
    recursive: true,
    // Stack traces show lines of the sources; only the maps of the ESM build contain the sources.
    output: { format: "cjs", strict: true, dynamicImportInCjs: false, sourcemapExcludeSources: true },
    define: { "import.meta.url": "require('node:url').pathToFileURL(__filename).href" },
  },
};

/** Source file of every entry that package.json names in one format, by the name of the built file without its extension. */
async function entries({ extension, programs }) {
  const { exports, imports, bin } = JSON.parse(await readFile(join(published, "package.json"), "utf8"));
  const named = [exports, imports, bin]
    .flatMap(leaves)
    .filter((target) => target.startsWith("./dist/") && target.endsWith(extension))
    .map((target) => target.slice("./dist/".length, -extension.length));
  return Object.fromEntries([...new Set([...named, ...programs])].map((name) => [name, sourceOf(name)]));
}

/** `cli/main` is `main` of the package `cli`; `index` is that of the published package. */
function sourceOf(name) {
  const [, folder = "toolport", path] = /^(?:([^/]+)\/)?(.+)$/.exec(name);
  return join(packages, folder, "src", `${path}.ts`);
}

const leaves = (value) => (typeof value === "string" ? [value] : Object.values(value).flatMap(leaves));

/** The oldest supported Node has no `using`, and the bundler's helpers for it are a package. */
const withoutUsing = {
  name: "without-using",
  transform(code, id) {
    if (!/^\s*(?:await )?using /m.test(code)) return null;
    const { target, module } = { target: ts.ScriptTarget.ES2022, module: ts.ModuleKind.ESNext };
    const compilerOptions = { target, module, verbatimModuleSyntax: true, sourceMap: true };
    const { outputText, sourceMapText } = ts.transpileModule(code, { compilerOptions, fileName: id });
    return { code: outputText, map: sourceMapText, moduleType: "js" };
  },
};

/**
 * `packages/cli/src/commands.ts` imports the row of every command from the file of the command. Here it imports a copy of that file
 * with the row and what the row names: the rest is loaded when the command runs.
 */
const rowsOfCommands = {
  name: "rows-of-commands",
  resolveId: (source, importer) =>
    importer === sourceOf("cli/commands") && source.startsWith("./commands/")
      ? `${sourceOf(`cli/${source.slice(2, -".js".length)}`)}?row`
      : null,
  load: async (id) =>
    id.endsWith("?row")
      ? { code: rowOf(await readFile(id.slice(0, -"?row".length), "utf8")), moduleType: "ts" }
      : null,
};

/** The exports with a name like `listCommand`, and the statements that they need. */
function rowOf(text) {
  const { statements } = ts.createSourceFile("row.ts", text, ts.ScriptTarget.Latest, true);
  const isRow = (statement) => /^export const \w+Command\b/.test(statement.getText());
  const kept = new Set(statements.filter(isRow));
  // The set grows while the loop runs.
  for (const statement of kept) {
    const words = new Set(statement.getText().match(/(?<![.\w])[a-zA-Z]\w*/g));
    for (const other of statements) if (namesOf(other).some((name) => words.has(name))) kept.add(other);
  }
  return statements
    .filter((statement) => kept.has(statement))
    .map((statement) => statement.getText())
    .join("\n");
}

/** What a statement declares or imports. */
function namesOf(statement) {
  if (ts.isImportDeclaration(statement))
    return (statement.importClause?.namedBindings?.elements ?? []).map(({ name }) => name.text);
  if (ts.isVariableStatement(statement))
    return statement.declarationList.declarations.map(({ name }) => name.getText());
  return statement.name === undefined ? [] : [statement.name.text];
}

async function withBuild({ input, define = {}, recursive = true }, use) {
  const build = await rolldown({
    input,
    cwd: root,
    platform: "neutral",
    tsconfig: join(root, "tsconfig.build.json"),
    // Packages of others, parts of Node, and the names that package.json resolves differently for each runtime.
    external: (id, importer) =>
      !/^(?:\.|\/|[A-Za-z]:[\\/]|@toolport\/)/.test(id) && (id.startsWith("node:") || !isBundled(importer)),
    // An entry point exports the same names as its source; rolldown guarantees that only with `recursive`, so a test checks it.
    preserveEntrySignatures: recursive ? "strict" : "allow-extension",
    transform: { define },
    treeshake: { moduleSideEffects: false },
    // Each row of a command imports the file of that command, which other commands may import as well. How long plugins take is no news.
    checks: { ineffectiveDynamicImport: false, pluginTimings: false },
    // No comment with the source file above every module: source maps contain it.
    experimental: { attachDebugInfo: "none" },
    plugins: [withoutUsing, rowsOfCommands],
  });
  try {
    return await use(build);
  } finally {
    await build.close();
  }
}

/** The demo's servers contain the SDK they are built with: it is no dependency. */
const isBundled = (importer) =>
  importer === sourceOf("cli/demo/server-sdk") || importer?.includes("/node_modules/");

/** Every module that an entry imports statically. */
async function modulesOf(entry) {
  const { output } = await withBuild({ input: { entry } }, (build) => build.generate({ format: "esm" }));
  const chunks = new Map(output.map((chunk) => [chunk.fileName, chunk]));
  const loaded = new Set(output.filter((chunk) => chunk.isEntry));
  // The set grows while the loop runs: static imports are added.
  for (const chunk of loaded)
    for (const name of chunk.imports) if (chunks.has(name)) loaded.add(chunks.get(name));
  return new Set([...loaded].flatMap((chunk) => chunk.moduleIds));
}

/** Bundles both formats into `folder`, and returns the written files. */
export async function bundle(folder = join(published, "dist")) {
  const written = [];
  for (const format of Object.values(FORMATS)) written.push(...(await bundleFormat(format, folder)));
  await writeLicenses(written, folder);
  return written;
}

/** The licenses of the packages that a chunk contains, beside the demo. */
async function writeLicenses(written, folder) {
  const modules = written.flatMap(({ moduleIds = [] }) => moduleIds);
  const packages = modules.flatMap((id) => /.*\/node_modules\/(?:@[^/]+\/)?[^/]+/.exec(id)?.[0] ?? []);
  const texts = [...new Set(packages)].sort().map(async (path) => {
    const { name, version, license } = JSON.parse(await readFile(join(path, "package.json"), "utf8"));
    return `${name} ${version}, ${license}\n\n${await readFile(join(path, "LICENSE"), "utf8")}`;
  });
  await writeFile(
    join(folder, "cli/demo/LICENSES.txt"),
    (await Promise.all(texts)).join(`\n${"-".repeat(80)}\n\n`),
  );
}

async function bundleFormat(format, folder) {
  const { extension, output, define, recursive } = format;
  const input = await entries(format);
  // By default every combination of entry points gets its own chunks, and the root entry point would read dozens of files.
  const core = await modulesOf(input.index);
  // The command line needs only a small part of it for `--help`.
  const main = input["cli/main"];
  const start = main === undefined ? new Set() : await modulesOf(main);
  const { output: written } = await withBuild({ input, define, recursive }, (build) =>
    build.write({
      ...output,
      dir: folder,
      entryFileNames: `[name]${extension}`,
      chunkFileNames: ({ name }) =>
        PLACED.includes(name) ? `[name]${extension}` : `chunks/[name]-[hash]${extension}`,
      codeSplitting: {
        includeDependenciesRecursively: recursive,
        groups: [
          ...PLACED.map((name) => ({ name, test: (id) => id === sourceOf(name), priority: 2 })),
          { name: "start", test: (id) => core.has(id) && start.has(id), priority: 1 },
          { name: "core", test: (id) => core.has(id) },
          { name: "command", test: (id) => start.has(id) && id !== main },
        ],
      },
      sourcemap: true,
      comments: { legal: true, annotation: true, jsdoc: false },
      // Keep line breaks: Node prints the whole line of an uncaught error, and a bundle on one line would hide its message.
      minify: { compress: false, mangle: NAMES_OF_VARIABLES, codegen: { removeWhitespace: false } },
    }),
  );
  return written;
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? "").href) await bundle();
