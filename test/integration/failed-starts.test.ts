/** Programs that exit at start, each in its own way: the error has the line with the reason. */
import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createToolport, type ServerEntry } from "toolport";
import { afterAll, beforeAll, describe, expect, test } from "vitest";

const WHY = "GITHUB_TOKEN is required";

interface Program {
  readonly file: string;
  readonly source: string;
  /** The text that the message must contain. */
  readonly expected: string;
}

const NODE: Record<string, Program> = {
  "an error thrown in an ES module": {
    file: "thrown.mjs",
    source: `throw new Error("${WHY}");`,
    expected: `stderr: "Error: ${WHY}"`,
  },
  "an error thrown in a CommonJS module": {
    file: "thrown.cjs",
    source: `function main() { throw new TypeError("${WHY}"); }\nmain();`,
    expected: `stderr: "TypeError: ${WHY}"`,
  },
  "an error that is printed before process.exit": {
    file: "exit.mjs",
    source: `console.error("${WHY}"); process.exit(1);`,
    expected: `stderr: "${WHY}"`,
  },
  "an error that main() catches and prints with its stack": {
    file: "logged.mjs",
    source: `async function main() { throw new Error("${WHY}"); }
main().catch((error) => { console.error("Fatal error in main():", error); process.exit(1); });`,
    expected: `stderr: "Fatal error in main(): Error: ${WHY}"`,
  },
  "a syntax error": {
    file: "syntax.cjs",
    source: "const token = ;",
    expected: `stderr: "SyntaxError: Unexpected token ';'"`,
  },
  "a rejection that is not handled": {
    file: "rejected.mjs",
    source: `Promise.reject(new Error("${WHY}")); setInterval(() => {}, 1000);`,
    expected: `stderr: "Error: ${WHY}"`,
  },
  "a rejection with a text": {
    file: "rejected-text.mjs",
    source: `Promise.reject("${WHY}"); setInterval(() => {}, 1000);`,
    expected: `The promise rejected with the reason \\"${WHY}\\".`.replaceAll("\\", ""),
  },
  "a text that is thrown": {
    file: "thrown-text.cjs",
    source: `throw "${WHY}";`,
    expected: `stderr: "${WHY}"`,
  },
  "a package that an ES module misses": {
    file: "missing.mjs",
    source: 'import "no-such-package-anywhere";',
    expected: `stderr: "Error [ERR_MODULE_NOT_FOUND]: Cannot find package 'no-such-package-anywhere'`,
  },
  "a package that a CommonJS module misses": {
    file: "missing.cjs",
    source: 'require("no-such-package-anywhere");',
    expected: `stderr: "Error: Cannot find module 'no-such-package-anywhere' Require stack:`,
  },
  "an error with a cause and more properties": {
    file: "cause.mjs",
    source: `class SetupError extends Error { name = "SetupError"; code = "E_SETUP"; hints = { see: ["the guide"] }; }
throw new SetupError("could not start", { cause: new Error("${WHY}") });`,
    expected: `stderr: "SetupError: could not start / [cause]: Error: ${WHY}"`,
  },
  "an error of several errors": {
    file: "several.mjs",
    source: `throw new AggregateError([new Error("${WHY}"), new Error("no network")], "two problems");`,
    expected: `stderr: "AggregateError: two problems / Error: ${WHY} / Error: no network"`,
  },
  "a message of several lines": {
    file: "lines.mjs",
    source: `throw new Error(${JSON.stringify(`[\n  {\n    "path": "env"\n  }\n]\n${WHY}`)});`,
    expected: `stderr: "Error: [ { "path": "env" } ] ${WHY}"`,
  },
  "a deep stack": {
    file: "deep.mjs",
    source: `Error.stackTraceLimit = 200;
function f${"x".repeat(100)}(depth) { if (depth === 0) throw new Error("${WHY}"); f${"x".repeat(100)}(depth - 1); }
f${"x".repeat(100)}(150);`,
    expected: `stderr: "Error: ${WHY}"`,
  },
};

const PYTHON: Record<string, Program> = {
  "an exception": {
    file: "thrown.py",
    source: `def main():\n    raise RuntimeError("${WHY}")\nmain()\n`,
    expected: `stderr: "RuntimeError: ${WHY}"`,
  },
  "an exception raised from another": {
    file: "chain.py",
    source: `try:\n    {}["TOKEN"]\nexcept KeyError as error:\n    raise RuntimeError("${WHY}") from error\n`,
    expected: `stderr: "KeyError: 'TOKEN' / RuntimeError: ${WHY}"`,
  },
  "sys.exit with a text": {
    file: "exit.py",
    source: `import sys\nsys.exit("${WHY}")\n`,
    expected: `stderr: "${WHY}"`,
  },
  "a syntax error": {
    file: "syntax.py",
    source: "token = \n",
    expected: "SyntaxError: invalid syntax",
  },
};

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "toolport-starts-"));
});
afterAll(() => rmSync(folder, { recursive: true }));

async function startAll(command: string, programs: Record<string, Program>) {
  const entry = ({ file, source }: Program): ServerEntry => {
    writeFileSync(join(folder, file), source);
    return { command, args: [join(folder, file)] };
  };
  const mcpServers = Object.fromEntries(
    Object.entries(programs).map(([name, program]) => [name, entry(program)]),
  );
  await using toolport = createToolport({ mcpServers });
  return (await toolport.connect()).servers;
}

const hasPython = (() => {
  try {
    return execFileSync("python3", ["--version"], { stdio: "pipe" }).length > 0;
  } catch {
    return false;
  }
})();

describe.each([
  { runtime: "Node", command: process.execPath, programs: NODE, isThere: true },
  { runtime: "Python", command: "python3", programs: PYTHON, isThere: hasPython },
])("$runtime", ({ command, programs, isThere }) => {
  let servers: Awaited<ReturnType<typeof startAll>> = {};
  beforeAll(async () => {
    if (isThere) servers = await startAll(command, programs);
  });

  test.skipIf(!isThere).each(Object.keys(programs))("%s", (name) => {
    const { error, state } = servers[name]!;
    expect(state).toBe("failed");
    expect(error?.code).toBe("SPAWN_FAILED");
    expect(error?.message).toContain(programs[name]!.expected);
    expect(error?.message).not.toMatch(/ at |Node\.js v|File "/);
  });
});
