/** `toolport serve --print-config`: our own readers read every output, and it starts or reaches a gateway. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { loadConfig } from "@toolport/config";
import { createToolport, type ServerEntry } from "@toolport/core";
import { expect, test } from "vitest";
import { type CliSandbox, useProgram } from "../../../test/support/cli-sandbox.js";
import { createCommandLinePlace } from "../../../test/support/command-line.js";
import { configureServers, startServe } from "../../../test/support/served-program.js";

const createSandbox = useProgram();

/** Where each client keeps its servers. */
const FILES: Readonly<Record<string, string>> = {
  "claude-desktop": "home/.config/Claude/claude_desktop_config.json",
  "claude-code": "project/.mcp.json",
  cursor: "home/.cursor/mcp.json",
  vscode: "project/.vscode/mcp.json",
  codex: "home/.codex/config.toml",
};

async function readBack(
  sandbox: CliSandbox,
  client: string,
  text: string,
  token?: string,
): Promise<ServerEntry> {
  const file = await sandbox.write(FILES[client]!, text);
  const { mcpServers, sources, warnings } = await loadConfig(file, {
    home: sandbox.home,
    cwd: sandbox.project,
    env: { ...sandbox.env, ...(token !== undefined && { TOOLPORT_SERVE_TOKEN: token }) },
    ...(token !== undefined && { inputs: { "toolport-serve-token": token } }),
  });
  expect(warnings).toEqual([]);
  expect(sources["toolport"]!.kind).toBe(client);
  return mcpServers["toolport"]!;
}

async function toolsOf(entry: ServerEntry): Promise<string[]> {
  const toolport = createToolport({ mcpServers: { gateway: entry } });
  try {
    return (await toolport.tools()).map(({ name }) => name);
  } finally {
    await toolport.close();
  }
}

test.each(Object.keys(FILES))("%s starts a gateway with the printed entry", async (client) => {
  using sandbox = createSandbox();
  await configureServers(sandbox, { lean: [], other: [] });
  const config = join(sandbox.home, ".config/toolport/toolport.json");
  const options = ["--config", "../home/.config/toolport/toolport.json", "--servers", "lean", "--read-only"];
  const { code, stdout, stderr } = await sandbox.run("serve", "--print-config", client, ...options);
  expect({ code, stderr }).toEqual({ code: 0, stderr: expect.stringContaining("For ") });
  const entry = await readBack(sandbox, client, stdout);
  expect(entry).toMatchObject({
    command: process.execPath,
    args: [sandbox.main, "serve", "--config", config, "--servers", "lean", "--read-only"],
  });
  const { args, ...rest } = entry as { command: string; args: string[] };
  const started = { ...rest, args: args.slice(0, -1), env: { ...sandbox.env } };
  const names = await toolsOf(started as ServerEntry);
  expect(names).toContain("gateway__lean__echo");
  expect(names.filter((name) => name.includes("other"))).toEqual([]);
});

test("clients that know HTTP reach a gateway with a token that their file does not contain", async () => {
  using sandbox = createSandbox();
  await configureServers(sandbox, { lean: [] });
  await using served = await startServe(sandbox, ["--http", "0"]);
  const token = readFileSync(join(sandbox.home, ".state/toolport/serve-token"), "utf8").trim();
  const { host } = new URL(served.url);
  for (const client of ["claude-code", "cursor", "vscode", "codex"]) {
    const { stdout, stderr } = await sandbox.run("serve", "--http", host, "--print-config", client);
    expect(stdout + stderr).not.toContain(token);
    expect(stderr).toContain("serve-token");
    const entry = await readBack(sandbox, client, stdout, token);
    expect(entry).toMatchObject({ url: served.url });
    expect(await toolsOf(entry)).toContain("gateway__lean__echo");
  }
});

const run = async (...args: string[]) => {
  using place = createCommandLinePlace();
  return place.run(["serve", "--print-config", ...args]);
};

test("with an issuer, the client logs in itself", async () => {
  const { stdout } = await run("codex", "--url", "https://a.example/mcp", "--issuer", "https://b.example");
  expect(stdout).toBe('[mcp_servers.toolport]\nurl = "https://a.example/mcp"\n');
});

test("a password of the store is only referred to", async () => {
  const store = ["--store", "redis://:hunter2@cache:6379/0"];
  const outputs = await Promise.all(
    ["cursor", "vscode", "codex", "claude-code"].map((it) => run(it, ...store)),
  );
  for (const { stdout, stderr, code } of outputs) {
    expect(code).toBe(0);
    expect(stdout + stderr).not.toContain("hunter2");
    expect(stdout).toMatch(/TOOLPORT_STORE|toolport-store/);
  }
  const { code, stderr } = await run("claude-desktop", ...store);
  expect({ code, stderr }).toEqual({ code: 2, stderr: expect.stringContaining("cannot refer to variables") });
  const plain = await run("claude-desktop", "--store", "postgres://db.internal/toolport");
  expect(plain.stdout).toContain("postgres://db.internal/toolport");
});

test("what a client cannot do is an error", async () => {
  const http = await run("claude-desktop", "--http", "8080");
  expect({ code: http.code, stdout: http.stdout }).toEqual({ code: 2, stdout: "" });
  expect(http.stderr).toContain("cannot name a server over HTTP");
  expect((await run("cursor", "--http", "0")).stderr).toContain("needs a fixed port");
  expect((await run("emacs")).stderr).toContain("must be one of claude-desktop");
});

test("--json has the text and the file", async () => {
  const { json } = await run("codex", "--json");
  expect(json()).toMatchObject({ client: "codex", file: "~/.codex/config.toml", variables: [] });
});
