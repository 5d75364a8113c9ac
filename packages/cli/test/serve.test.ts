import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { createServer } from "node:http";
import { Client } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import { createTestServer } from "@toolport/testing";
import { expect, test } from "vitest";
import { useProgram } from "../../../test/support/cli-sandbox.js";
import { createCommandLinePlace } from "../../../test/support/command-line.js";
import { waitForExit } from "../../../test/support/processes.js";
import { configureServers, notedPids, textOf } from "../../../test/support/served-program.js";
import { waitFor } from "../../../test/support/wait-for.js";

const createSandbox = useProgram();
test("serves one client over stdio, with the protocol alone on stdout, and leaves no process when it goes", async () => {
  using sandbox = createSandbox();
  // The second one ends by SIGKILL only.
  const pidFile = await configureServers(sandbox, {
    polite: [],
    stubborn: ["--ignore-eof", "--ignore-signals"],
  });
  const transport = new StdioClientTransport({
    command: process.execPath,
    args: [sandbox.main, "serve", "--verbose"],
    cwd: sandbox.project,
    env: { ...sandbox.env },
    stderr: "pipe",
  });
  const client = new Client({ name: "test-client", version: "1.0.0" });
  const malformed: Error[] = [];
  client.onerror = (error) => void malformed.push(error);
  await client.connect(transport);
  const { tools } = await client.listTools();
  expect(tools.map(({ name }) => name)).toEqual(expect.arrayContaining(["polite__echo", "stubborn__echo"]));
  expect(textOf(await client.callTool({ name: "stubborn__echo", arguments: { text: "hi" } }))).toBe("hi");
  const { pid } = transport;
  await client.close();
  await waitForExit(pid!);
  for (const server of notedPids(pidFile)) await waitForExit(server);
  expect(malformed).toEqual([]);
});

test("G31 ends by itself when the input ends, although a call hangs and a server ignores everything", async () => {
  using sandbox = createSandbox();
  const pidFile = await configureServers(sandbox, { stubborn: ["--ignore-eof", "--ignore-signals"] });
  const child = spawn(process.execPath, [sandbox.main, "serve"], { cwd: sandbox.project, env: sandbox.env });
  const exited = once(child, "exit");
  const call = { name: "stubborn__slow", arguments: { ms: 60_000 } };
  child.stdin.write(`${JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/call", params: call })}\n`);
  await waitFor(() => existsSync(pidFile), { label: "the start of the server" });
  child.stdin.end();
  expect(await exited).toEqual([0, null]);
  for (const server of notedPids(pidFile)) await waitForExit(server);
});

test("answers the requests of a pipe that ends at once", async () => {
  using sandbox = createSandbox();
  const server = createTestServer({ tools: { echo: { handler: () => "an answer" } } });
  const { url } = await server.http();
  await sandbox.write("home/.config/toolport/toolport.json", { mcpServers: { here: { url } } });
  const call = (id: number, method: string, params: object) =>
    JSON.stringify({ jsonrpc: "2.0", id, method, params });
  const input = [
    call(1, "initialize", {
      protocolVersion: "2025-11-25",
      capabilities: {},
      clientInfo: { name: "pipe", version: "1" },
    }),
    call(2, "tools/call", { name: "here__echo", arguments: {} }),
  ].join("\n");
  const { code, stdout, stderr } = await sandbox.runWith(
    { input: `${input}\n` },
    ...["serve", "--drain-ms", "15000"],
  );
  const answers = stdout
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line) as { id: number });
  expect(answers.map(({ id }) => id).sort()).toEqual([1, 2]);
  expect(stdout).toContain("an answer");
  expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
  await server.close();
});

const URL_ERRORS: readonly [args: string, exitCode: number, message: RegExp][] = [
  ["--http 0.0.0.0:0 --no-token", 2, /0\.0\.0\.0 is not a loopback address/],
  ["--http example.com:80 --no-token", 2, /example\.com is not a loopback address/],
  ["--http ::1:80", 1, /--http requires a port/],
  ["--http 70000", 1, /--http requires a port/],
  ["--stdio --http 0", 1, /--stdio and --http/],
  ["--no-token", 1, /--no-token needs --http/],
  ["--url https://a.example", 1, /--url needs --http/],
  ["--http 0 --audience a", 1, /--audience needs --issuer/],
  ["--http 0 --issuer https://a.example --no-token", 1, /--issuer and --no-token/],
  ["--http 0 --issuer https://a.example", 2, /--issuer needs --url or --audience/],
  ["--http 0 --connect-client me --issuer https://a.example", 1, /--connect-client needs --issuer and --url/],
  ["--http 0 --drain-ms soon", 1, /--drain-ms requires/],
  ["--http 0 --no-state", 2, /no place for the token/],
  ["--store ftp://a:secret@b", 2, /^(?!.*secret).*--store must be the URL/],
  ["--http 0 --policy missing.json", 2, /policy file cannot be read/],
  ["--servers none", 2, /no server "none"/],
];

test.each(URL_ERRORS)("refuses %s", async (args, exitCode, message) => {
  using place = createCommandLinePlace();
  place.configure({ one: { url: "http://127.0.0.1:9/mcp" } });
  const before = { ...process.env };
  const { code, stdout, stderr } = await place.run(["serve", "--yes", ...args.split(" ")]);
  expect(stderr).toMatch(new RegExp(message.source, "s"));
  expect({ code, stdout }).toEqual({ code: exitCode, stdout: "" });
  expect(process.env).toEqual(before);
});

test("says which program to stop if the port is taken", async () => {
  using place = createCommandLinePlace();
  place.configure({ one: { url: "http://127.0.0.1:9/mcp" } });
  const other = createServer();
  await new Promise<void>((resolve) => other.listen(0, "127.0.0.1", resolve));
  const { port } = other.address() as { port: number };
  try {
    const { code, stderr } = await place.run(["serve", "--yes", "--http", String(port), "--no-token"]);
    expect({ code, stderr }).toEqual({
      code: 2,
      stderr: expect.stringContaining(`127.0.0.1:${port}: another program uses the port`),
    });
  } finally {
    await new Promise((resolve) => other.close(resolve));
  }
});

test("G12 refuses a line that is nested too deeply, or is not JSON, and goes on", async () => {
  using sandbox = createSandbox();
  await configureServers(sandbox, { lean: [] });
  const nested = `${"[".repeat(100_000)}${"]".repeat(100_000)}`;
  const call = (id: number, args: string) =>
    `{"jsonrpc":"2.0","id":${id},"method":"tools/call","params":{"name":"lean__echo","arguments":${args}}}`;
  const input = `${[call(1, `{"text":${nested}}`), "{not JSON", call(2, '{"text":"hi"}')].join("\n")}\n`;
  // The input ends at once; on a busy machine the server needs longer to start than requests usually get then.
  const { stdout } = await sandbox.runWith({ input }, "serve", "--drain-ms", "60000");
  const answers = stdout
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line) as { id: unknown; error?: { code: number } });
  expect(answers.map(({ error }) => error?.code)).toEqual([-32600, -32700, undefined]);
  expect(answers[2]).toMatchObject({ id: 2, result: { content: [{ text: "hi" }] } });
});

test("--code offers programs in place of the tools", async () => {
  using sandbox = createSandbox();
  await configureServers(sandbox, { one: [] });
  const transport = new StdioClientTransport({
    command: process.execPath,
    args: [sandbox.main, "serve", "--code"],
    cwd: sandbox.project,
    env: { ...sandbox.env },
    stderr: "pipe",
  });
  const client = new Client({ name: "test-client", version: "1.0.0" });
  await client.connect(transport);
  expect((await client.listTools()).tools.map(({ name }) => name)).toEqual(["execute", "search"]);
  const code = 'return (await tools.one.echo({ text: "hi" })).toUpperCase()';
  const result = await client.callTool({ name: "execute", arguments: { code } });
  expect(result.structuredContent).toEqual({ value: "HI", calls: { one__echo: 1 } });
  const { pid } = transport;
  await client.close();
  await waitForExit(pid!);
});
