/** The program in a real terminal: progress, a saved image, and a question before a start. */
import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { createCliServer, PIXEL } from "../../../test/fixtures/servers/cli-server.js";
import { type CommandLineBench, createCommandLineBench } from "../../../test/support/command-line.js";
import { waitFor } from "../../../test/support/wait-for.js";

/** `script` of util-linux runs a program in a pseudo-terminal. */
const hasScript = ((): boolean => {
  try {
    return execFileSync("script", ["--version"], { encoding: "utf8" }).includes("util-linux");
  } catch {
    return false;
  }
})();
const lean = fileURLToPath(new URL("../../../test/fixtures/servers/stdio-lean.mjs", import.meta.url));

describe.skipIf(!hasScript)("in a terminal (needs `script` of util-linux)", () => {
  let bench: CommandLineBench;
  const server = createCliServer();
  beforeAll(async () => {
    bench = await createCommandLineBench();
    bench.configure({
      pics: { url: (await server.http()).entry.url },
      local: { command: process.execPath, args: [lean] },
    });
    await bench.run(["list", "pics", "--yes"]);
  });
  afterAll(async () => {
    await server.close();
    bench[Symbol.dispose]();
  });

  interface Terminal {
    readonly child: ChildProcess;
    /** All output so far. */
    readonly screen: () => string;
    readonly exit: Promise<number | null>;
  }

  function open(...args: readonly string[]): Terminal {
    const words = [process.execPath, bench.main, ...args].map((word) => `'${word}'`).join(" ");
    const child = spawn("script", ["-qefc", words, "/dev/null"], {
      cwd: bench.project,
      env: bench.env,
      stdio: ["pipe", "pipe", "inherit"],
    });
    let text = "";
    child.stdout.setEncoding("utf8").on("data", (chunk: string) => {
      text += chunk;
    });
    const exit = new Promise<number | null>((resolve) => child.once("close", resolve));
    return { child, screen: () => text, exit };
  }

  const shows = (terminal: Terminal, part: string) =>
    waitFor(() => terminal.screen().includes(part), {
      timeoutMs: 15_000,
      label: () => `${JSON.stringify(part)} in ${JSON.stringify(terminal.screen())}`,
    });

  test("asks about the exact command, then shows progress and a coloured table", async () => {
    const refused = open("list");
    await shows(refused, 'Allow "local"? [y/N] ');
    expect(refused.screen()).toContain(`"command": "${process.execPath}"`);
    expect(refused.screen()).toContain(`"args": ["${lean}"]`);
    refused.child.stdin?.write("n\r");
    expect(await refused.exit).toBe(0);
    expect(refused.screen()).toMatch(/local +\u001b\[31merror/);

    const agreed = open("list");
    await shows(agreed, 'Allow "local"? [y/N] ');
    agreed.child.stdin?.write("y\r");
    expect(await agreed.exit).toBe(0);
    expect(agreed.screen()).toMatch(/\r\u001b\[2K. Connecting to /u);
    expect(agreed.screen()).toMatch(/local +\u001b\[32mok\u001b\[39m/);

    const remembered = open("list");
    expect(await remembered.exit).toBe(0);
    expect(remembered.screen()).not.toContain("Allow");
    // The progress line is erased before the table.
    expect(remembered.screen()).toMatch(/\u001b\[2KSERVER +STATE/);
  });

  test("shows the progress of a call and saves its image", async () => {
    const terminal = open("call", "pics.draw", "--save-images", "out");
    await shows(terminal, "pics.draw 1/2 half done");
    expect(await terminal.exit).toBe(0);
    expect(terminal.screen()).toMatch(/Here it is:\r\nSaved out\/pics-draw-1\.png \(70 bytes\)\r\n$/);
    expect(readFileSync(join(bench.project, "out/pics-draw-1.png")).toString("base64")).toBe(PIXEL);
  });

  test("prints no binary data, honours NO_COLOR, and ends a question at Ctrl-C", async () => {
    const raw = open("call", "pics.pixel", "--output", "raw");
    expect(await raw.exit).toBe(1);
    expect(raw.screen()).toContain("BINARY_OUTPUT");

    const plain = open("list", "pics", "--no-color", "--quiet");
    expect(await plain.exit).toBe(0);
    expect(plain.screen()).not.toContain("\u001b");

    const asked = open("list", "--no-state");
    await shows(asked, 'Allow "pics", "local"? [y/N] ');
    asked.child.stdin?.write("\u0003");
    expect(await asked.exit).toBe(130);
    expect(existsSync(join(bench.project, "out/pics-draw-2.png"))).toBe(false);
  });
});
