/**
 * The commands that Windows would be asked to run. Nothing here runs on Windows: `process.platform` says so before the modules
 * are loaded that look at it, and a recorder takes the place of `cmd.exe`.
 */
import { once } from "node:events";
import { chmodSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { text } from "node:stream/consumers";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import type { spawnOnWindows } from "./spawn-on-windows.js";

const RECORDER = "console.log(JSON.stringify([process.argv0, ...process.argv.slice(2)]));";
/** `cross-spawn` reads the shebang of a file; Windows programs have none. */
const CMD = `#!${process.execPath}\nconsole.log(JSON.stringify(process.argv.slice(1)));`;

const base = mkdtempSync(join(tmpdir(), "windows-"));
const at = (path: string) => join(base, path);
const { platform } = process;
const { comspec, PATHEXT } = process.env;
let start: typeof spawnOnWindows;

const require = createRequire(import.meta.url);
function forgetCrossSpawn(): void {
  for (const file of Object.keys(require.cache)) {
    if (/[\\/](cross-spawn|which|isexe)[\\/]/.test(file)) delete require.cache[file];
  }
}

beforeAll(async () => {
  write("cmd.exe", CMD);
  write("recorder.cjs", RECORDER);
  for (const path of ["node/node.exe", "work/local.exe", "work/planted.cmd", "work/planted.exe"]) {
    mkdirSync(dirname(at(path)), { recursive: true });
    symlinkSync(process.execPath, at(path));
  }
  const batchFiles = ["node/npx.cmd", "tools (x86)/run.bat", "work/node_modules/.bin/shim.cmd"];
  for (const path of batchFiles) write(path, "@echo off\r\nnode %*\r\n");
  Object.defineProperty(process, "platform", { value: "win32" });
  process.env["comspec"] = at("cmd.exe");
  process.env["PATHEXT"] = ".COM;.EXE;.BAT;.CMD";
  // Another test file of this worker may have loaded `cross-spawn` for the real platform.
  forgetCrossSpawn();
  const crossSpawn = require("cross-spawn");
  vi.doMock("cross-spawn", () => ({ default: crossSpawn }));
  vi.resetModules();
  start = (await import("./spawn-on-windows.js")).spawnOnWindows;
});

afterAll(() => {
  // The next file needs one for the real platform again.
  forgetCrossSpawn();
  vi.doUnmock("cross-spawn");
  vi.resetModules();
  Object.defineProperty(process, "platform", { value: platform });
  for (const [name, value] of Object.entries({ comspec, PATHEXT })) {
    if (value === undefined) delete process.env[name];
    else process.env[name] = value;
  }
  rmSync(base, { recursive: true });
});

function write(path: string, content: string): void {
  mkdirSync(dirname(at(path)), { recursive: true });
  writeFileSync(at(path), content);
  chmodSync(at(path), 0o755);
}

/** The started program and the arguments it received. */
async function run(command: string, args: readonly string[] = []): Promise<string[]> {
  const env = { Path: `.;relative;"${at("node")}";${at("tools (x86)")}`, PATHEXT: ".COM;.EXE;.BAT;.CMD" };
  const child = start(command, args, { env, cwd: at("work"), stdio: ["ignore", "pipe", "inherit"] });
  const [output] = await Promise.all([text(child.stdout!), once(child, "close")]);
  return JSON.parse(output);
}

/** The command line for `cmd.exe`. */
async function lineOf(command: string, args: readonly string[]): Promise<string> {
  const [program, ...rest] = await run(command, args);
  expect(program).toBe(at("cmd.exe"));
  expect(rest.slice(0, 3)).toEqual(["/d", "/s", "/c"]);
  expect(rest).toHaveLength(4);
  return rest[3]!;
}

describe("a program", () => {
  it.each([
    ["node", "node/node.exe"],
    ["node.exe", "node/node.exe"],
    ["./local", "work/local.exe"],
    ["./local.exe", "work/local.exe"],
    [at("work/local.exe"), "work/local.exe"],
  ])("%s is started without a shell, its arguments untouched", async (command, expected) => {
    const args = ["a b", 'c"&d', "%PATH%", "", "e\nf"];
    expect(await run(command, [at("recorder.cjs"), ...args])).toEqual([at(expected), ...args]);
  });

  it("in the working directory is not found by its bare name", () => {
    for (const name of ["planted", "planted.cmd", "planted.exe", "local"]) {
      expect(() => start(name, [], { env: { PATH: at("node") }, cwd: at("work") })).toThrow(
        expect.objectContaining({ code: "ENOENT" }),
      );
    }
  });

  it.each(["missing", "./missing", at("missing.exe")])("that is missing fails at once: %s", (command) => {
    expect(() => start(command, [], { env: { PATH: at("node") } })).toThrow(
      expect.objectContaining({ code: "ENOENT" }),
    );
  });
});

describe("a batch file", () => {
  it.each([
    ["a plain argument", ["-y"], '^"-y^"'],
    ["a blank", ["a b"], '^"a^ b^"'],
    ["nothing", [""], '^"^"'],
    ["operators", ["a&calc|b>c<d"], '^"a^&calc^|b^>c^<d^"'],
    ["a quotation mark", ['a"b'], '^"a\\^"b^"'],
    ["a backslash before a quotation mark", ['a\\"b'], '^"a\\\\\\^"b^"'],
    ["a trailing backslash", ["C:\\dir\\"], '^"C:\\dir\\\\^"'],
    ["a variable", ["%PATH%"], '^"^%PATH^%^"'],
    ["delayed expansion", ["!PATH!"], '^"^!PATH^!^"'],
    ["a caret", ["a^b"], '^"a^^b^"'],
    ["JSON", ['{"a":"b c"}'], '^"{\\^"a\\^":\\^"b^ c\\^"}^"'],
    ["brackets", ["(a)"], '^"^(a^)^"'],
    ["several", ["a", "b&c"], '^"a^" ^"b^&c^"'],
  ])("gets %s", async (_, args, quoted) => {
    expect(await lineOf("npx", args)).toBe(`"${at("node/npx.cmd")} ${quoted}"`);
  });

  it("may be in a folder with spaces and brackets", async () => {
    const escaped = at("tools (x86)/run.bat").replace("tools (x86)", "tools^ ^(x86^)");
    expect(await lineOf("run", ["a"])).toBe(`"${escaped} ^"a^""`);
  });

  it("of npm, which parses its arguments twice, gets them escaped twice", async () => {
    const file = at("work/node_modules/.bin/shim.cmd");
    expect(await lineOf("./node_modules/.bin/shim", ["a&b"])).toBe(`"${file} ^^^"a^^^&b^^^""`);
  });

  it.each([
    ["a line break", ["a\nb"]],
    ["a carriage return", ["a\rb"]],
    ["an operator after a quotation mark", ['a"&calc']],
    ["an operator after a quotation mark of another argument", ['a"', "b&calc"]],
    ["a bracket after a quotation mark", ['a")']],
  ])("is not started with %s, which it would misread", (_, args) => {
    const env = { PATH: at("node") };
    expect(() => start("npx", args, { env })).toThrow(expect.objectContaining({ code: "EINVAL" }));
  });

  it("that is not started fails with an error that says what to do", async () => {
    const { explainSpawnError } = await import("./spawn-environment.js");
    const cause = Object.assign(new Error("no"), { code: "EINVAL" });
    const error = await explainSpawnError({ server: "files", command: "npx", cwd: undefined }, cause);
    expect(error).toMatchObject({ code: "SPAWN_FAILED", server: "files", errno: "EINVAL", retryable: false });
    expect(error.message).toContain('"npx" is a batch file, which cannot receive these arguments');
    expect(error.message).toContain('from "args"');
  });

  it("is started with an operator between two quotation marks of the same argument", async () => {
    expect(await lineOf("npx", ['"a"', "b&c"])).toBe(`"${at("node/npx.cmd")} ^"\\^"a\\^"^" ^"b^&c^""`);
  });
});
