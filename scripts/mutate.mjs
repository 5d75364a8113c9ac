/**
 * Mutation check: changes one place of a source file at a time and runs its tests, which have to fail.
 *
 *   npm run mutate                                   every file of the list below
 *   npm run mutate -- packages/base/src/util/callbacks.ts   one file of the list
 *   npm run mutate -- a.ts a.test.ts …               any file, with these tests
 *   --most <n>                                       mutations for each file, drawn with a fixed seed (default 40)
 *
 * Files on disk are never changed: Vitest gets the changed text when it loads the file. A mutation whose tests still pass is a
 * survivor. Some survivors are equivalent to the original; the others show what no test looks at.
 */
import { fork } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import ts from "typescript";

/** Files that matter, with the tests that have to notice a change. */
const FILES = {
  "packages/base/src/util/callbacks.ts": ["packages/base/src/util/emitter.test.ts"],
  "packages/core/src/execution/retry.ts": [
    "packages/core/src/execution/retry.test.ts",
    "packages/core/src/execution/retry-limits.test.ts",
  ],
  "packages/core/src/execution/breaker.ts": ["packages/core/src/execution/breaker.test.ts"],
  "packages/base/src/errors/foreign-error.ts": [
    "packages/base/src/errors/from-http-status.test.ts",
    "packages/base/src/errors/from-rpc-error.test.ts",
    "packages/base/src/errors/from-system-error.test.ts",
    "packages/base/src/errors/to-toolport-error.test.ts",
  ],
  "packages/core/src/catalog/names/assign-names.ts": ["packages/core/src/catalog/names/"],
  "packages/schemas/src/repair/create-repairer.ts": ["packages/schemas/src/repair/"],
  "packages/core/src/auth/obtain-once.ts": ["packages/core/src/auth/obtain-once.test.ts"],
  "packages/core/src/config/server-keys.ts": ["packages/core/src/config/server-keys.test.ts"],
  "packages/core/src/connection/reconnect-policy.ts": [
    "packages/core/src/connection/reconnect-policy.test.ts",
  ],
};

const SEED = 19;
/** A mutation may make a loop endless. */
const LIMIT_MS = 60_000;

const OPERATORS = {
  "<": "<=",
  "<=": "<",
  ">": ">=",
  ">=": ">",
  "===": "!==",
  "!==": "===",
  "&&": "||",
  "||": "&&",
  "??": "&&",
  "+": "-",
  "-": "+",
  "*": "/",
  "/": "*",
  "+=": "-=",
  "-=": "+=",
};

/** Every mutation of the text, as `{ start, end, text, line, what }`. */
function findMutations(text) {
  const source = ts.createSourceFile("file.ts", text, ts.ScriptTarget.Latest, true);
  const found = [];
  const add = (node, replacement, what) => {
    const start = node.getStart(source);
    const { line } = source.getLineAndCharacterOfPosition(start);
    found.push({ start, end: node.getEnd(), text: replacement, line: line + 1, what });
  };
  const negate = (node) => add(node, `!(${node.getText(source)})`, `negate ${short(node.getText(source))}`);
  const visit = (node) => {
    if (ts.isTypeNode(node) || ts.isImportDeclaration(node) || ts.isExportDeclaration(node)) return;
    if (ts.isInterfaceDeclaration(node) || ts.isTypeAliasDeclaration(node)) return;
    if (ts.isIfStatement(node) || ts.isWhileStatement(node)) negate(node.expression);
    if (ts.isConditionalExpression(node)) negate(node.condition);
    if (ts.isBinaryExpression(node)) {
      const operator = node.operatorToken.getText(source);
      if (operator in OPERATORS)
        add(node.operatorToken, OPERATORS[operator], `${operator} becomes ${OPERATORS[operator]}`);
    }
    const { body } = node;
    if (body !== undefined && ts.isBlock(body) && body.statements.length > 0)
      add(body, "{}", `empty the body of ${node.name?.getText(source) ?? "a function"}`);
    if (ts.isExpressionStatement(node)) add(node, ";", `drop ${short(node.getText(source))}`);
    if (ts.isNumericLiteral(node)) add(node, `(${node.getText(source)} + 1)`, `${node.getText(source)} + 1`);
    if (node.kind === ts.SyntaxKind.TrueKeyword) add(node, "false", "true becomes false");
    if (node.kind === ts.SyntaxKind.FalseKeyword) add(node, "true", "false becomes true");
    // A text with spaces is prose for people, which tests need not repeat.
    if (ts.isStringLiteral(node) && !node.text.includes(" ") && node.parent.name !== node)
      add(node, node.text === "" ? '"mutated"' : '""', `change ${node.getText(source)}`);
    ts.forEachChild(node, visit);
  };
  visit(source);
  return found;
}

const short = (text) => {
  const line = text.replace(/\s+/g, " ");
  return line.length > 60 ? `${line.slice(0, 57)}…` : line;
};

/** Draws `most` mutations, always the same, in the order of the file (Mulberry32). */
function draw(mutations, most) {
  let state = SEED;
  const next = () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return (mixed ^ (mixed >>> 14)) >>> 0;
  };
  return mutations
    .map((mutation) => ({ mutation, rank: next() }))
    .sort((a, b) => a.rank - b.rank)
    .slice(0, most)
    .map(({ mutation }) => mutation)
    .sort((a, b) => a.start - b.start);
}

/** In a process of its own: runs the tests with each text it is sent, and reports whether they pass. */
async function serveRuns(file, tests) {
  const { createVitest } = await import("vitest/node");
  const { loadConfigFromFile } = await import("vite");
  const path = resolve(file);
  const loaded = await loadConfigFromFile({ command: "serve", mode: "test" }, resolve("vitest.config.ts"));
  let text;
  const mutation = {
    name: "mutation",
    enforce: "pre",
    transform: (code, id) => (id.split("?")[0] === path ? { code: text ?? code, map: null } : undefined),
  };
  const vitest = await createVitest(
    "test",
    {
      config: false,
      watch: false,
      bail: 1,
      pool: "threads",
      maxWorkers: 1,
      include: ["**/*.test.ts"],
      testTimeout: 20_000,
      reporters: [{}],
      fsModuleCache: false,
    },
    { resolve: loaded.config.resolve, plugins: [mutation], logLevel: "silent" },
  );
  const specifications = await vitest.globTestSpecifications(tests);
  process.on("message", async (next) => {
    ({ text } = next);
    vitest.invalidateFile(path);
    const { testModules, unhandledErrors } = await vitest.runTestSpecifications(specifications);
    process.send({ passed: unhandledErrors.length === 0 && testModules.every((module) => module.ok()) });
  });
  process.send({ ready: specifications.length });
}

/** Starts `serveRuns`; `run` resolves to whether the tests pass with this text. */
async function startRunner(file, tests) {
  let child;
  const message = () => new Promise((done) => child.once("message", done));
  const start = async () => {
    child = fork(fileURLToPath(import.meta.url), ["--serve", file, ...tests], { silent: true });
    const { ready } = await message();
    if (ready === 0) throw new Error(`No test file matches ${tests.join(", ")}.`);
  };
  await start();
  return {
    async run(text) {
      child.send({ text });
      const answer = message();
      let timer;
      const late = new Promise((done) => {
        timer = setTimeout(done, LIMIT_MS, { passed: false, isLate: true });
      });
      const exited = new Promise((done) => child.once("exit", () => done({ passed: false, isLate: true })));
      const { passed, isLate } = await Promise.race([answer, late, exited]);
      clearTimeout(timer);
      child.removeAllListeners("exit");
      if (isLate) {
        child.kill("SIGKILL");
        await start();
      }
      return passed;
    },
    stop: () => child.kill("SIGKILL"),
  };
}

async function check(file, tests, most) {
  if (!existsSync(file))
    throw new Error(`${file} does not exist. Was it moved? Correct the list in scripts/mutate.mjs.`);
  const text = readFileSync(file, "utf8");
  const all = findMutations(text);
  const chosen = draw(all, most);
  const runner = await startRunner(file, tests);
  try {
    if (!(await runner.run(text))) throw new Error(`The tests of ${file} fail without any mutation.`);
    const survivors = [];
    for (const mutation of chosen) {
      const mutated = text.slice(0, mutation.start) + mutation.text + text.slice(mutation.end);
      if (await runner.run(mutated)) survivors.push(mutation);
    }
    const killed = chosen.length - survivors.length;
    console.log(`${file}: ${killed} of ${chosen.length} killed (${all.length} mutations in all)`);
    for (const { line, what } of survivors) console.log(`  survived: ${file}:${line} ${what}`);
    return { killed, total: chosen.length };
  } finally {
    runner.stop();
  }
}

async function main() {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: { most: { type: "string", default: "40" }, serve: { type: "boolean", default: false } },
  });
  const [file, ...tests] = positionals;
  if (values.serve) return serveRuns(file, tests);
  const listed =
    file === undefined ? Object.entries(FILES) : [[file, tests.length > 0 ? tests : FILES[file]]];
  if (listed[0][1] === undefined) throw new Error(`${file} is not in the list: name its test files too.`);
  const sum = { killed: 0, total: 0 };
  for (const [each, itsTests] of listed) {
    const { killed, total } = await check(each, itsTests, Number(values.most));
    sum.killed += killed;
    sum.total += total;
  }
  console.log(
    `${sum.killed} of ${sum.total} mutations killed (${Math.round((100 * sum.killed) / sum.total)} %)`,
  );
}

await main();
