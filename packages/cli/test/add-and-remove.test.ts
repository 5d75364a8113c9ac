/** `add`, `remove`, `enable` and `disable`: which files they change, and which input they reject. */
import { stat } from "node:fs/promises";
import { createTestServer } from "@toolport/testing";
import { expect, test } from "vitest";
import { useProgram } from "../../../test/support/cli-sandbox.js";

const createSandbox = useProgram();

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
