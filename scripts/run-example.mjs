/**
 * Runs a program of examples/ from a clone: `npm run example chat`. Compiles it first, because Node runs TypeScript only since 22.18.
 * The program imports `toolport` as it would from node_modules.
 */
import { cpSync, existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import ts from "typescript";

const root = fileURLToPath(new URL("..", import.meta.url));
const examples = join(root, "examples");
const names = readdirSync(examples).filter((name) => entryOf(join(examples, name)) !== undefined);

function entryOf(folder) {
  return ["main.ts", "main.cjs"].find((file) => existsSync(join(folder, file)));
}

/** Compiles the folder of an example into another one and returns the path of its program. */
function compile(name, out) {
  rmSync(out, { recursive: true, force: true });
  cpSync(join(examples, name), out, { recursive: true });
  for (const file of readdirSync(out).filter((file) => file.endsWith(".ts"))) {
    const compilerOptions = {
      target: ts.ScriptTarget.ES2022,
      module: ts.ModuleKind.ESNext,
      rewriteRelativeImportExtensions: true,
    };
    const { outputText } = ts.transpileModule(readFileSync(join(out, file), "utf8"), { compilerOptions });
    writeFileSync(join(out, file.replace(/\.ts$/, ".js")), outputText);
  }
  return join(out, entryOf(out).replace(/\.ts$/, ".js"));
}

const [name = ""] = process.argv.slice(2);
if (names.includes(name)) {
  await import(pathToFileURL(compile(name, join(root, ".cache", "examples", name))).href);
} else {
  console.error(
    `There is no program ${JSON.stringify(name)} in examples/. Choose one of: ${names.join(", ")}`,
  );
  process.exitCode = 1;
}
