import { ConfigError, type ConfigIssue } from "@toolport/base";
import { describe, expect, test } from "vitest";
import { SecretRecord } from "./known-secrets.js";
import { type ParseServersOptions, parseServerEntry, parseServers } from "./parse-servers.js";
import type { HttpConfig, StdioConfig } from "./server-config.js";

const one = (entry: unknown, options?: ParseServersOptions) => parseServerEntry("s", entry, options);

function issuesOf(run: () => unknown): readonly ConfigIssue[] {
  try {
    run();
  } catch (error) {
    expect(error).toBeInstanceOf(ConfigError);
    expect((error as ConfigError).code).toBe("INVALID_CONFIG");
    return (error as ConfigError).issues;
  }
  throw new Error("no problem was found");
}

const pathsOf = (entry: unknown) => issuesOf(() => one(entry)).map(({ path }) => path);

const url = "https://example.com/mcp";
const transport = () => ({ start: async () => {}, send: async () => {}, close: async () => {} });

describe("the kind of a server", () => {
  test.each([
    [{ command: "npx" }, "stdio"],
    [{ transport: "stdio", command: "npx" }, "stdio"],
    [{ type: "local", command: "npx" }, "stdio"],
    [{ url }, "http"],
    [{ url: new URL(url) }, "http"],
    [{ base_url: "http://localhost:5000" }, "http"],
    [{ type: "http", url }, "http"],
    [{ type: "streamable-http", url }, "http"],
    [{ transport: "streamableHttp", url }, "http"],
    [{ transport: "streamable_http", url }, "http"],
    [{ transport: "auto", url }, "http"],
    [{ type: "remote", url }, "http"],
    [{ transport: "http", type: "streamable-http", url }, "http"],
    [{ transport: "http", sseUrl: url }, "http"],
    [{ sseUrl: url }, "sse"],
    [{ type: "sse", url }, "sse"],
    [{ url: "ws://localhost:8080/mcp" }, "websocket"],
    [{ url: new URL("wss://example.com/mcp") }, "websocket"],
    [{ transport: "websocket", url: "ws://localhost:8080/mcp" }, "websocket"],
    [{ type: "ws", url: "wss://example.com/mcp" }, "websocket"],
    [{ image: "mcp/time" }, "docker"],
    [{ transport: "docker", image: "mcp/time" }, "docker"],
    [{ transport }, "custom"],
  ])("%j is %s", (entry, kind) => {
    expect(one(entry).kind).toBe(kind);
  });

  test.each([
    [{ transport: "http", type: "stdio", url }, "mcpServers.s.type"],
    [{ transport, type: "http" }, "mcpServers.s.type"],
    [{ transport: "htp", url }, "mcpServers.s.transport"],
    [{ transport: "toString", url }, "mcpServers.s.transport"],
    [{ type: () => {}, url }, "mcpServers.s.type"],
    [{ transport: null, url }, "mcpServers.s.transport"],
    [{}, "mcpServers.s"],
    [{ headers: {} }, "mcpServers.s"],
    [null, "mcpServers.s"],
    ["npx", "mcpServers.s"],
    [["npx"], "mcpServers.s"],
    [{ transport: "stdio" }, "mcpServers.s.command"],
    [{ transport: "docker" }, "mcpServers.s.image"],
    [{ transport: "http" }, "mcpServers.s.url"],
  ])("%j is rejected at %s", (entry, path) => {
    expect(pathsOf(entry)).toEqual([path]);
  });
  test("a mistyped transport gets a suggestion", () => {
    expect(issuesOf(() => one({ transport: "htpp", url }))[0]?.message).toContain('did you mean "http"?');
  });
});

describe("defaults", () => {
  const common = {
    name: "s",
    timeoutMs: undefined,
    protocol: "auto",
    enabled: true,
    logEvents: false,
    logRequests: false,
    logResponses: false,
    trustAnnotations: false,
    reconnect: { enabled: true },
  };

  test("of a process", () => {
    const config = one({ command: "npx" }) as StdioConfig;
    expect({ ...config, env: config.env.names }).toEqual({
      ...common,
      kind: "stdio",
      command: "npx",
      args: [],
      env: [],
      inheritEnv: false,
      cwd: undefined,
      encoding: "utf8",
      stderr: "pipe",
    });
  });

  test("of a remote server", () => {
    const config = one({ url }) as HttpConfig;
    expect(config.headers).toBeInstanceOf(SecretRecord);
    expect({ ...config, headers: 0 }).toEqual({
      ...common,
      kind: "http",
      url,
      headers: 0,
      authProvider: undefined,
      sseFallback: true,
    });
    expect(one({ url, transport: "http" })).toMatchObject({ sseFallback: true });
    expect(one({ url, automaticSSEFallback: false })).toMatchObject({ sseFallback: false });
  });

  test("of a container", () => {
    expect(one({ image: "mcp/time", mounts: ["/a:/b:ro"] })).toMatchObject({
      ...common,
      engine: "docker",
      dockerHost: undefined,
      args: [],
      mounts: ["/a:/b:ro"],
      runArgs: [],
    });
  });
});

describe("addresses", () => {
  test.each([
    [{ url: "HTTPS://Example.COM:443/mcp#part" }, "https://example.com/mcp"],
    [{ url: "https://example.com" }, "https://example.com/"],
    [{ url: "https://example.com/mcp?tenant=a" }, "https://example.com/mcp?tenant=a"],
    [{ base_url: "http://localhost:5000" }, "http://localhost:5000/mcp"],
    [{ base_url: "http://localhost:5000/" }, "http://localhost:5000/mcp"],
    [{ base_url: "http://localhost:5000/api" }, "http://localhost:5000/api"],
    [{ base_url: "http://localhost:5000/api/", endpoint: "mcp" }, "http://localhost:5000/api/mcp"],
    [{ base_url: "http://localhost:5000", endpoint: "/x?y=1#z" }, "http://localhost:5000/x?y=1"],
    [{ base_url: "http://localhost:5000", transport: "sse" }, "http://localhost:5000/sse"],
  ])("%j has the URL %s", (entry, expected) => {
    expect(one(entry)).toMatchObject({ url: expected });
  });

  test.each([
    [{ url: "example.com/mcp" }, "mcpServers.s.url"],
    [{ url: "localhost:3000/mcp" }, "mcpServers.s.url"],
    [{ url: "file:///etc/passwd" }, "mcpServers.s.url"],
    [{ url: "" }, "mcpServers.s.url"],
    [{ url: 3 }, "mcpServers.s.url"],
    [{ url: Object.create(null) }, "mcpServers.s.url"],
    [{ url: "https://user:CANARY@example.com/mcp" }, "mcpServers.s.url"],
    [{ url: "https://CANARY@example.com/mcp" }, "mcpServers.s.url"],
    [{ url: "ws://localhost/mcp", transport: "http" }, "mcpServers.s.url"],
    [{ url, transport: "websocket" }, "mcpServers.s.url"],
    [{ url, sseUrl: url }, "mcpServers.s.sseUrl"],
    [{ url, base_url: url }, "mcpServers.s.base_url"],
    [{ url, endpoint: "/mcp" }, "mcpServers.s.endpoint"],
    [{ base_url: "http://localhost", endpoint: "//evil.example" }, "mcpServers.s.endpoint"],
    [{ base_url: "http://localhost", endpoint: "http://evil.example" }, "mcpServers.s.endpoint"],
    [{ base_url: "http://localhost", endpoint: 1 }, "mcpServers.s.endpoint"],
  ])("%j is rejected at %s", (entry, path) => {
    const issues = issuesOf(() => one(entry));
    expect(issues.map((issue) => issue.path)).toEqual([path]);
    expect(JSON.stringify(issues)).not.toContain("CANARY");
  });
});

describe("fields", () => {
  test.each([
    [{ command: "" }, "command"],
    [{ command: 1 }, "command"],
    [{ command: "a\0b" }, "command"],
    [{ command: "x", args: "y" }, "args"],
    [{ command: "x", args: ["y", 1] }, "args[1]"],
    [{ command: "x", env: [] }, "env"],
    [{ command: "x", env: { A: 1 } }, "env.A"],
    [{ command: "x", env: { A: null } }, "env.A"],
    [{ command: "x", env: { "A=B": "CANARY" } }, 'env["A=B"]'],
    [{ command: "x", env: { A: "CANARY\0" } }, "env.A"],
    [{ command: "x", inheritEnv: "yes" }, "inheritEnv"],
    [{ command: "x", cwd: 1 }, "cwd"],
    [{ command: "x", encoding: "klingon" }, "encoding"],
    [{ command: "x", encoding: "utf-16le" }, "encoding"],
    [{ command: "x", stderr: "file" }, "stderr"],
    [{ command: "x", restart: true }, "restart"],
    [{ command: "x", restart: { maxAttempts: -1 } }, "restart.maxAttempts"],
    [{ command: "x", restart: { maxAttempts: 1.5 } }, "restart.maxAttempts"],
    [{ command: "x", restart: { delayMs: -1 } }, "restart.delayMs"],
    [{ command: "x", restart: { delayMs: 2 ** 31 } }, "restart.delayMs"],
    [{ command: "x", restart: { enabled: 1 } }, "restart.enabled"],
    [{ command: "x", restart: { delay: 1 } }, "restart.delay"],
    [{ command: "x", timeoutMs: 0 }, "timeoutMs"],
    [{ command: "x", timeoutMs: -5 }, "timeoutMs"],
    [{ command: "x", timeoutMs: Number.NaN }, "timeoutMs"],
    [{ command: "x", timeoutMs: "5" }, "timeoutMs"],
    [{ command: "x", timeoutMs: 2 ** 31 }, "timeoutMs"],
    [{ command: "x", protocol: "modern" }, "protocol"],
    [{ command: "x", protocol: { pin: "latest" } }, "protocol.pin"],
    [{ command: "x", protocol: {} }, "protocol.pin"],
    [{ command: "x", enabled: "true" }, "enabled"],
    [{ url, headers: "Authorization: CANARY" }, "headers"],
    [{ url, headers: { Authorization: 1 } }, "headers.Authorization"],
    [{ url, headers: { "Bad Name": "CANARY" } }, 'headers["Bad Name"]'],
    [{ url, headers: { A: "CANARY\r\nX: y" } }, "headers.A"],
    [{ url, headers: { A: "CANARY", a: "CANARY" } }, "headers.a"],
    [{ url, authProvider: {} }, "authProvider"],
    [{ url, authProvider: null }, "authProvider"],
    [{ url, automaticSSEFallback: "no" }, "automaticSSEFallback"],
    [{ image: "--privileged" }, "image"],
    [{ image: "x", mounts: ["/only"] }, "mounts[0]"],
    [{ image: "x", runArgs: [1] }, "runArgs[0]"],
    [{ image: "x", dockerHost: "" }, "dockerHost"],
  ])("%j is rejected at the field %s", (entry, field) => {
    const issues = issuesOf(() => one(entry));
    expect(issues.map(({ path }) => path)).toEqual([
      field.startsWith("[") ? `mcpServers.s${field}` : `mcpServers.s.${field}`,
    ]);
    expect(JSON.stringify(issues)).not.toContain("CANARY");
  });

  test.each([
    [{ command: "x", timeoutMs: Number.POSITIVE_INFINITY }, { timeoutMs: Number.POSITIVE_INFINITY }],
    [{ command: "x", timeoutMs: 0.5 }, { timeoutMs: 0.5 }],
    [{ command: "x", protocol: "legacy" }, { protocol: "legacy" }],
    [{ command: "x", protocol: { pin: "2025-06-18" } }, { protocol: { pin: "2025-06-18" } }],
    [{ command: "x", restart: { maxAttempts: 0 } }, { reconnect: { enabled: true, maxAttempts: 0 } }],
    [{ url, reconnect: { enabled: false, delayMs: 0 } }, { reconnect: { enabled: false, delayMs: 0 } }],
    [{ command: "x", encoding: "UTF-8" }, { encoding: "utf8" }],
    [{ command: "x", encoding: "Latin1" }, { encoding: "latin1" }],
    [
      { command: "x", args: [""], cwd: undefined },
      { args: [""], cwd: undefined },
    ],
    [
      { command: "x", enabled: false, logEvents: true },
      { enabled: false, logEvents: true },
    ],
  ])("%j is accepted", (entry, expected) => {
    expect(one(entry)).toMatchObject(expected);
  });

  test("an unknown option gets a suggestion", () => {
    const [issue] = issuesOf(() => one({ command: "x", comand: "y" }));
    expect(issue).toEqual({
      path: "mcpServers.s.comand",
      message: 'is not a known option; did you mean "command"?',
    });
  });

  test("an option of another kind of server is rejected with that kind", () => {
    expect(issuesOf(() => one({ command: "x", url }))[0]?.message).toBe(
      "is not an option of a stdio server (only of http, sse, websocket)",
    );
    expect(issuesOf(() => one({ url, restart: {} }))[0]?.message).toContain('use "reconnect"');
  });

  test("options that are checked elsewhere are accepted", () => {
    expect(one({ url, fallback: "b" }, { extraKeys: ["fallback"] }).kind).toBe("http");
  });

  test("nothing is inherited", () => {
    expect(pathsOf(Object.create({ command: "npx" }))).toEqual(["mcpServers.s"]);
  });

  test("a headers function is called every time, and its errors stay unchanged", async () => {
    let count = 0;
    const { headers } = one({ url, headers: () => ({ "X-Count": String(++count) }) }) as HttpConfig;
    if (headers instanceof SecretRecord) throw new Error("not a function");
    expect(await headers()).toEqual({ "X-Count": "1" });
    expect(await headers()).toEqual({ "X-Count": "2" });
    const broken = one({
      url,
      headers: () => {
        throw new Error("no token");
      },
    }) as HttpConfig;
    if (broken.headers instanceof SecretRecord) throw new Error("not a function");
    await expect(broken.headers()).rejects.toThrow("no token");
  });
});

describe("names", () => {
  test.each([
    ["", 'mcpServers[""]'],
    [" ", 'mcpServers[" "]'],
    ["a\nb", 'mcpServers["a\\nb"]'],
    ["constructor", "mcpServers.constructor"],
    ["prototype", "mcpServers.prototype"],
    ["__proto__", "mcpServers.__proto__"],
    ["x".repeat(129), `mcpServers["${"x".repeat(64)}…"]`],
  ])("%j is rejected", (name, path) => {
    const servers = JSON.parse(`{ ${JSON.stringify(name)}: { "command": "npx" } }`);
    expect(issuesOf(() => parseServers(servers)).map((issue) => issue.path)).toEqual([path]);
    expect(({} as Record<string, unknown>).command).toBeUndefined();
  });

  test.each(["weather-eu", "my server", "@scope/x", "天気", "toString", "x".repeat(128)])(
    "%j is accepted",
    (name) => {
      expect([...parseServers({ [name]: { command: "npx" } }).keys()]).toEqual([name]);
    },
  );
});

test("one error contains every problem of every server, with its path", () => {
  const locate = (path: readonly (string | number)[]) => ({ file: "toolport.json", line: path.length });
  const run = () =>
    parseServers(
      { a: { command: 1, args: 2 }, b: { url }, c: { url: "nowhere" } },
      { path: "servers", locate },
    );
  expect(issuesOf(run)).toMatchObject([
    { file: "toolport.json", line: 2, path: "servers.a.command" },
    { file: "toolport.json", line: 2, path: "servers.a.args" },
    { file: "toolport.json", line: 2, path: "servers.c.url" },
  ]);
  expect(run).toThrow("  - toolport.json:2: servers.c.url: is not an absolute URL");
});

test.each([[undefined], [null], [[]], ["x"]])("%j is not a map of servers", (servers) => {
  expect(issuesOf(() => parseServers(servers)).map(({ path }) => path)).toEqual(["mcpServers"]);
});

test.each([
  [
    { command: "./server.js", cwd: "data" },
    { command: "/etc/app/server.js", cwd: "/etc/app/data" },
  ],
  [
    { command: "../bin/x", cwd: ".." },
    { command: "/etc/bin/x", cwd: "/etc" },
  ],
  [
    { command: "npx", cwd: "/srv" },
    { command: "npx", cwd: "/srv" },
  ],
  [{ command: "bin/x" }, { command: "bin/x", cwd: undefined }],
])("paths in %j are relative to the file", (entry, expected) => {
  expect(one(entry, { baseDir: "/etc/app" })).toMatchObject(expected);
});

test("paths are relative to a Windows directory, too", () => {
  expect(one({ command: ".\\x.exe", cwd: "../y" }, { baseDir: "C:\\app\\conf" })).toMatchObject({
    command: "C:\\app\\conf\\x.exe",
    cwd: "C:\\app\\y",
  });
});
