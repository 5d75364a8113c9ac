/** The core without the rest of `src/`: it compiles, and its unit tests pass. */
import { execFile } from "node:child_process";
import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, posix } from "node:path";
import { promisify } from "node:util";
import { expect, onTestFinished, test } from "vitest";
import { isCore } from "./core-files.js";
import { findImports } from "./import-statements.js";
import { repositoryFiles, root } from "./source-files.js";

const run = promisify(execFile);
const files = repositoryFiles();
const known = new Set(files);

/** The files of the repository that a file imports. */
const importsOf = (file: string): string[] =>
  findImports(file, readFileSync(join(root, file), "utf8")).flatMap(({ specifier }) => {
    if (/^toolport(\/|$)/.test(specifier)) return [`package ${specifier}`];
    if (!specifier.startsWith(".")) return [];
    const path = posix.join(posix.dirname(file), specifier);
    return [path, path.replace(/\.js$/, ".ts")].filter((each) => known.has(each));
  });

/** A test of the core alone. Some compare it with other modules, or use a server of `toolport/testing`. */
function needsOnlyCore(test: string): boolean {
  const seen = new Set<string>();
  const open = [test];
  for (let file = open.pop(); file !== undefined; file = open.pop()) {
    if (seen.has(file)) continue;
    seen.add(file);
    if (file.startsWith("package ") || (file.startsWith("src/") && !isCore(file))) return false;
    if (/\.[mc]?ts$/.test(file)) open.push(...importsOf(file));
  }
  return true;
}

test("the core compiles and passes its unit tests without the rest", async () => {
  const folder = mkdtempSync(join(tmpdir(), "toolport-core-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const copied = files.filter((file) => isCore(file) || /^test\/(support|fixtures|contract)\//.test(file));
  for (const file of [...copied, "package.json", "tsconfig.json", "vitest.shared.ts"])
    cpSync(join(root, file), join(folder, file));
  symlinkSync(join(root, "node_modules"), join(folder, "node_modules"), "junction");
  const tests = copied.filter((file) => /^src\/.*(?<!\.slow)\.test\.ts$/.test(file));
  const alone = tests.filter(needsOnlyCore);
  expect(alone.length).toBeGreaterThan(tests.length * 0.8);

  const sources = { extends: "./tsconfig.json", include: ["src"], exclude: ["src/**/*.test.ts"] };
  writeFileSync(join(folder, "tsconfig.core.json"), JSON.stringify(sources));
  const compiler = join(root, "node_modules/typescript-native/bin/tsc");
  await run(process.execPath, [compiler, "-p", "tsconfig.core.json", "--noEmit"], { cwd: folder });

  // The tests share the workers, as the project "unit" does.
  const config = `import shared from "./vitest.shared.js";
export default { ...shared, test: { ...shared.test, include: ${JSON.stringify(alone)}, reporters: ["dot"],
  isolate: false, setupFiles: ["test/support/shared-worker.ts"] } };`;
  writeFileSync(join(folder, "vitest.config.ts"), config);
  const vitest = join(root, "node_modules/vitest/vitest.mjs");
  const output = { cwd: folder, maxBuffer: 64 * 1024 * 1024 };
  await run(process.execPath, [vitest, "run"], output).catch((error: { stdout: string }) => {
    throw new Error(error.stdout, { cause: error });
  });
}, 600_000);
