/** `add`, `remove`, `enable` and `disable`: which files they change, and which input they reject. */
import { stat } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, test, vi } from "vitest";
import { createTestServer } from "../../src/testing/index.js";
import { useProgram } from "../support/cli-sandbox.js";

const createSandbox = useProgram();
// Starts many processes in sequence, on a machine that may be busy.
vi.setConfig({ testTimeout: 60_000 });

const STDIO_SERVER = fileURLToPath(new URL("../fixtures/servers/sdk-stdio.mjs", import.meta.url));

test("adds a URL to the user's file and connects to check it", async () => {
  using sandbox = createSandbox();
  const server = createTestServer({ tools: { hello: { handler: () => "hi" } } });
  try {
    const { url } = await server.http();
    const added = await sandbox.run("add", "greeter", url, "--header", "X-Key: secret-1", "--json");
    expect(added.code).toBe(0);
    expect(added.json()).toMatchObject({
      file: sandbox.ownFile,
      added: [{ name: "greeter", command: url }],
      checks: [{ name: "greeter", state: "ready", tools: 1 }],
    });
    expect(added.stdout + added.stderr).not.toContain("secret-1");
    const file = JSON.parse(await sandbox.read(sandbox.ownFile));
    expect(file.mcpServers.greeter).toEqual({ url, headers: { "X-Key": "secret-1" } });
    // The file contains a secret now.
    expect((await stat(sandbox.ownFile)).mode & 0o777).toBe(0o600);

    const again = await sandbox.run("add", "greeter", url, "--json");
    expect(again.code).toBe(2);
    expect(again.error()).toMatchObject({
      code: "DUPLICATE_SERVER",
      next: "toolport add greeter … --replace",
    });
  } finally {
    await server.close();
  }
});

test("writes a command to ./toolport.json with --project, with consent, because the user typed it", async () => {
  using sandbox = createSandbox();
  const line = ["add", "files", "--project", "--json", "--", process.execPath, STDIO_SERVER];
  const added = await sandbox.run(...line);
  expect(added.stderr).toBe("");
  expect(added.json()).toMatchObject({ checks: [{ name: "files", state: "ready" }] });
  const file = JSON.parse(await sandbox.read(join(sandbox.project, "toolport.json")));
  expect(file.mcpServers.files).toEqual({ command: process.execPath, args: [STDIO_SERVER] });
  const listed = await sandbox.run("list", "--json");
  expect(listed.code).toBe(0);
});

test("keeps a server that fails to connect, and exits with the code of its error", async () => {
  using sandbox = createSandbox();
  const added = await sandbox.run("add", "gone", "--", "no-such-program-here");
  expect(added.code).toBe(4);
  expect(added.stderr).toContain("gone was added, but its state is failed");
  expect(added.stderr).toContain("Next: toolport doctor gone");
});

test("shows pasted JSON in full and asks for consent", async () => {
  using sandbox = createSandbox();
  const pasted = JSON.stringify({
    servers: { time: { command: "uvx", args: ["mcp-server-time; rm -rf /"] } },
  });
  const refused = await sandbox.run("add", "--no-check", pasted);
  expect(refused.code).toBe(1);
  expect(refused.stderr).toContain("uvx 'mcp-server-time; rm -rf /'");
  expect(refused.stderr).toContain("DANGER");
  expect(refused.stderr).toContain("--yes");
  const agreed = await sandbox.run("add", "--no-check", "--yes", pasted);
  expect(agreed.code).toBe(0);
  expect(JSON.parse(await sandbox.read(sandbox.ownFile)).mcpServers.time).toMatchObject({ command: "uvx" });

  const entry = JSON.stringify({ url: "https://example.com/mcp" });
  const single = await sandbox.run("add", "web", "--no-check", "--json", entry);
  expect(single.json()).toMatchObject({ added: [{ name: "web", command: "https://example.com/mcp" }] });
  const piped = await sandbox.runWith({ input: entry }, "add", "web2", "-", "--no-check");
  expect(piped.code).toBe(0);
});

test.each([
  [["add", "x"], "x needs a URL, or -- and a command"],
  [["add", "https://example.com/mcp"], "toolport add example https://example.com/mcp"],
  [["add", "x", "npx", "--no-check"], "toolport add x -- npx"],
  [["add", "x", "https://example.com/mcp", "--header", "broken"], "--header requires a name"],
])("rejects %j with a corrected command", async (line, hint) => {
  using sandbox = createSandbox();
  const refused = await sandbox.run(...line);
  expect(refused.code).toBe(1);
  expect(refused.stderr).toContain(hint);
});

test("removes, disables and enables servers in Toolport's own files only", async () => {
  using sandbox = createSandbox();
  await sandbox.write(
    "home/.config/toolport/toolport.json",
    '{\n  // mine\n  "mcpServers": { "a": { "command": "x" }, "b": { "command": "y" } }\n}\n',
  );
  const cursor = await sandbox.write("home/.cursor/mcp.json", { mcpServers: { theirs: { command: "z" } } });
  expect((await sandbox.run("disable", "a")).code).toBe(0);
  expect(JSON.parse((await sandbox.read(sandbox.ownFile)).replace("// mine", "")).mcpServers.a.enabled).toBe(
    false,
  );
  expect((await sandbox.run("enable", "a")).code).toBe(0);
  const removed = await sandbox.run("remove", "a", "b", "--json");
  expect(removed.json()).toEqual({
    change: "remove",
    servers: [
      { name: "a", file: sandbox.ownFile },
      { name: "b", file: sandbox.ownFile },
    ],
  });
  expect(await sandbox.read(sandbox.ownFile)).toContain("// mine");

  const foreign = await sandbox.run("remove", "theirs", "--json");
  expect(foreign.code).toBe(2);
  expect(foreign.error()).toMatchObject({
    code: "FOREIGN_FILE",
    next: "toolport import theirs --from cursor",
  });
  expect(foreign.error().message).toContain(`${cursor}:3`);
  const unknown = await sandbox.run("remove", "thiers");
  expect(unknown.code).toBe(2);
  expect(unknown.stderr).toContain("Did you mean theirs?");
});
