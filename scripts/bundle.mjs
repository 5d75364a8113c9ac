/**
 * Bundles the sources into `dist/`, one file for each door and shared chunks between them.
 *
 * Hundreds of small modules cost more to find and open than to run. What is loaded lazily in the sources stays lazy, and
 * what two doors share stays one chunk, so that a class is one class whichever door it came through. Names of functions and
 * classes are kept: stack traces of users should be readable without a source map.
 */
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { rolldown } from "rolldown";
import ts from "typescript";

const root = fileURLToPath(new URL("..", import.meta.url));

/** A sixth of what has to be read before anything runs. */
const NAMES_OF_VARIABLES = { toplevel: false, keepNames: { function: true, class: true } };

/** Started by their path. */
const PROGRAMS = ["demo/main", "demo/notes-server", "demo/broken-server"];
/** Find other files from where they stand, so they stand where their source does. */
const PLACED = ["demo/servers", "console/page-files"];

/** All files that somebody names: doors, commands, variants for other runtimes. */
async function entries() {
  const { exports: doors, imports, bin } = JSON.parse(await readFile(join(root, "package.json"), "utf8"));
  const targets = [doors, imports, bin].flatMap(leaves);
  const built = targets.filter((target) => /^\.\/dist\/.*\.js$/.test(target));
  const names = new Set([
    ...built.map((target) => target.slice("./dist/".length, -".js".length)),
    ...PROGRAMS,
  ]);
  return Object.fromEntries([...names].map((name) => [name, sourceOf(name)]));
}

const sourceOf = (name) => join(root, "src", `${name}.ts`);

const leaves = (value) => (typeof value === "string" ? [value] : Object.values(value).flatMap(leaves));

/** The oldest Node that is supported has no `using` of its own, and the bundler's helpers for it are a package. */
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

async function withBuild(input, use) {
  const build = await rolldown({
    input,
    cwd: root,
    platform: "neutral",
    tsconfig: join(root, "tsconfig.build.json"),
    // Packages, parts of Node, and the names that package.json resolves differently for each runtime.
    external: (id) => !/^(?:\.|\/|[A-Za-z]:[\\/])/.test(id),
    treeshake: { moduleSideEffects: false },
    plugins: [withoutUsing],
  });
  try {
    return await use(build);
  } finally {
    await build.close();
  }
}

/** Every module that comes with an entry whether it is needed or not. */
async function modulesOf(entry) {
  const { output } = await withBuild({ entry }, (build) => build.generate({ format: "esm" }));
  const chunks = new Map(output.map((chunk) => [chunk.fileName, chunk]));
  const loaded = new Set(output.filter((chunk) => chunk.isEntry));
  // A set that grows while it is gone through: what is imported without a condition comes along.
  for (const chunk of loaded)
    for (const name of chunk.imports) if (chunks.has(name)) loaded.add(chunks.get(name));
  return new Set([...loaded].flatMap((chunk) => chunk.moduleIds));
}

/** Bundles into `folder`, and returns what was written. */
export async function bundle(folder = join(root, "dist")) {
  const input = await entries();
  // Left alone, every combination of doors would get chunks of its own, and the root door dozens of files to open.
  const core = await modulesOf(input.index);
  // The command line needs very little of it to say what it can do.
  const start = await modulesOf(input["cli/main"]);
  const { output } = await withBuild(input, (build) =>
    build.write({
      dir: folder,
      format: "esm",
      entryFileNames: "[name].js",
      chunkFileNames: ({ name }) => (PLACED.includes(name) ? "[name].js" : "chunks/[name]-[hash].js"),
      codeSplitting: {
        // Or the first group would take along what all others need as well.
        includeDependenciesRecursively: false,
        groups: [
          ...PLACED.map((name) => ({ name, test: (id) => id === sourceOf(name), priority: 2 })),
          { name: "start", test: (id) => core.has(id) && start.has(id), priority: 1 },
          { name: "core", test: (id) => core.has(id) },
          { name: "command", test: (id) => start.has(id) && id !== input["cli/main"] },
        ],
      },
      sourcemap: true,
      // Comments, blanks and the names of variables go; those of functions and classes stay.
      minify: { compress: false, mangle: NAMES_OF_VARIABLES, codegen: { removeWhitespace: true } },
    }),
  );
  return output;
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? "").href) await bundle();
