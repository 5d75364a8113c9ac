/** The interface of each command for programs: data on stdout, messages on stderr, stable JSON, exit codes. */
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { readRecording, type TestHttpServer } from "@toolport/testing";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { createCliServer, PIXEL } from "../../../test/fixtures/servers/cli-server.js";
import { type CommandLinePlace, createCommandLinePlace } from "../../../test/support/command-line.js";

let bench: CommandLinePlace;
let http: TestHttpServer;
const server = createCliServer();

beforeAll(async () => {
  bench = createCommandLinePlace();
  http = await server.http();
  bench.configure({
    pics: { url: http.entry.url },
    gone: { url: "http://127.0.0.1:9/mcp" },
    off: { url: "http://127.0.0.1:9/mcp", enabled: false },
  });
  await bench.run(["list", "--yes"]);
});
afterAll(async () => {
  await server.close();
  bench[Symbol.dispose]();
});

describe("list", () => {
  test("prints a table on stdout, and errors with the command to try on stderr", async () => {
    const { code, stdout, stderr } = await bench.run(["list"]);
    expect(code).toBe(0);
    expect(stdout).toMatch(
      /^SERVER +STATE +TOOLS +TOKENS +TIME +SOURCE\ngone +offline .*\noff +disabled .*\npics +ok +6 +~147 +\d.* toolport\.json:3 \(toolport\)\n$/,
    );
    expect(stderr).toMatch(/gone: .*ECONNREFUSED.*\n {2}Try: toolport doctor gone\n$/s);
    expect(stdout + stderr).not.toContain("\u001b");
  });

  test("prints one JSON document with status counts", async () => {
    const { code, stderr, json } = await bench.run(["list", "--json"]);
    expect([code, stderr]).toEqual([0, ""]);
    expect(json()).toEqual({
      servers: [
        expect.objectContaining({
          name: "gone",
          status: "offline",
          tokens: null,
          tokensShown: null,
          error: expect.objectContaining({ code: "UNREACHABLE", exitCode: 4, next: "toolport doctor gone" }),
        }),
        expect.objectContaining({
          name: "off",
          status: "disabled",
          state: "closed",
          error: expect.objectContaining({ code: "DISABLED", next: "toolport enable off" }),
        }),
        {
          name: "pics",
          status: "ok",
          state: "ready",
          toolCount: 6,
          ms: expect.any(Number),
          transport: "http",
          protocolVersion: "2026-07-28",
          tokens: 147,
          tokensShown: 147,
          source: { kind: "toolport", file: join(bench.project, "toolport.json"), line: 3 },
        },
      ],
      counts: { ok: 1, auth: 0, offline: 1, error: 0, disabled: 1 },
      tokens: 147,
      tokensShown: 147,
      issues: [],
      state: join(bench.home, ".state", "toolport", "state.db"),
    });
    expect(existsSync(join(bench.home, ".state", "toolport", "state.db"))).toBe(true);
  });

  test("exits with the common code, or 4, if every server failed", async () => {
    using place = createCommandLinePlace();
    place.configure({ gone: { url: "http://127.0.0.1:9/mcp" }, off: { command: "x", enabled: false } });
    expect((await place.run(["list", "--yes"])).code).toBe(4);
    place.configure({ gone: { url: "http://127.0.0.1:9/mcp" }, pics: { url: http.entry.url } });
    expect((await place.run(["list", "--yes"])).code).toBe(0);
  });

  test("exits with the code of the error if one server is named", async () => {
    expect((await bench.run(["list", "pics"])).code).toBe(0);
    expect((await bench.run(["list", "gone", "--json"])).code).toBe(4);
    const { code, error } = await bench.run(["--json", "list", "pisc"]);
    expect(code).toBe(2);
    expect(error()).toMatchObject({ code: "UNKNOWN_SERVER", next: "toolport list pics" });
  });
});

describe("call", () => {
  test("types arguments by the schema and prints structured content", async () => {
    const { code, stdout, stderr } = await bench.run(["call", "pics.add", "a=2", "b:=3"]);
    expect({ code, stdout, stderr }).toEqual({ code: 0, stdout: '{"sum":5}\n', stderr: "" });
    const { json } = await bench.run(["--json", "call", "pics__add", "--args", '{"a":2,"b":0}', "b=4"]);
    expect(json()).toMatchObject({
      server: "pics",
      tool: "add",
      name: "pics__add",
      isError: false,
      structuredContent: { sum: 6 },
      attempts: 1,
      durationMs: expect.any(Number),
    });
  });

  test("reads arguments from stdin", async () => {
    const { stdout } = await bench.run(["call", "pics.echo", "--args", "-"], {
      input: '{"a":[1,{"b":null}]}',
    });
    expect(JSON.parse(stdout)).toEqual({ a: [1, { b: null }] });
    const bad = await bench.run(["call", "pics.echo", "--args", "-", "--json"], { input: "[1]" });
    expect([bad.code, bad.error().code]).toEqual([1, "USAGE"]);
  });

  test("saves images under safe names", async () => {
    const { code, stdout } = await bench.run(["call", "pics.draw", "--save-images", "out"]);
    expect([code, stdout]).toEqual([0, "Here it is:\nSaved out/pics-draw-1.png (70 bytes)\n"]);
    expect(readFileSync(join(bench.project, "out/pics-draw-1.png")).toString("base64")).toBe(PIXEL);
    const { json } = await bench.run(["call", "pics.draw", "--save-images", "out", "--json"]);
    expect(json()).toMatchObject({
      files: [
        { index: 1, path: join(bench.project, "out/pics-draw-2.png"), mimeType: "image/png", bytes: 70 },
      ],
    });
    const without = await bench.run(["call", "pics.draw"]);
    expect(without.stdout).toBe("Here it is:\n[image, image/png, 70 bytes]\n");
    expect(without.stderr).toContain("--save-images");
  });

  test("writes unchanged bytes with --output raw", async () => {
    const { bytes } = await bench.run(["call", "pics.pixel", "--output", "raw"]);
    expect(bytes.toString("base64")).toBe(PIXEL);
  });

  test("prints the text of a tool error on stdout and exits with 5", async () => {
    const text = await bench.run(["call", "pics.fail"]);
    expect([text.code, text.stdout]).toEqual([5, "no ink left\n"]);
    expect(text.stderr).toMatch(/reported an error.*\nTry: toolport tools pics\.fail\n$/);
    const data = await bench.run(["call", "pics.fail", "--json"]);
    expect([data.code, data.json()["isError"]]).toEqual([5, true]);
    expect(data.error()).toMatchObject({ code: "TOOL_ERROR", server: "pics", tool: "fail", exitCode: 5 });
  });

  test.each([
    [["call", "pics.ad"], 1, "TOOL_NOT_FOUND", "toolport call pics.add"],
    [["call", "pixs.add"], 2, "UNKNOWN_SERVER", "toolport call pics.add"],
    [["call", "pics.add", "a=x", "b=1"], 1, "INVALID_ARGUMENTS", "toolport tools pics.add"],
    [["call", "pics.add", "a"], 1, "USAGE", "toolport call --help"],
    [["call", "gone.x"], 4, "UNREACHABLE", "toolport doctor gone"],
    [["call", "off.x"], 2, "DISABLED", "toolport enable off"],
    [["call", "pics.wait", "--timeout", "300"], 4, "TIMEOUT", "toolport doctor pics"],
    [["call", "pics.add", "--timeout", "soon"], 1, "USAGE", "toolport call --timeout 30000"],
    [["cal", "pics.add"], 1, "UNKNOWN_COMMAND", "toolport call --help"],
    [["list", "-c", "nowhere.json"], 2, "UNREADABLE_CONFIG", "toolport doctor"],
    [["read", "pics", "pictures://none"], 1, "RESOURCE_NOT_FOUND", "toolport resources pics"],
    [["prompt", "pics", "descrbe"], 1, "PROMPT_NOT_FOUND", "toolport prompts pics"],
  ])("%j fails with its exit code and the command to try", async (args, exitCode, code, next) => {
    const { code: got, stdout, error } = await bench.run([...args, "--json"]);
    expect([got, stdout]).toEqual([exitCode, ""]);
    expect(error()).toMatchObject({ code, next, exitCode });
  });

  test("records the messages with --record", async () => {
    await bench.run(["call", "pics.add", "a=1", "b=1", "--record", "talk.ndjson"]);
    const { transport, messages } = await readRecording(join(bench.project, "talk.ndjson"));
    expect(transport).toBe("http");
    expect(messages.map(({ message }) => message.method)).toContain("tools/call");
  });
});

describe("tools, resources, prompts, find", () => {
  test("lists all tools, the tools of one server, and one tool in full", async () => {
    const all = await bench.run(["tools"]);
    expect(all.stdout).toMatch(/^TOOL +WHAT IT DOES\npics\.add\(a, b\) +Adds two numbers\n/);
    expect(all.stderr).toContain("warning: gone:");
    const { json, stderr } = await bench.run(["tools", "--json"]);
    expect(json()).toMatchObject({
      tools: expect.arrayContaining([
        expect.objectContaining({ name: "pics__add", server: "pics", sourceName: "add" }),
      ]),
      errors: [{ server: "gone", code: "UNREACHABLE" }],
    });
    expect(stderr).toBe("");
    const one = await bench.run(["tools", "pics.add"]);
    expect(one.stdout).toMatch(/a +number +yes +The first\n/);
    expect(one.stdout).toContain("Call it:     toolport call pics.add a=… b=…");
    expect((await bench.run(["tools", "pics", "--output", "raw"])).stdout).toBe(
      ["add", "echo", "draw", "pixel", "fail", "wait"].map((name) => `pics.${name}\n`).join(""),
    );
  });

  test("resources and read", async () => {
    const { json } = await bench.run(["resources", "pics", "--json"]);
    expect(json()).toMatchObject({
      resources: [{ uri: "pictures://index" }, { uri: "pictures://pixel" }],
      resourceTemplates: [{ uriTemplate: "pictures://{name}" }],
      errors: [],
    });
    expect((await bench.run(["read", "pics", "pictures://index"])).stdout).toBe("one\ntwo\n");
    const bytes = await bench.run(["read", "pics", "pictures://pixel"]);
    expect(bytes.stdout).toBe("[image/png, 70 bytes]\n");
    await bench.run(["read", "pics", "pictures://pixel", "--out", "pixel.png"]);
    expect(readFileSync(join(bench.project, "pixel.png")).toString("base64")).toBe(PIXEL);
    expect((await bench.run(["read", "pics", "pictures://index", "--json"])).json()).toMatchObject({
      server: "pics",
      uri: "pictures://index",
      contents: [{ uri: "pictures://index", mimeType: "text/plain", text: "one\ntwo" }],
    });
  });

  test("prompts and prompt", async () => {
    expect((await bench.run(["prompts"])).stdout).toContain("describe(name, tone?)");
    const { stdout } = await bench.run(["prompt", "pics", "describe", "name=it=so"]);
    expect(stdout).toBe("user:\nDescribe it=so plainly\n");
    const { json } = await bench.run(["prompt", "pics", "describe", "name=5", "--json"]);
    expect(json()).toMatchObject({ messages: [{ role: "user", content: { text: "Describe 5 plainly" } }] });
  });

  test("find", async () => {
    const { json } = await bench.run(["find", "add", "numbers", "--limit", "1", "--json"]);
    expect(json()).toMatchObject({ query: "add numbers", tools: [{ name: "pics__add" }] });
  });
});

test("inspect shows the handshake, and the messages with --raw", async () => {
  const { json } = await bench.run(["inspect", "pics", "--raw", "--json"]);
  expect(json()).toMatchObject({
    server: "pics",
    transport: "http",
    era: "modern",
    protocolVersion: "2026-07-28",
    serverInfo: { name: "pictures", version: "2.0.0" },
    instructions: "Draw with care",
    withheldTools: [],
    nameIssues: [],
    textFindings: [],
    cut: null,
    traffic: expect.arrayContaining([expect.stringContaining("tools/list")]),
  });
  const { stdout } = await bench.run(["inspect", "pics"]);
  expect(stdout).toMatch(/protocol +2026-07-28 \(modern\)\nsoftware +pictures 2\.0\.0/);
});

test("reports an invalid entry with its line and uses the others", async () => {
  const file = join(bench.project, "bad.json");
  writeFileSync(file, `{"mcpServers":{\n"pics":{"url":"${String(http.entry.url)}"},\n"bad":{"url":5}}}`);
  const { code, stdout, stderr } = await bench.run(["list", "--config", "bad.json", "--yes"]);
  expect([code, stdout.includes("pics"), stderr.includes(`${file}:3`)]).toEqual([0, true, true]);
  const asked = await bench.run(["list", "bad", "-c", "bad.json", "--json"]);
  expect([asked.code, asked.error().code]).toEqual([2, "INVALID_CONFIG"]);
});

test("exits with 2 and a suggestion if there is no configuration file", async () => {
  using empty = createCommandLinePlace();
  const { code, error } = await empty.run(["list", "--json"]);
  expect([code, error().code, error().next]).toEqual([2, "NO_SERVERS", "toolport add <name> <url>"]);
});
