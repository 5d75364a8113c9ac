/** One program, one server per transport, two that cannot start: each is reported by name, the others work. */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { ConnectionError, createToolport, isUnauthorized, type ServerEntry, ToolportError } from "toolport";
import { createTestServer } from "toolport/testing";
import { expect, test } from "vitest";

const LEAN = "test/fixtures/servers/stdio-lean.mjs";
const echo = { echo: { handler: ({ text }: { text?: unknown }) => String(text) } };

async function withServers(run: (servers: Record<string, ServerEntry>) => Promise<void>): Promise<void> {
  await using legacy = createTestServer({ era: "legacy", tools: echo });
  await using modern = createTestServer({ era: "modern", tools: echo });
  await using both = createTestServer({ tools: echo });
  const folder = await mkdtemp(join(tmpdir(), "toolport-docker-"));
  try {
    await run({
      stdio: { command: process.execPath, args: [LEAN] },
      legacy: { url: (await legacy.http()).url },
      modern: { url: (await modern.http()).url },
      sse: (await both.sse()).entry,
      socket: (await both.webSocket()).entry,
      docker: {
        image: "mcp/lean",
        engine: "test/fixtures/bin/docker-stand-in.mjs",
        env: { DOCKER_STAND_IN_LOG: join(folder, "log") },
      },
      missing: { command: "no-such-program-anywhere" },
      broken: { command: process.execPath, args: [LEAN, "--stderr=The config is missing", "--exit=1"] },
    });
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

const GOOD = ["stdio", "legacy", "modern", "sse", "socket", "docker"];

test("six servers over six transports are ready, two are reported with their errors", async () => {
  await withServers(async (mcpServers) => {
    await using toolport = createToolport({ mcpServers });
    const { servers } = await toolport.connect();
    expect(GOOD.map((name) => [name, servers[name]?.state, servers[name]?.error?.message])).toEqual(
      GOOD.map((name) => [name, "ready", undefined]),
    );
    const missing = servers["missing"]!.error as ConnectionError;
    expect(missing).toMatchObject({ code: "SPAWN_FAILED", server: "missing", errno: "ENOENT" });
    const broken = servers["broken"]!.error as ConnectionError;
    expect(broken).toMatchObject({ code: "SPAWN_FAILED", server: "broken", exitCode: 1 });
    expect(broken.stderrTail).toContain("The config is missing");
    expect(broken.message).toContain("The config is missing");

    for (const server of GOOD) {
      const result = await toolport.callTool(`${server}__echo`, { text: server });
      expect(result).toMatchObject({ text: server, isError: false, server });
    }
    const { servers: seen } = toolport.snapshot();
    expect(seen["legacy"]).toMatchObject({ era: "legacy", transport: "http" });
    expect(seen["modern"]).toMatchObject({ era: "modern", protocolVersion: "2026-07-28" });
  });
});

test('onServerError "throw" throws one error that names every failure', async () => {
  await withServers(async (mcpServers) => {
    await using toolport = createToolport({ mcpServers, onServerError: "throw" });
    const error = await toolport.connect().then(
      () => undefined,
      (reason: unknown) => reason as ToolportError,
    );
    expect(ToolportError.isInstance(error)).toBe(true);
    expect(error!.errors.map(({ server }) => server).sort()).toEqual(["broken", "missing"]);
    expect(error!.message).toMatch(/broken/);
    expect(isUnauthorized(error)).toBe(false);
  });
});

test("one failed server throws its own error; a function gets each error", async () => {
  const missing = { command: "no-such-program-anywhere" };
  await using throwing = createToolport({ mcpServers: { missing }, onServerError: "throw" });
  await expect(throwing.connect()).rejects.toBeInstanceOf(ConnectionError);
  // tools() reports the same errors as connect().
  await expect(throwing.tools()).rejects.toBeInstanceOf(ConnectionError);
  const reported: [string, string][] = [];
  await using telling = createToolport({
    mcpServers: { missing },
    onServerError: (server, error) => reported.push([server.name, error.code]),
  });
  await telling.connect();
  expect(reported).toEqual([["missing", "SPAWN_FAILED"]]);
});

test("a server that exits before it reads is reported by its exit code, never as a broken pipe", async () => {
  const command = process.execPath;
  const mcpServers = Object.fromEntries(
    Array.from({ length: 16 }, (_, index) => [
      `s${index}`,
      { command, args: ["-e", `process.exit(${index + 1})`] },
    ]),
  );
  await using toolport = createToolport({ mcpServers });
  const { servers } = await toolport.connect();
  expect(
    Object.values(servers).map(({ error }) => [error?.code, (error as ConnectionError).exitCode]),
  ).toEqual(Array.from({ length: 16 }, (_, index) => ["SPAWN_FAILED", index + 1]));
});
