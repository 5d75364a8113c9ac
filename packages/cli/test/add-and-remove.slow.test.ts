import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { useProgram } from "../../../test/support/cli-sandbox.js";

const createSandbox = useProgram();

const STDIO_SERVER = fileURLToPath(new URL("../../../test/fixtures/servers/sdk-stdio.mjs", import.meta.url));

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
