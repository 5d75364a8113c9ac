/** An uncaught error of the built package: Node prints the source line, so lines must be short. */
import { execFile } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { describe, expect, it } from "vitest";
import { dist, root } from "../tree/source-files.js";

const run = promisify(execFile);

/** Maximum length of a line in a built file, and of the output of an uncaught error. */
const LONGEST_LINE = 4_096;
const LONGEST_OUTPUT = 4_096;

const BAD_SERVER = `createToolport({ mcpServers: { files: { transport: "pigeon" } } })`;
const MISSING_PROGRAM = `createToolport({ mcpServers: { files: { command: "no-such-mcp-server" } } }).callTool("files__a")`;
const esm = (code: string) => [
  "--input-type=module",
  "-e",
  `import { createToolport } from "toolport"; await ${code}`,
];
const cjs = (code: string) => ["-e", `const { createToolport } = require("toolport"); ${code}`];

const PROGRAMS = [
  ["thrown in ESM", esm(BAD_SERVER), "mcpServers.files", "port/read-options.ts"],
  ["thrown in CommonJS", cjs(BAD_SERVER), "mcpServers.files", "port/read-options.ts"],
  ["a rejection in ESM", esm(MISSING_PROGRAM), '"no-such-mcp-server" was not found', "spawn-environment.ts"],
  [
    "a rejection in CommonJS",
    cjs(MISSING_PROGRAM),
    '"no-such-mcp-server" was not found',
    "spawn-environment.ts",
  ],
] as const;

/** The output that the next program of a pipeline reads. */
async function readThroughPipe(args: readonly string[]): Promise<string> {
  const options = { cwd: root, maxBuffer: 2 ** 24 };
  const { stdout } = await run("sh", ["-c", '"$@" 2>&1 | cat', "sh", process.execPath, ...args], options);
  return stdout;
}

describe.each(PROGRAMS)("%s", (_name, args, message, source) => {
  it("shows its message and a short stack through a pipe", async () => {
    const output = await readThroughPipe(args);
    expect(output.length).toBeLessThan(LONGEST_OUTPUT);
    expect(output).toContain(message);
    expect(output).toMatch(/\n {4}at .*\/dist\/chunks\//);
    expect(output.trimEnd()).toMatch(/Node\.js v\d+\.\d+\.\d+$/);
  });

  it("names the lines of the sources with --enable-source-maps", async () => {
    const output = await readThroughPipe(["--enable-source-maps", ...args]);
    const [, file = "", line] = new RegExp(`/packages/(\\S*${source}):(\\d+)`).exec(output) ?? [];
    expect(file).toContain(source);
    // The line that creates the error, not any line of the file.
    expect(readFileSync(join(root, "packages", file), "utf8").split("\n")[Number(line) - 1]).toMatch(
      /new \w+Error/,
    );
    expect(output.length).toBeLessThan(LONGEST_OUTPUT);
  });
});

it("every built module has line breaks", () => {
  const modules = readdirSync(dist, { recursive: true, encoding: "utf8" }).filter(
    // The page of the console is for browsers.
    (name) => /\.c?js$/.test(name) && !name.startsWith(join("console", "page")),
  );
  const long = modules.filter((name) =>
    readFileSync(join(dist, name), "utf8")
      .split("\n")
      // A list of names throws nothing, so it is never part of the output of an error.
      .some((line) => line.length > LONGEST_LINE && !line.startsWith("export {")),
  );
  expect(modules.length).toBeGreaterThan(50);
  expect(long).toEqual([]);
});
