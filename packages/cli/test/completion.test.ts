/** `completion`: shells accept the scripts, and `__complete` returns candidates without connecting a server. */
import { execFile, spawnSync } from "node:child_process";
import { chmod } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { expect, test } from "vitest";
import { useProgram } from "../../../test/support/cli-sandbox.js";

const createSandbox = useProgram();

const STDIO_SERVER = fileURLToPath(new URL("../../../test/fixtures/servers/stdio-lean.mjs", import.meta.url));
const run = promisify(execFile);
const hasBash = spawnSync("bash", ["-c", "true"]).status === 0;

test("completes commands, options, values, servers and tools of saved lists", async () => {
  using sandbox = createSandbox();
  await sandbox.write("home/.config/toolport/toolport.json", {
    mcpServers: {
      plain: { command: process.execPath, args: [STDIO_SERVER] },
      "bad $(touch x)": { command: "true" },
      never: { command: "no-such-program-here" },
    },
  });
  const complete = async (...words: string[]) => {
    const { code, stdout, stderr } = await sandbox.run("__complete", "--", ...words);
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    return stdout
      .split("\n")
      .filter(Boolean)
      .map((line) => line.split("\t")[0]);
  };
  expect(await complete("re")).toEqual(["remove", "resume", "read", "resources"]);
  expect(await complete("__")).toEqual([]);
  expect(await complete("export", "--for")).toEqual(["--format"]);
  expect(await complete("export", "--format", "v")).toEqual(["vscode"]);
  expect(await complete("export", "--format=c")).toEqual(["--format=claude", "--format=cursor"]);
  expect(await complete("state", "m")).toEqual(["migrate"]);
  expect(await complete("import", "--from", "cur")).toEqual(["cursor"]);
  // Values that a shell would interpret are left out.
  expect(await complete("list", "")).toEqual(["plain", "never"]);
  expect(await complete("call", "plain.")).toEqual(["plain."]);
  expect(await complete("remove", "plain", "")).toEqual(["never"]);
  expect(await complete("add", "x", "--", "np")).toEqual([]);

  expect((await sandbox.run("list", "plain", "--json")).code).toBe(0);
  const tools = await complete("call", "plain.");
  expect(tools.length).toBeGreaterThan(0);
  expect(tools.every((name) => name?.startsWith("plain."))).toBe(true);
});

test.skipIf(!hasBash)("bash completes with the script", async () => {
  using sandbox = createSandbox();
  const program = await sandbox.write(
    "home/bin/toolport",
    `#!/bin/sh\nexec '${process.execPath}' '${sandbox.main}' "$@"\n`,
  );
  await chmod(program, 0o755);
  const script = [
    "source <(toolport completion bash)",
    "COMP_WORDS=(toolport disa)",
    "COMP_CWORD=1",
    "_toolport",
    `printf "%s\\n" "\${COMPREPLY[@]}"`,
  ].join("\n");
  const env = { ...sandbox.env, PATH: `${join(sandbox.home, "bin")}:${sandbox.env["PATH"]}` };
  const { stdout, stderr } = await run("bash", ["-c", script], { env, cwd: sandbox.project });
  expect({ stdout, stderr }).toEqual({ stdout: "disable\n", stderr: "" });
});

test.each(["zsh", "fish"])(
  "prints a script for %s, which the shell accepts if it is installed",
  async (name) => {
    using sandbox = createSandbox();
    const { code, stdout } = await sandbox.run("completion", name);
    expect(code).toBe(0);
    expect(stdout).toContain("toolport __complete --");
    const file = await sandbox.write(`home/completion.${name}`, stdout);
    if (spawnSync(name, ["-c", "true"]).status !== 0) return;
    expect(spawnSync(name, ["-n", file]).status).toBe(0);
  },
);
