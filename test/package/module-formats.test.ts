/**
 * The package as npm packs it, in projects of every kind: TypeScript finds the declarations under each module resolution, and the
 * compiled program runs with the real LangChain. `npm run test:package`.
 */
import { execFile } from "node:child_process";
import { cp, mkdir, mkdtemp, readFile, realpath, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import ts from "typescript";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { published, root } from "../tree/source-files.js";
import { packInto } from "./pack.js";

const run = promisify(execFile);
const manifest = JSON.parse(await readFile(join(published, "package.json"), "utf8"));
const entryPoints = Object.keys(manifest.exports)
  .filter((path) => path !== "./package.json")
  .map((path) => path.replace(/^\./, manifest.name));
const PROGRAM = fileURLToPath(new URL("./programs/agent.ts", import.meta.url));
const LIBRARY = fileURLToPath(new URL("./programs/inferred.ts", import.meta.url));

/** Packages that a user installs besides Toolport. Its dependencies and peers come from package.json. */
const INSTALLED = ["langchain", "@types/node", "@types/pg", "zod"];

interface Project {
  /** Exact version of TypeScript. */
  readonly typescript: "5.9.3" | "6.0.3";
  readonly type: "commonjs" | "module";
  readonly options: Readonly<Record<string, unknown>>;
}

const PROJECTS: Readonly<Record<string, Project>> = {
  "Node16 in a CommonJS package": {
    typescript: "6.0.3",
    type: "commonjs",
    options: { module: "Node16", moduleResolution: "Node16" },
  },
  "NodeNext in a CommonJS package": {
    typescript: "6.0.3",
    type: "commonjs",
    options: { module: "NodeNext", moduleResolution: "NodeNext" },
  },
  "Node10 with TypeScript 5.9": {
    typescript: "5.9.3",
    type: "commonjs",
    options: { module: "CommonJS", moduleResolution: "Node10" },
  },
  "Node10 with TypeScript 6.0": {
    typescript: "6.0.3",
    type: "commonjs",
    options: { module: "CommonJS", moduleResolution: "Node10", ignoreDeprecations: "6.0" },
  },
  "bundler in an ESM package": {
    typescript: "6.0.3",
    type: "module",
    options: { module: "ESNext", moduleResolution: "Bundler" },
  },
  "NodeNext in an ESM package": {
    typescript: "6.0.3",
    type: "module",
    options: { module: "NodeNext", moduleResolution: "NodeNext" },
  },
};

const COMMON = {
  target: "ES2022",
  strict: true,
  esModuleInterop: true,
  skipLibCheck: true,
  types: ["node"],
};

let home: string;
/** The folder where Toolport is installed. */
let unpacked: string;

beforeAll(async () => {
  home = await realpath(await mkdtemp(join(tmpdir(), "toolport-packed-")));
  const modules = join(home, "node_modules");
  unpacked = join(modules, manifest.name);
  await mkdir(unpacked, { recursive: true });
  await run("tar", ["-xzf", await packInto(home), "--strip-components=1", "-C", unpacked]);
  const { dependencies, peerDependencies } = manifest;
  for (const name of new Set([...Object.keys({ ...dependencies, ...peerDependencies }), ...INSTALLED])) {
    await mkdir(dirname(join(modules, name)), { recursive: true });
    await symlink(join(root, "node_modules", name), join(modules, name), "junction");
  }
}, 120_000);

afterAll(() => rm(home, { recursive: true, force: true }));

/** The compiler in this version: the installed one, or one from the registry, saved in `.cache/`. */
async function compilerOf(version: Project["typescript"]): Promise<string> {
  if (version === ts.version) return join(root, "node_modules/typescript");
  const { fetchTool } = await import("../../scripts/fetch-tool.mjs" as string);
  return fetchTool("typescript", "typescript", version);
}

async function makeProject({ type, options }: Project, folder: string): Promise<void> {
  await mkdir(folder);
  const compilerOptions = { ...COMMON, ...options, rootDir: ".", outDir: "out" };
  const imports = entryPoints.map((name, index) => `export type * as entry${index} from "${name}";`);
  await Promise.all([
    writeFile(join(folder, "package.json"), JSON.stringify({ private: true, type })),
    writeFile(join(folder, "tsconfig.json"), JSON.stringify({ compilerOptions, files: ["program.ts"] })),
    writeFile(join(folder, "entry-points.ts"), imports.join("\n")),
    cp(PROGRAM, join(folder, "program.ts")),
    cp(LIBRARY, join(folder, "library.ts")),
  ]);
}

/** Errors in Toolport's own declarations, which `skipLibCheck` would hide, and the checked files. */
function checkDeclarations(folder: string, { options }: Project) {
  const file = join(folder, "entry-points.ts");
  const json = { ...COMMON, ...options, skipLibCheck: false, noEmit: true };
  const read = ts.convertCompilerOptionsFromJson(json, folder);
  const program = ts.createProgram([file], read.options);
  const sources = program
    .getSourceFiles()
    .filter(({ fileName }) => fileName === file || fileName.startsWith(`${unpacked}/`));
  const errors = [
    ...read.errors,
    ...program.getOptionsDiagnostics(),
    ...sources.flatMap((source) => program.getSyntacticDiagnostics(source)),
    ...sources.flatMap((source) => program.getSemanticDiagnostics(source)),
  ].map((each) => `${each.file?.fileName}: ${ts.flattenDiagnosticMessageText(each.messageText, " ")}`);
  const declarations = sources.map(({ fileName }) => fileName).filter((name) => name !== file);
  return { errors, declarations };
}

/** Errors of a library whose exported types are inferred: each result of a public function has a type that an entry point names. */
function checkLibrary(folder: string, { options }: Project): string[] {
  const json = { ...COMMON, ...options, rootDir: ".", declaration: true, emitDeclarationOnly: true };
  const read = ts.convertCompilerOptionsFromJson(json, folder);
  const program = ts.createProgram([join(folder, "library.ts")], { ...read.options, outDir: folder });
  const diagnostics = [...ts.getPreEmitDiagnostics(program), ...program.getDeclarationDiagnostics()];
  return diagnostics.map((each) => ts.flattenDiagnosticMessageText(each.messageText, " "));
}

describe.each(Object.entries(PROJECTS))("%s", (name, project) => {
  let folder: string;
  beforeAll(async () => {
    folder = join(home, name.replaceAll(" ", "-"));
    await makeProject(project, folder);
  });

  it("compiles a program for LangChain, and runs it", async () => {
    const compiler = join(await compilerOf(project.typescript), "bin/tsc");
    const compiled = await run(process.execPath, [compiler], { cwd: folder }).catch((error) => error);
    expect(compiled.stdout).toBe("");
    // Disables `require` of ESM in Node: the CommonJS build must work without it.
    const flags = project.type === "commonjs" ? ["--no-experimental-require-module"] : [];
    const { stdout, stderr } = await run(process.execPath, [...flags, "out/program.js"], { cwd: folder });
    expect(stderr).toBe("");
    expect(JSON.parse(stdout)).toEqual({
      agent: { typed: false, answer: "Hello Ada", isTool: true },
      port: {
        typed: false,
        texts: ["Hello Ada", "Hello Ada", "Hello Ada"],
        page: 200,
        langChain: true,
        // One of each server, and read_artifact.
        aiSdk: 4,
        refused: "INVALID_ARGUMENTS",
        sdk: "function",
        saved: true,
      },
      config: false,
    });
  }, 120_000);

  it.runIf(project.typescript === ts.version)(
    "finds declarations in its own format for every entry point, without errors",
    () => {
      const { errors, declarations } = checkDeclarations(folder, project);
      const extension = project.type === "commonjs" ? ".d.cts" : ".d.ts";
      expect(declarations.length).toBeGreaterThan(entryPoints.length);
      expect(declarations.filter((file) => !file.endsWith(extension))).toEqual([]);
      expect(errors).toEqual([]);
    },
    120_000,
  );

  it.runIf(project.typescript === ts.version)(
    "writes declarations for a library that exports results of every entry point",
    () => expect(checkLibrary(folder, project)).toEqual([]),
    120_000,
  );
});
