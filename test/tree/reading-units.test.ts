/** Functions that a reader can take in at once, and files that are worth opening. */
import { readFileSync } from "node:fs";
import { join, posix } from "node:path";
import ts from "typescript";
import { describe, expect, it } from "vitest";
import { filesBelow, root } from "./source-files.js";

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
  "create-toolport.ts toToolport": FACTORY,
  "port/shared-parts.ts createSharedParts": FACTORY,
  "schema/typescript.ts createTypeWriter": FACTORY,
  "serve/policy/create-policy.ts enginePolicy": FACTORY,
  "serve/replicas/shared-notes.ts createSharedNotes": FACTORY,
  "serve/start-gateway.ts startGateway": STEPS,
  "state/create-store.ts createStore": FACTORY,
  "state/stores/postgres/index.ts createPostgresBackend": FACTORY,
  "state/stores/redis/index.ts createRedisBackend": FACTORY,
  "telemetry/open-telemetry.ts createTelemetry": FACTORY,
};

const sources = filesBelow(join(root, "src"), "").filter(
  (file) => /\.tsx?$/.test(file) && !/\.test\.tsx?$/.test(file),
);

/** Functions with more lines than the limit, as `file name`. */
function longFunctions(file: string): string[] {
  const source = ts.createSourceFile(
    file,
    readFileSync(join(root, "src", file), "utf8"),
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

describe("functions of src", () => {
  it(`have at most ${MAX_FUNCTION_LINES} lines, except those with a reason`, () => {
    expect(sources.flatMap(longFunctions).sort()).toEqual(Object.keys(LONG).sort());
  });
});

const SMALL_LINES = 40;
/** Files with less lines and one importer, and why they stand alone. */
const SMALL: Readonly<Record<string, string>> = {
  "adapters/agents/durable-object/plain.ts": "chosen by a condition of package.json",
  "adapters/anthropic/index.ts": "an entry point",
  "adapters/openai/index.ts": "an entry point",
  "testing/index.ts": "an entry point",
};

/** The files of `src` that import each file, dynamic imports included. */
function importersOf(): ReadonlyMap<string, ReadonlySet<string>> {
  const importers = new Map<string, Set<string>>();
  for (const file of sources) {
    const text = readFileSync(join(root, "src", file), "utf8");
    for (const { fileName } of ts.preProcessFile(text, true, true).importedFiles) {
      if (!fileName.startsWith(".")) continue;
      const target = posix.join(posix.dirname(file), fileName).replace(/\.js$/, ".ts");
      importers.set(target, (importers.get(target) ?? new Set()).add(file));
    }
  }
  return importers;
}

describe("files of src", () => {
  it(`with less than ${SMALL_LINES} lines have several importers, except those with a reason`, () => {
    const importers = importersOf();
    const small = sources.filter((file) => {
      const lines = readFileSync(join(root, "src", file), "utf8").split("\n").length - 1;
      return lines < SMALL_LINES && importers.get(file)?.size === 1;
    });
    expect(small.sort()).toEqual(Object.keys(SMALL).sort());
  });
});
