/** `toolport serve` as a program: stdio and HTTP, its token, its end, and options that are refused. */
import { readFileSync, statSync } from "node:fs";
import { createServer } from "node:http";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { Client } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import { expect, test } from "vitest";
import { type CliSandbox, useProgram } from "../support/cli-sandbox.js";
import { createCommandLinePlace } from "../support/command-line.js";
import { waitForExit } from "../support/processes.js";
import { startServe } from "../support/served-program.js";
import { waitFor } from "../support/wait-for.js";

const createSandbox = useProgram();
const lean = fileURLToPath(new URL("../fixtures/servers/stdio-lean.mjs", import.meta.url));

/** Configures stdio servers in the user's own file. Returns the file where they note their process ids. */
async function configure(
  sandbox: CliSandbox,
  servers: Readonly<Record<string, readonly string[]>>,
): Promise<string> {
  const pidFile = join(sandbox.home, "pids");
  const entries = Object.entries(servers).map(([name, args]) => [
    name,
    { command: process.execPath, args: [lean, `--pid-file=${pidFile}`, ...args] },
  ]);
  await sandbox.write("home/.config/toolport/toolport.json", { mcpServers: Object.fromEntries(entries) });
  return pidFile;
}

const pidsIn = (file: string): number[] => readFileSync(file, "utf8").trim().split("\n").map(Number);

const textOf = (result: unknown): string =>
  (result as { content: { text: string }[] }).content.map(({ text }) => text).join("");

test("serves one client over stdio, with the protocol alone on stdout, and leaves no process when it goes", async () => {
  using sandbox = createSandbox();
  // The second one ends by SIGKILL only.
  const pidFile = await configure(sandbox, { polite: [], stubborn: ["--ignore-eof", "--ignore-signals"] });
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
  for (const server of pidsIn(pidFile)) await waitForExit(server);
  expect(malformed).toEqual([]);
});

test("answers the requests of a pipe that ends at once", async () => {
  using sandbox = createSandbox();
  await configure(sandbox, { lean: [] });
  const call = (id: number, method: string, params: object) =>
    JSON.stringify({ jsonrpc: "2.0", id, method, params });
  const input = [
    call(1, "initialize", {
      protocolVersion: "2025-11-25",
      capabilities: {},
      clientInfo: { name: "pipe", version: "1" },
    }),
    call(2, "tools/call", { name: "lean__echo", arguments: { text: "from a pipe" } }),
  ].join("\n");
  const { code, stdout, stderr } = await sandbox.runWith({ input: `${input}\n` }, "serve");
  const answers = stdout
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line) as { id: number });
  expect(answers.map(({ id }) => id).sort()).toEqual([1, 2]);
  expect(stdout).toContain("from a pipe");
  expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
});

test("over HTTP every request needs the token of a private file, which no output shows", async () => {
  using sandbox = createSandbox();
  await configure(sandbox, { lean: [] });
  await using served = await startServe(sandbox, ["--http", "0", "--verbose"]);
  const file = join(sandbox.home, ".state", "toolport", "serve-token");
  await waitFor(() => served.stderr().includes(file), { label: "the place of the token" });
  const token = readFileSync(file, "utf8").trim();
  expect(statSync(file).mode & 0o777).toBe(0o600);
  expect(Buffer.from(token, "base64url")).toHaveLength(32);
  expect(served.stdout() + served.stderr()).not.toContain(token);

  const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/list", params: {} });
  const post = (headers: Record<string, string>) =>
    fetch(served.url, { method: "POST", body, headers: { "content-type": "application/json", ...headers } });
  const refused = [await post({}), await post({ authorization: `Bearer ${"x".repeat(43)}` })];
  expect(refused.map(({ status }) => status)).toEqual([401, 401]);
  expect(refused[0]!.headers.get("www-authenticate")).toMatch(/^Bearer/);
  expect((await post({ authorization: `Bearer ${token}`, origin: "https://evil.example" })).status).toBe(403);

  const client = await served.client(token);
  expect(textOf(await client.callTool({ name: "lean__echo", arguments: { text: "hi" } }))).toBe("hi");
  const { origin } = new URL(served.url);
  expect(await (await fetch(`${origin}/healthz`)).text()).toBe("ok");
  expect(await (await fetch(`${origin}/readyz`)).text()).toBe("ready");
});

test("SIGTERM lets open calls finish, then ends the servers", async () => {
  using sandbox = createSandbox();
  const pidFile = await configure(sandbox, { lean: [] });
  await using served = await startServe(sandbox, ["--http", "127.0.0.1:0", "--no-token"]);
  expect(served.stderr()).toContain("--no-token");
  const client = await served.client();
  let isRunning!: () => void;
  const running = new Promise<void>((resolve) => {
    isRunning = resolve;
  });
  const call = client.callTool(
    { name: "lean__progress", arguments: { count: 20, everyMs: 30 } },
    { onprogress: () => isRunning() },
  );
  await running;
  served.child.kill("SIGTERM");
  expect((await call).isError).not.toBe(true);
  expect(await served.ended()).toBe(143);
  for (const server of pidsIn(pidFile)) await waitForExit(server);
  await expect(fetch(served.url)).rejects.toThrow();
});

test("--drain-ms 0 ends open calls at once", async () => {
  using sandbox = createSandbox();
  const pidFile = await configure(sandbox, { lean: [] });
  await using served = await startServe(sandbox, ["--http", "0", "--no-token", "--drain-ms", "0"]);
  const client = await served.client();
  let isRunning!: () => void;
  const running = new Promise<void>((resolve) => {
    isRunning = resolve;
  });
  const call = client.callTool(
    { name: "lean__progress", arguments: { count: 10_000, everyMs: 20 } },
    { onprogress: () => isRunning() },
  );
  const failed = expect(call).rejects.toThrow();
  await running;
  served.child.kill("SIGINT");
  expect(await served.ended()).toBe(130);
  await client.close();
  await failed;
  for (const server of pidsIn(pidFile)) await waitForExit(server);
});

test("--no-prefix, --servers and --read-only choose names and tools", async () => {
  using sandbox = createSandbox();
  const readOnly = { name: "look", inputSchema: { type: "object" }, annotations: { readOnlyHint: true } };
  await configure(sandbox, { one: [`--tool=${JSON.stringify(readOnly)}`], two: [] });
  const options = ["--http", "[::1]:0", "--no-token", "--no-prefix", "--servers", "one", "--read-only"];
  await using served = await startServe(sandbox, options);
  expect(served.url).toMatch(/^http:\/\/\[::1\]:\d+\/mcp$/);
  const { tools } = await (await served.client()).listTools();
  expect(tools.map(({ name }) => name)).toEqual(["look"]);
});

test("a project's server without consent is left out, and the others are offered", async () => {
  using sandbox = createSandbox();
  await configure(sandbox, { mine: [] });
  await sandbox.write("project/.mcp.json", { mcpServers: { theirs: { command: "/no/such/program" } } });
  await using served = await startServe(sandbox, ["--http", "0", "--no-token"]);
  expect(served.stderr()).toContain("theirs is left out");
  const { tools } = await (await served.client()).listTools();
  expect(tools.every(({ name }) => name.startsWith("mine__"))).toBe(true);
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
  ["--http 0 --issuer https://a.example", 2, /audience/],
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
