/** Functions that a reader can take in at once, and files that are worth opening. */
import { readFileSync } from "node:fs";
import { posix } from "node:path";
import ts from "typescript";
import { describe, expect, it } from "vitest";
import { sourceFiles, sourcePath } from "./source-files.js";

const MAX_FUNCTION_LINES = 80;

/** Its lines are the methods of the object that it returns. */
const FACTORY = "factory";
/** Its lines are steps, one after another, that share most of their values. */
const STEPS = "steps";

/** Every longer function, and why it is one. */
const LONG: Readonly<Record<string, string>> = {
  "adapters/agents/with-mcp.ts mixMcp": FACTORY,
  "code/create-code-mode.ts createCodeMode": FACTORY,
  "code/run-program.ts runProgram": STEPS,
  "console/actions.ts createActions": FACTORY,
  "core/create-toolport.ts toToolport": FACTORY,
  "core/port/shared-parts.ts createSharedParts": FACTORY,
  "schemas/typescript.ts createTypeWriter": FACTORY,
  "gateway/policy/create-policy.ts enginePolicy": FACTORY,
  "gateway/replicas/shared-notes.ts createSharedNotes": FACTORY,
  "gateway/start-gateway.ts startGateway": STEPS,
  "stores/create-store.ts createStore": FACTORY,
  "stores/postgres/index.ts createPostgresBackend": FACTORY,
  "stores/sql-records.ts recordMethods": FACTORY,
  "stores/redis/index.ts createRedisBackend": FACTORY,
  "base/telemetry/open-telemetry.ts createTelemetry": FACTORY,
};

const sources = sourceFiles();

/** Functions with more lines than the limit, as `file name`. */
function longFunctions(file: string): string[] {
  const source = ts.createSourceFile(
    file,
    readFileSync(sourcePath(file), "utf8"),
    ts.ScriptTarget.Latest,
    true,
  );
  const lineAt = (position: number) => source.getLineAndCharacterOfPosition(position).line;
  const found: string[] = [];
  const visit = (node: ts.Node): void => {
    if (ts.isFunctionLike(node) && "body" in node && node.body !== undefined) {
      const lines = lineAt(node.getEnd()) - lineAt(node.getStart()) + 1;
      const { parent } = node;
      const name = node.name ?? (ts.isVariableDeclaration(parent) ? parent.name : undefined);
      if (lines > MAX_FUNCTION_LINES) found.push(`${file} ${name?.getText() ?? "(anonymous)"}`);
    }
    ts.forEachChild(node, visit);
  };
  visit(source);
  return found;
}

describe("functions", () => {
  it(`have at most ${MAX_FUNCTION_LINES} lines, except those with a reason`, () => {
    expect(sources.flatMap(longFunctions).sort()).toEqual(Object.keys(LONG).sort());
  });
});

const SMALL_LINES = 40;
/** Files with less lines and one importer, and why they stand alone. */
const SMALL: Readonly<Record<string, string>> = {
  "adapters/agents/durable-object/plain.ts": "chosen by a condition of package.json",
};

/** The files that import each file, dynamic imports included. */
function importersOf(): ReadonlyMap<string, ReadonlySet<string>> {
  const importers = new Map<string, Set<string>>();
  for (const file of sources) {
    const text = readFileSync(sourcePath(file), "utf8");
    for (const { fileName } of ts.preProcessFile(text, true, true).importedFiles) {
      if (!fileName.startsWith(".")) continue;
      const target = posix.join(posix.dirname(file), fileName).replace(/\.js$/, ".ts");
      const others = importers.get(target) ?? new Set();
      importers.set(target, others.add(file));
      // What a package exports, other packages import.
      if (/^[^/]+\/(?:index|internal)\.ts$/.test(file)) others.add("other packages");
    }
  }
  return importers;
}

describe("files", () => {
  it(`with less than ${SMALL_LINES} lines have several importers, except those with a reason`, () => {
    const importers = importersOf();
    const small = sources.filter((file) => {
      const lines = readFileSync(sourcePath(file), "utf8").split("\n").length - 1;
      return lines < SMALL_LINES && importers.get(file)?.size === 1;
    });
    expect(small.sort()).toEqual(Object.keys(SMALL).sort());
  });
});
