/** `import` and `export`: copy servers from and to files of other programs. */
import { stat } from "node:fs/promises";
import { dirname, join } from "node:path";
import { expect, test } from "vitest";
import { useProgram } from "../../../test/support/cli-sandbox.js";

const createSandbox = useProgram();

async function withForeignFiles() {
  const sandbox = createSandbox();
  await sandbox.write("home/.cursor/mcp.json", {
    mcpServers: {
      search: { command: "npx", args: ["-y", "search-server"], env: { KEY: `\${env:SEARCH_KEY}` } },
      web: { url: "https://example.com/mcp" },
    },
  });
  await sandbox.write("project/.vscode/mcp.json", {
    servers: {
      built: { type: "stdio", command: "./server.sh" },
      web: { type: "http", url: "https://other.example/mcp" },
    },
  });
  return sandbox;
}

test("import lists the servers, asks about those that start a program, and keeps variables", async () => {
  using sandbox = await withForeignFiles();
  const env = { SEARCH_KEY: "very-secret" };
  const dry = await sandbox.runWith({ env }, "import", "--dry-run", "--json");
  expect(dry.code).toBe(0);
  expect(dry.json()).toMatchObject({ isDryRun: true, file: sandbox.ownFile });
  const { imported } = dry.json<{ imported: { name: string; program: string }[] }>();
  const names = imported.map(({ name, program }) => `${program} ${name}`);
  expect(names.sort()).toEqual(["cursor search", "vscode built", "vscode web"]);
  await expect(stat(sandbox.ownFile)).rejects.toThrow();

  const refused = await sandbox.runWith({ env }, "import", "--from", "cursor");
  expect(refused.code).toBe(1);
  expect(refused.stderr).toContain("runs      npx -y search-server");
  expect(refused.stderr).toContain("Try: toolport import --from cursor --yes");
  const done = await sandbox.runWith({ env }, "import", "--from", "cursor", "--yes");
  expect(done.code).toBe(0);
  const written = await sandbox.read(sandbox.ownFile);
  expect(JSON.parse(written).mcpServers).toMatchObject({
    search: { command: "npx", args: ["-y", "search-server"], env: { KEY: `\${env:SEARCH_KEY}` } },
    web: { url: "https://example.com/mcp" },
  });
  expect(written + done.stdout + done.stderr).not.toContain("very-secret");

  const again = await sandbox.runWith({ env }, "import", "--from", "cursor", "--yes", "--json");
  expect(again.json()).toMatchObject({ imported: [], left: [{ state: "same" }, { state: "same" }] });
  const taken = await sandbox.runWith({ env }, "import", "web", "--from", "vscode", "--yes", "--json");
  expect(taken.json()).toMatchObject({ imported: [], left: [{ name: "web", state: "taken" }] });
  const unknown = await sandbox.run("import", "--from", "cursr");
  expect(unknown.stderr).toContain("Did you mean cursor?");
});

test("export writes the format of another program, with secrets only on request", async () => {
  using sandbox = createSandbox();
  await sandbox.write("home/.config/toolport/toolport.json", {
    mcpServers: {
      api: { url: "https://example.com/mcp", headers: { Authorization: "Bearer abc-secret" } },
      tool: { command: "npx", args: ["-y", "x"] },
    },
  });
  const shown = await sandbox.run("export", "--format", "vscode");
  expect(shown.code).toBe(0);
  expect(shown.stdout + shown.stderr).not.toContain("abc-secret");
  expect(JSON.parse(shown.stdout)).toMatchObject({
    inputs: [{ type: "promptString", password: true }],
    servers: {
      api: { type: "http", url: "https://example.com/mcp" },
      tool: { type: "stdio", command: "npx" },
    },
  });
  const out = join(sandbox.project, "cursor.json");
  const kept = await sandbox.run(
    "export",
    "api",
    "--format",
    "cursor",
    "--out",
    out,
    "--keep-secrets",
    "--json",
  );
  expect(kept.json()).toMatchObject({ format: "cursor", file: out, servers: ["api"] });
  expect(await sandbox.read(out)).toContain("abc-secret");
  expect((await stat(out)).mode & 0o777).toBe(0o600);
  const refused = await sandbox.run("export", "--out", out, "--json");
  expect(refused.error().code).toBe("FILE_EXISTS");
  expect((await sandbox.run("export", "nope", "--json")).code).toBe(2);
});

test("export names the folder of a server only if its paths need it", async () => {
  using sandbox = createSandbox();
  await sandbox.write("home/.config/toolport/toolport.json", {
    mcpServers: {
      plain: { command: "npx", args: ["-y", "search-server", "/data"] },
      relative: { command: "npx", args: ["-y", "search-server", "./data"] },
      script: { command: "node", args: ["server.js"] },
    },
  });
  await sandbox.write("home/.config/toolport/server.js", {});
  const { config } = (await sandbox.run("export", "--json")).json<{ config: { mcpServers: object } }>();
  const cwd = dirname(sandbox.ownFile);
  expect(config.mcpServers).toEqual({
    plain: { command: "npx", args: ["-y", "search-server", "/data"] },
    relative: { command: "npx", args: ["-y", "search-server", "./data"], cwd },
    script: { command: "node", args: ["server.js"], cwd },
  });
  const claude = await sandbox.run("export", "plain", "--format", "claude", "--json");
  expect(claude.json()).toMatchObject({ warnings: [] });
});
