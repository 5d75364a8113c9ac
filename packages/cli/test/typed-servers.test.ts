/** Servers that are typed on the command line instead of configured: URLs, `--stdio` and `-- command`. */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { createCliServer } from "../../../test/fixtures/servers/cli-server.js";
import { type CommandLinePlace, createCommandLinePlace } from "../../../test/support/command-line.js";

const lean = fileURLToPath(new URL("../../../test/fixtures/servers/stdio-lean.mjs", import.meta.url));
const server = createCliServer();
const stdio = `${process.execPath} ${lean}`;
let bench: CommandLinePlace;
let url: string;
let authorization: (string | null)[] = [];

beforeAll(async () => {
  bench = createCommandLinePlace();
  const intercept = async (request: Request) => {
    authorization.push(request.headers.get("authorization"));
    return undefined;
  };
  url = String((await server.http({ intercept })).entry.url);
  // A project file that must not be touched: its server has no consent.
  bench.configure({ other: { command: "false" } });
});
afterAll(async () => {
  await server.close();
  bench[Symbol.dispose]();
});

describe("a URL", () => {
  test.each([
    ["a=2", "b=3"],
    ["--a", "2", "--b=3"],
    ["a:2", "b:=3"],
  ])("is called with %s %s", async (...args) => {
    const { code, stdout, stderr } = await bench.run(["call", `${url}.add`, ...args]);
    expect({ code, stdout, stderr }).toEqual({ code: 0, stdout: '{"sum":5}\n', stderr: "" });
  });

  test("is called like a function, and with the tool as its own word", async () => {
    for (const words of [
      [`${url}.add(a: 2, b: 3)`],
      [`${url}.add(2, 3)`],
      [`${url}.add({"a": 2, "b": 3})`],
      [url, "add", "a=2", "b=3"],
      [`${url}?x=1`, "add(a: 2, b: 3)"],
      [`${url}.add?x=1`, "a=2", "b=3"],
    ])
      expect((await bench.run(["call", ...words])).stdout, words.join(" ")).toBe('{"sum":5}\n');
  });

  test("works with every command that takes a server", async () => {
    const list = await bench.run(["list", url]);
    expect([list.code, list.stdout]).toEqual([0, expect.stringMatching(/\nlocal +ok +6 .* command line\n$/)]);
    expect((await bench.run(["list", url, "--json"])).json()).toMatchObject({
      servers: [{ name: "local", status: "ok", source: { kind: "typed" } }],
    });
    expect((await bench.run(["tools", url, "--output", "raw"])).stdout).toContain("local.add\n");
    expect((await bench.run(["tools", `${url}.add`])).stdout).toContain(
      `Call it:     toolport call ${url}.add a=… b=…`,
    );
    expect((await bench.run(["resources", url])).stdout).toContain("pictures://index");
    expect((await bench.run(["read", url, "pictures://index"])).stdout).toBe("one\ntwo\n");
    expect((await bench.run(["prompts", url])).stdout).toContain("describe(name, tone?)");
    expect((await bench.run(["prompt", url, "describe", "--name", "it"])).stdout).toContain("Describe it");
    expect((await bench.run(["inspect", url, "--json"])).json()).toMatchObject({ source: { kind: "typed" } });
    expect((await bench.run(["doctor", url, "--json"])).json()).toMatchObject({ ok: true });
    expect((await bench.run(["types", url])).stdout).toContain("add");
  });

  test("gets headers, and errors suggest a command that works without repeating their values", async () => {
    authorization = [];
    const header = ["--header", "Authorization: Bearer top-secret"];
    expect((await bench.run(["call", `${url}.add`, "a=1", "b=1", ...header])).code).toBe(0);
    expect(new Set(authorization)).toEqual(new Set(["Bearer top-secret"]));
    const missing = await bench.run(["call", `${url}.ad`, ...header, "--json"]);
    expect(missing.error()).toMatchObject({
      code: "TOOL_NOT_FOUND",
      next: `toolport call ${url}.add --header 'Authorization: …'`,
    });
    const failed = await bench.run(["call", "http://127.0.0.1:9/mcp.x", "--json"]);
    expect([failed.code, failed.error().next]).toEqual([4, "toolport doctor http://127.0.0.1:9/mcp"]);
  });
});

describe("a command", () => {
  test("is started by --stdio and --", async () => {
    const expected = (await bench.run(["tools", "--stdio", stdio, "--output", "raw"])).stdout;
    expect(expected).toContain("stdio-lean.echo\n");
    const after = await bench.run(["tools", "--output", "raw", "--", process.execPath, lean]);
    expect(after.stdout).toBe(expected);
    const called = await bench.run(["call", "--stdio", stdio, "echo", "text=hello"]);
    expect([called.code, called.stdout]).toEqual([0, expect.stringContaining("hello")]);
    const inspected = await bench.run(["inspect", "--json", "--", process.execPath, lean]);
    expect(inspected.json()).toMatchObject({ server: "stdio-lean", transport: "stdio" });
    const listed = await bench.run(["list", "--", process.execPath, lean]);
    expect(listed.stdout).toMatch(/\nstdio-lean +ok/);
  });

  test("gets variables and a working directory", async () => {
    const script = `process.stderr.write(process.cwd() + " " + process.env.COLOUR); process.exit(3)`;
    const file = join(bench.home, "fails.cjs");
    writeFileSync(file, script);
    const options = ["--env", "COLOUR=blue", "--cwd", bench.home, "--json"];
    const { code, error } = await bench.run(["tools", ...options, "--", process.execPath, file]);
    expect([code, error()["stderrTail"]]).toEqual([4, `${bench.home} blue`]);
    expect(error().next).toBe(`toolport doctor --env COLOUR=… -- ${process.execPath} ${file}`);
  });
});

test.each([
  [["call", "https://example.com/mcp"], /The tool is missing: write it after the URL/],
  [["call", "https://example.com/mcp", "a=1"], /The tool is missing/],
  [["call", "--stdio", "x"], /server.tool is missing/],
  [["inspect"], /server is missing/],
  [["inspect", "--stdio", "x", "--", "y"], /use --stdio or --, not both/],
  [["inspect", "--stdio", "'x"], /' is not closed/],
  [["inspect", "--stdio", " "], /--stdio requires a command/],
  [["inspect", "https://x", "--env", "A=b"], /--env has no effect on a URL/],
  [["inspect", "--header", "A: b", "--", "x"], /--header has no effect on a command/],
  [["list", "https://x", "weather"], /not both: weather/],
  [["tools", "https://x", "--", "y"], /a URL or a command, not both/],
  [["remove", "x", "--", "y"], /takes no command after --/],
])("%j is refused", async (args, message) => {
  const { code, stderr } = await bench.run(args);
  expect([code, stderr]).toEqual([1, expect.stringMatching(message)]);
});

test("an unknown option of a call is refused if it is no argument of the tool", async () => {
  const { code, error } = await bench.run(["call", `${url}.add`, "--sugest", "--json"]);
  expect([code, error().message]).toEqual([1, expect.stringContaining("no option or argument --sugest")]);
});
