// biome-ignore-all lint/suspicious/noTemplateCurlyInString: files look like this
/** Faults of configuration: broken and dangerous files, changes after consent, changes under load. */
import { existsSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { inspect } from "node:util";
import { type ConfigError, memoryStore, type ServerEntry, ToolportError } from "toolport";
import { configFingerprint, loadConfig, TrustRecords } from "toolport/node";
import { createTestServer } from "toolport/testing";
import { beforeAll, expect } from "vitest";
import { isAlive, LEAN_SERVER } from "../fixtures/stdio-peer.js";
import { createCommandLinePlace } from "../support/command-line.js";
import { waitFor } from "../support/wait-for.js";
import { faultCase } from "./fault-case.js";
import type { FaultHarness } from "./fault-harness.js";

const lean = (...flags: string[]) => ({ command: process.execPath, args: [LEAN_SERVER, ...flags] });

beforeAll(async () => {
  // Loads the command line.
  using place = createCommandLinePlace();
  await place.run(["list"]);
});

// K01

const good = `"good": ${JSON.stringify(lean())}`;
const servers = (...lines: string[]): string => `{\n"mcpServers": {\n${[good, ...lines].join(",\n")}\n}\n}`;

async function load(harness: FaultHarness, content: string) {
  const file = join(harness.folder, "toolport.json");
  writeFileSync(file, content);
  const loaded = await loadConfig(file, { env: {}, onProblem: "report" });
  harness.note(inspect(loaded, { depth: 12 }));
  return { file, loaded };
}

async function expectGoodToWork(
  harness: FaultHarness,
  loaded: Awaited<ReturnType<typeof loadConfig>>,
): Promise<void> {
  const toolport = harness.open({ ...loaded.mcpServers });
  expect((await toolport.callTool("good__echo", { text: "hi" })).text).toBe("hi");
}

const wrong: Record<string, { bad: string; line: number; message: RegExp }> = {
  "duplicate names": {
    bad: '"it": { "command": "x" },\n"it": { "command": "y" }',
    line: 5,
    message: /given twice \(first on line 4\)/,
  },
  "__proto__ key": {
    bad: '"__proto__": { "command": "x" }',
    line: 4,
    message: /cannot be the name of a server/,
  },
  "unknown keys": {
    bad: '"it": { "command": "x", "comand": "y" }',
    line: 4,
    message: /did you mean "command"/,
  },
  "${MISSING}": { bad: '"it": { "command": "${MISSING}" }', line: 4, message: /needs the variable MISSING/ },
  "password in URL": {
    bad: '"it": { "url": "https://me:CANARY@x.example/" }',
    line: 4,
    message: /user name or password/,
  },
};
for (const [kind, { bad, line, message }] of Object.entries(wrong)) {
  faultCase("K01", `${kind}: reported with its line, and the other servers load`, async (harness) => {
    const canary = harness.secret();
    const { file, loaded } = await load(harness, servers(bad.replace("CANARY", canary)));
    expect(loaded.issues).toMatchObject([{ file, line }]);
    expect(loaded.issues[0]?.message).toMatch(message);
    expect(({} as Record<string, unknown>)["command"]).toBeUndefined();
    // Two entries with one name are both refused: neither can be trusted more.
    await expectGoodToWork(harness, loaded);
    const error = (await loadConfig(file, { env: {} }).catch((caught: unknown) => caught)) as ConfigError;
    harness.note(error);
    expect(error).toMatchObject({ name: "ConfigError", code: "INVALID_CONFIG" });
    expect(error.message).toContain(`${file}:${line}: `);
  });
}

const unwise: Record<string, { entry: string; message: RegExp }> = {
  "secret in URL": {
    entry: '"it": { "url": "https://x.example/mcp?api_key=CANARY", "enabled": false }',
    message: /contains a secret \("api_key"\)/,
  },
  "http:// remote": {
    entry:
      '"it": { "url": "http://x.example/mcp", "headers": { "Authorization": "Bearer CANARY" }, "enabled": false }',
    message: /not encrypted.*use https:/,
  },
};
for (const [kind, { entry, message }] of Object.entries(unwise)) {
  faultCase("K01", `${kind}: a warning, and the secret in no view of it`, async (harness) => {
    const canary = harness.secret();
    const { loaded } = await load(harness, servers(entry.replace("CANARY", canary)));
    expect(loaded.issues).toEqual([]);
    expect(loaded.warnings).toMatchObject([{ line: 4, message: expect.stringMatching(message) }]);
    await expectGoodToWork(harness, loaded);
  });
}

faultCase("K01", "JSONC with a BOM: read", async (harness) => {
  const { loaded } = await load(
    harness,
    `\ufeff// servers\n${servers("/* none */").replace(",\n/*", ", /*")}`,
  );
  expect(loaded.issues).toEqual([]);
  await expectGoodToWork(harness, loaded);
});

const unreadable: Record<string, { content: () => string; line?: number; message: RegExp }> = {
  "invalid JSON": {
    content: () => '{\n"mcpServers": {\n"a": { "command": "x" "args": [] }\n}\n}',
    line: 3,
    message: /column \d+: a comma is missing/,
  },
  "50 MB": { content: () => " ".repeat(50_000_000), message: /larger than \d+ bytes/ },
};
for (const [kind, { content, line, message }] of Object.entries(unreadable)) {
  faultCase("K01", `${kind}: reported at once, and nothing is loaded`, async (harness) => {
    const { file, loaded } = await harness.within(3_000, load(harness, content()));
    expect(loaded).toMatchObject({ mcpServers: {}, files: [] });
    expect(loaded.issues).toMatchObject([{ file, message: expect.stringMatching(message) }]);
    expect(loaded.issues[0]?.line).toBe(line);
    await harness.fails(loadConfig(file, { env: {} }), { code: "UNREADABLE_CONFIG", withinMs: 3_000 });
  });
}

// K03

const before: ServerEntry = { command: "npx", args: ["-y", "server"], env: { TOKEN: "a" } };
const after: Record<string, ServerEntry> = {
  args: { ...before, args: ["-y", "server", "--all"] },
  "names in env": { ...before, env: { TOKEN: "a", MORE: "b" } },
  "any value in env": { ...before, env: { TOKEN: "b" } },
  command: { ...before, command: "bunx" },
  cwd: { ...before, cwd: "/tmp" },
};
faultCase("K03", "hash: every change of the entry as written asks for consent again", async () => {
  const trust = new TrustRecords(memoryStore());
  const server = (entry: ServerEntry) => ({ name: "it", file: "toolport.json", entry });
  expect(await trust.check(server(before))).toBe("unknown");
  await trust.trust(server(before));
  expect(await trust.check(server(before))).toBe("trusted");
  for (const entry of Object.values(after)) expect(await trust.check(server(entry))).toBe("changed");
  const url = (path: string) => configFingerprint({ url: `https://x.example/${path}` });
  expect(url("mcp")).not.toBe(url("other"));
});

faultCase(
  "K03",
  "command line: with changed args, env or url nothing starts or is sent before new consent",
  async (harness) => {
    const place = createCommandLinePlace();
    harness.atEnd(() => place[Symbol.dispose]());
    const started = join(harness.folder, "started");
    await using web = createTestServer({ tools: { hello: { handler: () => "hello" } } });
    const [one, two] = [await web.http(), await web.http()];
    const secret = harness.secret();
    const remote = (url: string) => ({ url, headers: { "X-Key": "${SECRET_KEY}" } });
    const local = (more: object = {}, ...flags: string[]) => ({
      ...lean(`--pid-file=${started}`, ...flags),
      ...more,
    });
    const states = async (...flags: string[]) => {
      const { json, stdout, stderr } = await place.run(["list", "--json", ...flags], {
        env: { SECRET_KEY: secret },
      });
      harness.note([stdout, stderr]);
      expect(stdout, stderr).not.toBe("");
      const list = json<{ servers: { status: string; error?: { code: string } }[] }>().servers;
      return list.map(({ status, error }) => error?.code ?? status);
    };
    place.configure({ local: local(), remote: remote(one.url) });
    expect(await states()).toEqual(["NOT_TRUSTED", "NOT_TRUSTED"]);
    expect(await states("--yes")).toEqual(["ok", "ok"]);
    expect(await states()).toEqual(["ok", "ok"]);
    rmSync(started);
    const requests = two.requestCount;
    for (const changed of [
      local({}, "--garbage"),
      local({ env: { TOKEN: "x" } }),
      local({ cwd: harness.folder }),
    ]) {
      place.configure({ local: changed, remote: remote(two.url) });
      expect(await states()).toEqual(["NOT_TRUSTED", "NOT_TRUSTED"]);
    }
    expect(existsSync(started)).toBe(false);
    expect(two.requestCount).toBe(requests);
    place.configure({ local: local(), remote: remote(one.url) });
    expect(await states()).toEqual(["ok", "ok"]);
  },
);

// K05

/** How a call to a server that is being removed may fail. */
const GONE = ["CLOSED", "TOOL_NOT_FOUND", "UNKNOWN_SERVER"];

faultCase("K05", "removed during a call: the call settles and the server is removed", async (harness) => {
  const pids = join(harness.folder, "pids");
  await using web = createTestServer({ tools: { hang: { handler: () => new Promise<never>(() => {}) } } });
  const http = await web.http();
  const toolport = harness.open({ it: lean(`--pid-file=${pids}`), web: { url: http.url } });
  await toolport.connect();
  const calls = [toolport.callTool("it__slow", { ms: 60_000 }), toolport.callTool("web__hang")];
  const failures = calls.map((call) => harness.fails(call, { code: "CLOSED", withinMs: 5_000 }));
  await waitFor(() => web.calls.length === 1);
  await harness.within(5_000, Promise.all([toolport.remove("it"), toolport.remove("web")]));
  await Promise.all(failures);
  expect(readFileSync(pids, "utf8").trim().split("\n").map(Number).filter(isAlive)).toEqual([]);
  await waitFor(() => http.connectionCount === 0);
  expect((await toolport.tools()).map(({ server }) => server)).not.toContain("it");
  await harness.fails(toolport.callTool("it__echo"), { code: "TOOL_NOT_FOUND", withinMs: 5_000 });
});

faultCase("K05", "renamed under load: the new name works, the old one fails as unknown", async (harness) => {
  const toolport = harness.open({ older: lean() });
  expect((await toolport.callTool("older__echo", { text: "hi" })).text).toBe("hi");
  const load = keepCalling(() => toolport.callTool("older__echo", { text: "hi" }));
  await toolport.remove("older");
  expect(await toolport.add("newer", lean())).toMatchObject({ state: "ready" });
  expect((await toolport.callTool("newer__echo", { text: "hi" })).text).toBe("hi");
  const { failures } = await load.stop();
  expect(codesOf(failures)).toEqual(expect.arrayContaining(["TOOL_NOT_FOUND"]));
  expect(codesOf(failures).filter((code) => !GONE.includes(code))).toEqual([]);
  expect((await toolport.tools()).map(({ server }) => server)).not.toContain("older");
});

faultCase(
  "K05",
  "100 reloads under load: each works and leaves nothing behind",
  async (harness) => {
    await using web = createTestServer({ tools: { echo: { handler: ({ text }) => String(text) } } });
    const http = await web.http();
    const toolport = harness.open({});
    await toolport.add("it", { url: http.url });
    const load = keepCalling(() => toolport.callTool("it__echo", { text: "load" }));
    for (let reload = 0; reload < 100; reload++) {
      await toolport.remove("it");
      const entry =
        reload % 20 === 0 ? lean(`--n=${reload}`) : { url: http.url, headers: { "x-n": `${reload}` } };
      expect(await toolport.add("it", entry)).toMatchObject({ state: "ready" });
      expect((await toolport.callTool("it__echo", { text: `${reload}` })).text).toBe(`${reload}`);
    }
    const { answers, failures } = await load.stop();
    expect(answers).toBeGreaterThan(0);
    expect(codesOf(failures).filter((code) => !GONE.includes(code))).toEqual([]);
    await waitFor(() => http.connectionCount <= 2, { label: "old connections to go" });
  },
  { timeoutMs: 120_000 },
);

/** Calls one after the other until it is stopped. */
function keepCalling(call: () => Promise<unknown>) {
  const seen = { answers: 0, failures: [] as unknown[] };
  let isStopped = false;
  const running = (async () => {
    while (!isStopped) {
      await call().then(
        () => seen.answers++,
        (error: unknown) => seen.failures.push(error),
      );
      await new Promise((resolve) => setTimeout(resolve, 2));
    }
  })();
  return {
    async stop() {
      isStopped = true;
      await running;
      return seen;
    },
  };
}

const codesOf = (failures: readonly unknown[]): string[] =>
  failures.map((error) => (ToolportError.isInstance(error) ? error.code : String(error)));
