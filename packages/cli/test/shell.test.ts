/** `toolport shell` without a terminal: a script on stdin, one living session. */
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { createCliServer } from "../../../test/fixtures/servers/cli-server.js";
import { type CommandLinePlace, createCommandLinePlace } from "../../../test/support/command-line.js";

const lean = fileURLToPath(new URL("../../../test/fixtures/servers/stdio-lean.mjs", import.meta.url));
const server = createCliServer();
let bench: CommandLinePlace;

beforeAll(async () => {
  bench = createCommandLinePlace();
  bench.configure({
    pics: { url: (await server.http()).entry.url },
    local: { command: process.execPath, args: [lean] },
    gone: { url: "http://127.0.0.1:9/mcp" },
  });
  await bench.run(["list", "--yes"]);
});
afterAll(async () => {
  await server.close();
  bench[Symbol.dispose]();
});

const script = (...lines: string[]) => ({ input: `${lines.join("\n")}\n` });

describe("a script", () => {
  test("keeps the processes of servers between its lines", async () => {
    const lines = [
      "call local.pid",
      "# a comment",
      "",
      "local.pid",
      "toolport call 'local.pid()'",
      "local.pid()",
    ];
    const { code, stdout, stderr } = await bench.run(["shell"], script(...lines));
    expect([code, stderr]).toEqual([0, ""]);
    const pids = stdout.trim().split("\n");
    expect(pids).toHaveLength(4);
    expect(new Set(pids).size).toBe(1);
    expect(() => process.kill(Number(pids[0]), 0)).toThrow("ESRCH");
  });

  test("understands all forms of calls, and commands about servers", async () => {
    const { code, stdout } = await bench.run(
      ["shell"],
      script(
        "pics.add(a: 2, b: 3)",
        "pics.add a=2 b=4",
        "call pics.add --a 2 --b 5",
        `pics.echo text="a b" 'other=c d'`,
        "read pics pictures://index",
        "tools pics.add --output raw",
        "exit",
        "never reached",
      ),
    );
    expect(code).toBe(0);
    expect(stdout).toMatch(/^{"sum":5}\n{"sum":6}\n{"sum":7}\n{"text":"a b","other":"c d"}\none\ntwo\n{\n/);
  });

  test("ends at the first line that fails, with its exit code", async () => {
    const lines = script("pics.fail", "pics.add a=1 b=1");
    const stopped = await bench.run(["shell"], lines);
    expect([stopped.code, stopped.stdout]).toEqual([5, "no ink left\n"]);
    const all = await bench.run(["shell", "--keep-going"], lines);
    expect([all.code, all.stdout]).toEqual([5, 'no ink left\n{"sum":2}\n']);
    expect((await bench.run(["shell"], script("call gone.x"))).code).toBe(4);
  });

  test("prints one document in each line with --json, and one error line", async () => {
    const lines = script("pics.add a=1 b=1", "pics.ad", "pics.add a=1 b=2 --output raw", "pics.add a=1");
    const { stdout, stderr } = await bench.run(["shell", "--json", "--keep-going"], lines);
    const [first, second, ...rest] = stdout.trim().split("\n");
    expect(JSON.parse(first!)).toMatchObject({ tool: "add", structuredContent: { sum: 2 } });
    expect([second, rest]).toEqual(['{"sum":3}', []]);
    const errors = stderr
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line).error.code);
    expect(errors).toEqual(["TOOL_NOT_FOUND", "INVALID_ARGUMENTS"]);
  });

  test.each([
    ["serve", "OUTSIDE_SHELL", "toolport serve"],
    ["add x https://x", "OUTSIDE_SHELL", "toolport add x https://x"],
    ["cal pics.add", "UNKNOWN_COMMAND", "toolport call --help"],
    ["call 'pics.add", "USAGE", "toolport call --help"],
    ["call pics.echo --args -", "USAGE", "toolport --help"],
    ["tools pisc", "UNKNOWN_SERVER", "toolport list pics"],
  ])("%s is refused", async (line, code, next) => {
    const { code: exit, error } = await bench.run(["shell", "--json"], script(line));
    expect([exit === 0, error().code, error().next]).toEqual([false, code, next]);
  });
});

test("a shell for servers that are typed, and a typed server in a line", async () => {
  const typed = await bench.run(
    ["shell", "--", process.execPath, lean],
    script("stdio-lean.pid", "call stdio-lean.pid", "list --json"),
  );
  const [first, second, ...rest] = typed.stdout.trim().split("\n");
  expect([typed.code, first === second]).toEqual([0, true]);
  expect(JSON.parse(rest.join("\n"))).toMatchObject({ servers: [{ name: "stdio-lean", status: "ok" }] });
  const url = String((await server.http()).entry.url);
  const inLine = await bench.run(["shell", "pics"], script(`call ${url}.add a=1 b=1`, "local.pid"));
  expect([inLine.stdout, inLine.code]).toEqual(['{"sum":2}\n', 1]);
});

test("help lists the commands of a shell, and of one command", async () => {
  const { stdout } = await bench.run(["shell"], script("help", "help call"));
  expect(stdout).toContain("Usage: toolport call <server.tool>");
  expect(stdout).not.toMatch(/^ {2}serve /m);
});
