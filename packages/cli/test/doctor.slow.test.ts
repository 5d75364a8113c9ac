/** `doctor` on a setup with a problem of every kind: it reports each with a fix. */
import { mkdir, mkdtemp, rm } from "node:fs/promises";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createTestServer } from "@toolport/testing";
import { createToolport } from "toolport";
import { sqliteStore } from "toolport/sqlite";
import { expect, test } from "vitest";
import { hasOpenssl, makeCertificates } from "../../../test/support/certificates.js";
import { useProgram } from "../../../test/support/cli-sandbox.js";
import { startOAuthBench } from "../../../test/support/oauth-bench.js";
import { logIn } from "../../../test/support/oauth-browser.js";
import { CALLBACK_URL } from "../../../test/support/oauth-callback-url.js";
import { startHostileServer } from "../../../test/support/oauth-hostile-server.js";
import { startRecordingHttpServer } from "../../../test/support/recording-http-server.js";
import { startTlsFront } from "../../../test/support/tls-front.js";

const createSandbox = useProgram();

interface Check {
  check: string;
  server?: string;
  status: string;
  message: string;
  next?: string;
}

const HOUR_MS = 3_600_000;
const CRASH = "process.stderr.write('reading settings\\nDEMO_TOKEN is missing\\n'); process.exit(3)";

async function listen(server: Server): Promise<{ url: string; close(): Promise<void> }> {
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`,
    async close() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

test("reports every problem with a fix, and exits with the highest code", async () => {
  using sandbox = createSandbox();
  await using bench = await startOAuthBench();
  const longName = `tool_${"x".repeat(80)}`;
  const odd = createTestServer({
    tools: {
      "get.weather!": { handler: () => "" },
      [longName]: { handler: () => "" },
      deep: {
        inputSchema: {
          type: "object",
          properties: { tree: { $ref: "#/$defs/tree" } },
          $defs: { tree: { type: "object", properties: { branch: { $ref: "#/$defs/tree" } } } },
        },
        handler: () => "",
      },
    },
  });
  const sick = await listen(createServer((_, response) => response.writeHead(503).end()));
  const astray = await listen(
    createServer((_, response) =>
      response.writeHead(404, { date: new Date(Date.now() - HOUR_MS).toUTCString() }).end(),
    ),
  );
  try {
    const { url: oddUrl } = await odd.http();
    await sandbox.write(
      "home/.config/toolport/toolport.json",
      `{
  "mcpServers": {
    "unset": { "url": "https://example.com/mcp", "headers": { "X-Key": "\${NOT_SET_ANYWHERE}" } },
    "twice": { "command": "true" },
    "twice": { "command": "false" },
    "slip": { "comand": "npx" },
    "missing": { "command": "no-such-program-here" },
    "homeless": { "command": "${process.execPath}", "args": ["-e", "0"], "cwd": "/no/such/folder" },
    "crashing": { "command": "${process.execPath}", "args": ["-e", ${JSON.stringify(CRASH)}] },
    "refused": { "url": "http://127.0.0.1:9/mcp" },
    "nowhere": { "url": "http://no-such-host.invalid/mcp" },
    "sick": { "url": "${sick.url}" },
    "astray": { "url": "${astray.url}" },
    "locked": { "url": "${bench.url}" },
    "boxed": { "transport": "docker", "image": "mcp/time", "engine": "no-such-engine" },
    "off": { "command": "no-such-program-either", "enabled": false },
    "odd": { "url": "${oddUrl}" }
  }
}`,
    );
    await sandbox.write("home/.cursor/mcp.json", {
      mcpServers: { odd: { command: "shadowed" }, strange: { command: "true", sparkle: 1, disabled: true } },
    });
    const run = await sandbox.run("doctor", "--json", "--timeout", "5000");
    const { checks, summary, next, ok } = run.json() as {
      checks: Check[];
      summary: Record<string, number>;
      next: string[];
      ok: boolean;
    };
    const find = (status: string, server: string | undefined, text: string | RegExp) =>
      checks.filter(
        (found) => found.status === status && found.server === server && found.message.match(text),
      );
    const expected: [status: string, server: string | undefined, text: string | RegExp][] = [
      ["ok", undefined, /^Node \d/],
      ["ok", undefined, /state\.db: readable, writable/],
      ["fail", undefined, /toolport\.json:3: .*NOT_SET_ANYWHERE/],
      ["fail", undefined, /toolport\.json:5: .*twice/],
      ["fail", undefined, /toolport\.json:6: .*slip/],
      ["warn", undefined, /mcp\.json:\d+: odd: is not used/],
      ["warn", undefined, /sparkle/],
      ["fail", "missing", "is not on PATH"],
      ["fail", "homeless", "/no/such/folder"],
      ["fail", "crashing", /DEMO_TOKEN is missing/],
      ["fail", "refused", "ECONNREFUSED"],
      ["fail", "nowhere", "no-such-host.invalid"],
      ["fail", "sick", "HTTP 503"],
      ["warn", "astray", "HTTP 404"],
      ["warn", "astray", /behind this machine's/],
      ["ok", "locked", /is its authorization server/],
      ["skip", "locked", "Not logged in"],
      ["fail", "boxed", "no-such-engine is not on PATH"],
      ["skip", "off", "Disabled in"],
      ["ok", "odd", /^Ready in/],
      ["warn", "odd", /get\.weather! is offered as/],
      ["warn", "odd", new RegExp(`${longName} is offered as`)],
      ["warn", "odd", /Not supported by .*deep/],
      ["warn", "odd", /Not supported by .*the portable form of LangChain and the AI SDK/],
    ];
    const unseen = expected.filter(([status, server, text]) => find(status, server, text).length === 0);
    expect(unseen, JSON.stringify(checks, undefined, 1)).toEqual([]);
    expect(checks.find(({ check, server }) => server === "locked" && check === "connect")).toMatchObject({
      status: "fail",
      next: "toolport auth locked",
    });
    // Every failure has advice, which the end of the document repeats.
    const failures = checks.filter(({ status }) => status === "fail");
    expect(failures.filter((found) => found.next === undefined)).toEqual([]);
    expect(next.length).toBeGreaterThanOrEqual(10);
    expect({ ok, code: run.code, fail: summary["fail"] }).toEqual({
      ok: false,
      code: 4,
      fail: failures.length,
    });
  } finally {
    await Promise.all([odd.close(), sick.close(), astray.close()]);
  }
});

test("ends the text with the advice, and checks only the named server", async () => {
  using sandbox = createSandbox();
  await sandbox.write("home/.config/toolport/toolport.json", {
    mcpServers: { missing: { command: "no-such-program-here" }, other: { command: "nor-this-one" } },
  });
  const { code, stdout } = await sandbox.run("doctor", "missing");
  expect(code).toBe(4);
  expect(stdout).toMatch(/✘ command {2}no-such-program-here is not on PATH/);
  expect(stdout).toMatch(/What to do:\n {2}1\. missing: Install no-such-program-here/);
  expect(stdout).not.toContain("nor-this-one");
  const unknown = await sandbox.run("doctor", "mising");
  expect(unknown.code).toBe(2);
  expect(unknown.stderr).toContain("Did you mean missing?");
});

test("reports valid, renewable and expired tokens", async () => {
  using sandbox = createSandbox();
  await using bench = await startOAuthBench();
  const mcpServers = { locked: { url: bench.url } };
  await sandbox.write("home/.config/toolport/toolport.json", { mcpServers });
  const store = sqliteStore(sandbox.statePath);
  const toolport = createToolport({ mcpServers, callbackUrl: CALLBACK_URL, store });
  const { authUrl } = (await toolport.connect()).servers["locked"] ?? {};
  await toolport.finishAuth("locked", (await logIn(authUrl as string)).searchParams);
  await toolport.close();
  const [key = ""] = await store.list("oauth/tokens/");
  const change = async (fields: object) => {
    const { value } = (await store.get(key)) as { value: object };
    await store.put(key, { ...value, ...fields }, { secret: true });
  };
  const expired = { obtainedAt: Date.now() - 3_601_000, expiresAt: Date.now() - 1_000 };
  const examine = async () => {
    const { code, json } = await sandbox.run("doctor", "locked", "--json");
    return { code, token: (json().checks as Check[]).find(({ check }) => check === "token") };
  };
  try {
    const good = { status: "ok", message: expect.stringContaining("valid until") };
    expect(await examine()).toMatchObject({ code: 0, token: good });
    await change(expired);
    const renewable = { status: "ok", message: expect.stringContaining("the next call renews it") };
    expect(await examine()).toMatchObject({ code: 0, token: renewable });
    await change({ ...expired, refreshToken: undefined });
    const spent = { status: "fail", next: "toolport auth locked" };
    expect(await examine()).toMatchObject({ code: 3, token: spent });
  } finally {
    await store.close();
  }
});

test("fails for an authorization server that does not advertise S256", async () => {
  using sandbox = createSandbox();
  await using hostile = await startHostileServer("127.0.0.1");
  hostile.lies = { metadata: { code_challenge_methods_supported: undefined } };
  await sandbox.write("home/.config/toolport/toolport.json", { mcpServers: { it: { url: hostile.url } } });
  const { code, json } = await sandbox.run("doctor", "it", "--json");
  expect(code).toBe(3);
  expect(json().checks).toContainEqual(expect.objectContaining({ check: "oauth", status: "fail" }));
});

test("does not start a project's server before consent", async () => {
  using sandbox = createSandbox();
  await sandbox.write("project/.mcp.json", {
    mcpServers: { theirs: { command: process.execPath, args: ["-e", CRASH] } },
  });
  const { code, stdout } = await sandbox.run("doctor", "--json");
  expect(code).toBe(2);
  expect(stdout).not.toContain("DEMO_TOKEN is missing\\n");
  expect((JSON.parse(stdout) as { checks: Check[] }).checks).toContainEqual(
    expect.objectContaining({ check: "trust", server: "theirs", status: "fail" }),
  );
});

test("reports unusable state and runs the other checks", async () => {
  using sandbox = createSandbox();
  await mkdir(sandbox.statePath, { recursive: true });
  const broken = await sandbox.run("doctor", "--json");
  expect(broken.code).toBe(1);
  expect(broken.json().checks).toContainEqual(expect.objectContaining({ check: "state", status: "fail" }));
  const off = await sandbox.run("doctor", "--no-state", "--json");
  expect(off.code).toBe(0);
  expect(off.json().checks).toContainEqual(expect.objectContaining({ check: "state", status: "warn" }));
});

test("reports an unreadable --config file with its line", async () => {
  using sandbox = createSandbox();
  const file = await sandbox.write(
    "project/broken.json",
    '{\n  "mcpServers": {\n    "a": { "command" "x" }\n  }\n}',
  );
  const { code, stdout } = await sandbox.run("doctor", "--config", file);
  expect(code).toBe(2);
  expect(stdout).toContain(`${file}:3`);
});

test.skipIf(!hasOpenssl())(
  "reports an invalid certificate even with NODE_TLS_REJECT_UNAUTHORIZED=0, and sends nothing",
  async () => {
    using sandbox = createSandbox();
    await using behind = await startRecordingHttpServer();
    const folder = await mkdtemp(join(tmpdir(), "toolport-doctor-"));
    const front = await startTlsFront(
      makeCertificates(folder).selfSigned,
      Number(new URL(behind.origin).port),
    );
    try {
      const url = `https://127.0.0.1:${front.port}/mcp`;
      await sandbox.write("home/.config/toolport/toolport.json", { mcpServers: { it: { url } } });
      const env = { NODE_TLS_REJECT_UNAUTHORIZED: "0" };
      const { code, json } = await sandbox.runWith({ env }, "doctor", "it", "--json", "--timeout", "5000");
      expect(code).toBe(4);
      expect(json().checks).toContainEqual(
        expect.objectContaining({
          check: "tls",
          server: "it",
          status: "fail",
          message: expect.stringContaining("DEPTH_ZERO_SELF_SIGNED_CERT"),
        }),
      );
      expect([front.bytes, behind.requests]).toEqual([0, []]);
    } finally {
      await front.close();
      await rm(folder, { recursive: true, force: true });
    }
  },
);
