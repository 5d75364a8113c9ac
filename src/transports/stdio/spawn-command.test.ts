import { describe, expect, it } from "vitest";
import { resolveSpawnCommand } from "./spawn-command.js";
import { mergeEnvironment, safeEnvironment } from "./spawn-environment.js";

const files = new Set([
  "C:\\node\\npx.cmd",
  "C:\\node\\node.exe",
  "C:\\tools\\run.bat",
  "C:\\work\\local.exe",
]);
const windows = (command: string, args: string[] = [], cwd?: string) =>
  resolveSpawnCommand({
    command,
    args,
    cwd,
    platform: "win32",
    env: { Path: "C:\\windows;C:\\node", PATHEXT: ".COM;.EXE;.BAT;.CMD", ComSpec: "C:\\windows\\cmd.exe" },
    isFile: (path) => files.has(path),
  });

describe("resolveSpawnCommand", () => {
  it("leaves a command alone on POSIX systems", () => {
    const input = { command: "npx", args: ["a b"], env: {}, isFile: () => true };
    for (const platform of ["linux", "darwin"] as const) {
      expect(resolveSpawnCommand({ ...input, platform })).toEqual({
        command: "npx",
        args: ["a b"],
        verbatim: false,
      });
    }
  });

  it.each([
    ["node", "C:\\node\\node.exe"],
    ["NODE.EXE", "NODE.EXE"],
    ["missing", "missing"],
    ["local", "local"],
    [".\\local", "C:\\work\\local.exe"],
  ])("starts %s without a shell", (command, expected) => {
    expect(windows(command, ["a b"], "C:\\work")).toEqual({
      command: expected,
      args: ["a b"],
      verbatim: false,
    });
  });

  it.each([
    ["plain", "-y", '"-y"'],
    ["space", "a b", '"a b"'],
    ["nothing", "", '""'],
    ["operators", "a&calc|b>c", '"a&calc|b>c"'],
    ["quotation mark", 'a"&calc', '"a""&calc"'],
    ["backslash before one", 'a\\"b', '"a\\\\""b"'],
    ["trailing backslash", "C:\\dir\\", '"C:\\dir\\\\"'],
    ["variable", "%PATH%", '"%%cd:~,%PATH%%cd:~,%"'],
  ])("quotes for a batch file: %s", (_name, argument, quoted) => {
    const { command, args, verbatim } = windows("npx", [argument]);
    expect(command).toBe("C:\\windows\\cmd.exe");
    expect(args).toEqual(["/e:ON", "/v:OFF", "/d", "/s", "/c", `""C:\\node\\npx.cmd" ${quoted}"`]);
    expect(verbatim).toBe(true);
  });

  it("refuses a line break for a batch file", () => {
    expect(() => windows("C:\\tools\\run.bat", ["a\nb"])).toThrow(/line break/);
  });
});

describe("mergeEnvironment", () => {
  const defaults = { PATH: "/bin", HOME: "/home/me" };

  it("lets the server's own variables win over the safe ones", () => {
    const env = mergeEnvironment({ defaults, own: { PATH: "/mine", KEY: "k" }, platform: "linux" });
    expect(env).toEqual({ PATH: "/mine", HOME: "/home/me", KEY: "k" });
  });

  it("takes everything when asked", () => {
    const inherited = { PATH: "/bin", SECRET: "s", gone: undefined };
    expect(mergeEnvironment({ defaults, inherited, own: {}, platform: "linux" })).toEqual({
      PATH: "/bin",
      SECRET: "s",
    });
  });

  it("knows on Windows that Path is PATH", () => {
    const env = mergeEnvironment({
      defaults: { Path: "a", TEMP: "t" },
      own: { PATH: "b" },
      platform: "win32",
    });
    expect(env).toEqual({ PATH: "b", TEMP: "t" });
  });
});

describe("safeEnvironment", () => {
  it("has what the SDK has", async () => {
    const { getDefaultEnvironment } = await import("@modelcontextprotocol/client/stdio");
    expect(safeEnvironment()).toEqual(getDefaultEnvironment());
  });

  it("leaves functions and everything else out", () => {
    expect(safeEnvironment({ PATH: "/bin", TERM: "() { :; }", TOKEN: "t" }, "linux")).toEqual({
      PATH: "/bin",
    });
    expect(safeEnvironment({ PATH: "C:\\", SYSTEMROOT: "C:\\w", SHELL: "sh" }, "win32")).toEqual({
      PATH: "C:\\",
      SYSTEMROOT: "C:\\w",
    });
  });
});
