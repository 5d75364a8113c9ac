/** `toolport serve --http` as a program: its token, its end, and which servers and tools it offers. */
import { readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { useProgram } from "../../../test/support/cli-sandbox.js";
import { waitForExit } from "../../../test/support/processes.js";
import { configureServers, notedPids, startServe, textOf } from "../../../test/support/served-program.js";
import { waitFor } from "../../../test/support/wait-for.js";

const createSandbox = useProgram();
test("over HTTP every request needs the token of a private file, which no output shows", async () => {
  using sandbox = createSandbox();
  await configureServers(sandbox, { lean: [] });
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
  const pidFile = await configureServers(sandbox, { lean: [] });
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
  for (const server of notedPids(pidFile)) await waitForExit(server);
  await expect(fetch(served.url)).rejects.toThrow();
});

test("--drain-ms 0 ends open calls at once", async () => {
  using sandbox = createSandbox();
  const pidFile = await configureServers(sandbox, { lean: [] });
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
  for (const server of notedPids(pidFile)) await waitForExit(server);
});

test("--no-prefix, --servers and --read-only choose names and tools", async () => {
  using sandbox = createSandbox();
  const readOnly = { name: "look", inputSchema: { type: "object" }, annotations: { readOnlyHint: true } };
  await configureServers(sandbox, { one: [`--tool=${JSON.stringify(readOnly)}`], two: [] });
  const options = ["--http", "[::1]:0", "--no-token", "--no-prefix", "--servers", "one", "--read-only"];
  await using served = await startServe(sandbox, options);
  expect(served.url).toMatch(/^http:\/\/\[::1\]:\d+\/mcp$/);
  const { tools } = await (await served.client()).listTools();
  expect(tools.map(({ name }) => name)).toEqual(["look"]);
});

test("a project's server without consent is left out, and the others are offered", async () => {
  using sandbox = createSandbox();
  await configureServers(sandbox, { mine: [] });
  await sandbox.write("project/.mcp.json", { mcpServers: { theirs: { command: "/no/such/program" } } });
  await using served = await startServe(sandbox, ["--http", "0", "--no-token"]);
  expect(served.stderr()).toContain("theirs is left out");
  const { tools } = await (await served.client()).listTools();
  expect(tools.every(({ name }) => name.startsWith("mine__"))).toBe(true);
});

test("--audit writes a log that audit verify accepts, and --policy hides and refuses tools", async () => {
  using sandbox = createSandbox();
  await configureServers(sandbox, { lean: [] });
  const policy = {
    default: "allow",
    rules: [{ effect: "deny", tool: "crash", reason: "it ends the server" }],
  };
  await sandbox.write("project/policy.json", policy);
  const options = ["--http", "0", "--no-token", "--audit", "audit.ndjson", "--policy", "policy.json"];
  await using served = await startServe(sandbox, options);
  const client = await served.client();
  const names = (await client.listTools()).tools.map(({ name }) => name);
  expect(names).toContain("lean__echo");
  expect(names).not.toContain("lean__crash");
  await client.callTool({ name: "lean__echo", arguments: { text: "hi" } });
  const refused = await client
    .callTool({ name: "lean__crash", arguments: {} })
    .catch((error: unknown) => error);
  expect(refused instanceof Error ? refused.message : textOf(refused)).toContain("it ends the server");
  served.child.kill("SIGTERM");
  expect(await served.ended()).toBe(143);
  const log = await sandbox.read(join(sandbox.project, "audit.ndjson"));
  const lines = log
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line) as { event: string; tool?: string; outcome?: string });
  expect(lines.at(-1)?.event).toBe("end");
  expect(lines.filter(({ tool }) => tool !== undefined)).toMatchObject([
    { tool: "echo", outcome: "ok" },
    { tool: "crash", outcome: "refused" },
  ]);
  expect((await sandbox.run("audit", "verify", "audit.ndjson")).code).toBe(0);
});

test("an audit log that cannot be written stops the start", async () => {
  using sandbox = createSandbox();
  await configureServers(sandbox, { lean: [] });
  const { code, stderr } = await sandbox.run(
    "serve",
    "--http",
    "0",
    "--no-token",
    "--audit",
    "no/such/folder/a",
  );
  expect({ code, stderr }).toEqual({ code: 2, stderr: expect.stringContaining("no/such/folder") });
});

test("a policy that breaks while the gateway runs is one line of stderr that names the problem", async () => {
  using sandbox = createSandbox();
  await configureServers(sandbox, { lean: [] });
  const policy = await sandbox.write("project/policy.json", { default: "allow", rules: [] });
  await using served = await startServe(sandbox, ["--http", "0", "--no-token", "--policy", policy]);
  await sandbox.write("project/policy.json", { default: "allow", rules: [{ effect: "alow" }] });
  const line = await waitFor(() => /^.*cannot be used.*$/m.exec(served.stderr())?.[0], {
    label: "the warning",
  });
  expect(line).toContain("policy.rules[0].effect: must be one of");
  expect(line).not.toContain("\\n");
});
