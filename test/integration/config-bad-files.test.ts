// biome-ignore-all lint/suspicious/noTemplateCurlyInString: files look like this
/** Every bad file gives one clear error: which file, which line, what to change. And a bad server affects only itself. */
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { inspect } from "node:util";
import { ConfigError, createToolport } from "toolport";
import { type LoadConfigOptions, type LoadedConfig, loadConfig } from "toolport/node";
import { afterEach, beforeEach, describe, expect, it } from "vitest";

let folder: string;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "toolport-bad-"));
});

afterEach(() => rm(folder, { recursive: true, force: true }));

async function load(name: string, content: string, options: LoadConfigOptions = {}): Promise<LoadedConfig> {
  const file = join(folder, name);
  await mkdir(dirname(file), { recursive: true });
  await writeFile(file, content);
  return loadConfig(file, { env: {}, home: "/home/ada", ...options });
}

const servers = (...lines: string[]): string => `{\n"mcpServers": {\n${lines.join(",\n")}\n}\n}`;

const badFiles: [name: string, content: string, line: number, path: string, message: RegExp][] = [
  // Not JSON, not TOML.
  [
    "a.json",
    '{\n"mcpServers": {\n"a": { "command": "x" "args": [] }\n}\n}',
    3,
    "",
    /column \d+: a comma is missing/,
  ],
  [".vscode/mcp.json", '{\n"servers": {\n', 3, "", /a closing brace is missing/],
  [".codex/config.toml", '[mcp_servers.a]\ncommand = "x"\ncommand = "y"\n', 3, "", /redefine/],
  [".codex/config.toml", "[mcp_servers.a]\ncommand = x\n", 2, "", /column \d+: \w+/],
  // No servers where there should be some.
  [
    "toolport.json",
    '{ "mcpServer": {} }',
    1,
    "mcpServers",
    /is missing \(did you mean it instead of "mcpServer"\?\); it must contain/,
  ],
  ["a.json", '{\n"mcpServers": []\n}', 2, "mcpServers", /must be an object with one entry per server/],
  [".vscode/mcp.json", '{\n"inputs": []\n}', 1, "servers", /is missing/],
  // Variables and questions without an answer.
  [
    "a.json",
    servers('"a": { "command": "${NOPE}" }'),
    3,
    "mcpServers.a.command",
    /needs the variable NOPE.*set it/,
  ],
  [
    ".cursor/mcp.json",
    servers('"a": {\n"url": "https://x.example/",\n"headers": {\n"K": "${env:NOPE}" } }'),
    6,
    "mcpServers.a.headers.K",
    /needs the variable NOPE/,
  ],
  [
    ".gemini/settings.json",
    servers('"a": {\n"httpUrl": "$NOPE" }'),
    4,
    "mcpServers.a.httpUrl",
    /needs the variable NOPE/,
  ],
  [
    "opencode.json",
    '{\n"mcp": {\n"a": {\n"command": ["x",\n"{env:NOPE}"] } } }',
    5,
    "mcp.a.command[1]",
    /NOPE/,
  ],
  [
    ".codex/config.toml",
    '[mcp_servers.a]\nurl = "https://x.example/"\nbearer_token_env_var = "NOPE"\n',
    3,
    "mcp_servers.a.bearer_token_env_var",
    /needs the variable NOPE/,
  ],
  [
    ".vscode/mcp.json",
    '{\n"inputs": [{ "id": "k", "type": "promptString", "description": "A key" }],\n"servers": {\n"a": { "command": "x", "env": { "K": "${input:k}" } } } }',
    4,
    "servers.a.env.K",
    /needs a value for the input "k" \(A key\); pass it as loadConfig\(…, \{ inputs: \{ "k": "…" \} \}\)/,
  ],
  [
    "a.json",
    servers('"a": { "command": "x", "env": { "K": "${file:nope}" } }'),
    3,
    "mcpServers.a.env.K",
    /does not exist; correct/,
  ],
  [
    "a.json",
    servers('"a": { "command": "x",\n"envFile": "nope" }'),
    4,
    "mcpServers.a.envFile",
    /does not exist; correct the path/,
  ],
  [
    "a.json",
    servers('"a": { "command": "x", "args": ["${command:pick}"] }'),
    3,
    "mcpServers.a.args[0]",
    /not supported; write/,
  ],
  // Entries that make no sense.
  [
    "a.json",
    servers('"a": "npx server"'),
    3,
    "mcpServers.a",
    /must be an object with the fields of a server/,
  ],
  [
    "toolport.json",
    servers('"a": { "command": "x",\n"comand": "y" }'),
    4,
    "mcpServers.a.comand",
    /did you mean "command"/,
  ],
  [
    "a.json",
    servers('"a": { "comand": "y" }'),
    3,
    "mcpServers.a",
    /does not say how to reach the server; it needs/,
  ],
  [
    "a.json",
    servers('"a": { "command": "x" }', '"a": { "command": "y" }'),
    4,
    "mcpServers.a",
    /is given twice \(first on line 3\)/,
  ],
  [
    "a.json",
    servers('"a": { "url": "https://me:CANARY@x.example/" }'),
    3,
    "mcpServers.a.url",
    /user name or password; use "headers"/,
  ],
  [
    "mcp_config.json",
    servers('"a": {\n"serverUrl": "ftp://x" }'),
    4,
    "mcpServers.a.serverUrl",
    /must start with https:/,
  ],
  [
    ".vscode/mcp.json",
    '{ "servers": {\n"a": { "url": "unix:///tmp/s#/mcp" } } }',
    2,
    "servers.a.url",
    /is a local socket/,
  ],
  [
    ".zed/settings.json",
    '{ "context_servers": {\n"a": { "source": "extension", "settings": {} } } }',
    2,
    "context_servers.a",
    /only Zed supports; add its command/,
  ],
  [
    ".codex/config.toml",
    '[mcp_servers.a]\nurl = "https://x.example/"\nbearer_token = "CANARY"\n',
    3,
    "mcp_servers.a.bearer_token",
    /use "bearer_token_env_var"/,
  ],
  [
    ".mcp.json",
    servers('"a": { "type": "http", "url": "https://x.example/",\n"oauth": { "callbackPort": 99999 } }'),
    4,
    "mcpServers.a.oauth.callbackPort",
    /must be a port/,
  ],
  [
    "a.json",
    servers('"__proto__": { "command": "x" }'),
    3,
    "mcpServers.__proto__",
    /cannot be the name of a server/,
  ],
];

describe("a bad file", () => {
  it.each(badFiles)("%s: %j", async (name, content, line, path, message) => {
    const error = await load(name, content).catch((caught: unknown) => caught);
    expect(error).toBeInstanceOf(ConfigError);
    const { issues, message: text } = error as ConfigError;
    const lines = issues.filter((issue) => issue.path === path);
    expect(issues.map((issue) => issue.file)).toEqual(issues.map(() => join(folder, name)));
    expect(lines).toHaveLength(1);
    expect(lines[0]?.line).toBe(line);
    expect(lines[0]?.message).toMatch(message);
    expect(text).toContain(`${join(folder, name)}:${line}: `);
    expect(text).not.toContain("CANARY");
  });

  it("is reported once, even if the same text has more problems", async () => {
    const error = await load("a.json", servers('"a": { "url": "${NOPE}" }')).catch(
      (caught: unknown) => caught,
    );
    expect((error as ConfigError).issues).toHaveLength(1);
  });

  it.each([
    ["of nested lists", "[".repeat(200) + "]".repeat(200)],
    ["of nested objects", `${'{"a":'.repeat(200)}1${"}".repeat(200)}`],
    ["of TOML", `a = ${"[".repeat(200)}${"]".repeat(200)}`],
  ])("%s is refused", async (kind, content) => {
    const name = kind === "of TOML" ? "a.toml" : "a.json";
    await expect(load(name, content)).rejects.toMatchObject({ code: "UNREADABLE_CONFIG" });
  });
});

const mixed = servers(
  '"good": { "command": "x", "fallback": ["broken", "remote"] }',
  '"broken": { "command": "${NOPE}" }',
  '"wrong": { "url": "nowhere" }',
  '"off": { "command": "${NOPE}", "disabled": true }',
  '"remote": { "url": "https://x.example/mcp", "headers": { "Authorization": "Bearer CANARY" } }',
  '"__proto__": { "command": "x" }',
);

describe("with onProblem: report, a bad server", () => {
  it("affects only itself", async () => {
    const loaded = await load("toolport.json", mixed, { onProblem: "report" });
    expect(Object.keys(loaded.mcpServers)).toEqual(["good", "off", "remote"]);
    expect(Object.keys(loaded.sources)).toEqual(["good", "off", "remote"]);
    expect(loaded.issues.map(({ line, path }) => `${line} ${path}`)).toEqual([
      "4 mcpServers.broken.command",
      "5 mcpServers.wrong.url",
      "8 mcpServers.__proto__",
    ]);
    expect(loaded.warnings.map(({ path }) => path)).toEqual(["mcpServers.off.command"]);
    expect(loaded.mcpServers["good"]).toMatchObject({ fallback: ["remote"] });
    await using toolport = createToolport(loaded);
    expect(Object.keys(toolport.snapshot().servers)).toEqual(["good", "off", "remote"]);
    expect(({} as Record<string, unknown>)["command"]).toBeUndefined();
  });

  it("is reported even if the file cannot be read at all", async () => {
    const loaded = await load("a.json", "{", { onProblem: "report" });
    expect(loaded).toMatchObject({ mcpServers: {}, files: [], issues: [{ line: 1 }] });
  });

  it("contains no secret when the result is printed", async () => {
    const loaded = await load("toolport.json", mixed, { onProblem: "report" });
    expect(inspect(loaded, { depth: 10 })).not.toContain("CANARY");
    expect(loaded.mcpServers["remote"]).toMatchObject({ headers: { Authorization: "Bearer CANARY" } });
    const url = "https://x.example/mcp?api_key=CANARY";
    const keyed = await load("toolport.json", servers(`"a": { "url": "${url}", "enabled": false }`));
    expect(inspect(keyed, { depth: 10 })).not.toContain("CANARY");
    expect(inspect(keyed, { depth: 10 })).toContain("https://x.example/mcp?[redacted]");
    expect(keyed.mcpServers["a"]).toEqual({ url, enabled: false });
  });
});

describe("what is unwise but not wrong", () => {
  it.each([
    [
      "http on another machine",
      '"a": { "url": "http://x.example/mcp" }',
      "mcpServers.a.url",
      /not encrypted.*use https:/,
    ],
    [
      "a secret in the address",
      '"a": { "url": "https://x.example/mcp?api_key=CANARY" }',
      "mcpServers.a.url",
      /contains a secret \("api_key"\)/,
    ],
    ["an unknown field", '"a": { "command": "x", "colour": 1 }', "mcpServers.a.colour", /not a known field/],
    [
      "two addresses",
      '"a": { "url": "https://x.example/", "serverUrl": "https://y.example/" }',
      "mcpServers.a.serverUrl",
      /has the same meaning as "url", which takes precedence/,
    ],
  ])("%s is a warning", async (_what, entry, path, message) => {
    const { warnings, mcpServers, sources } = await load("a.json", servers(entry));
    expect(Object.keys(mcpServers)).toEqual(["a"]);
    expect(warnings).toMatchObject([{ line: 3, path }]);
    expect(warnings[0]?.message).toMatch(message);
    expect(warnings[0]?.message).not.toContain("CANARY");
    if (entry.includes("colour")) expect(sources["a"]?.extra).toEqual({ colour: 1 });
  });

  it("http on this machine is fine", async () => {
    const { warnings } = await load("a.json", servers('"a": { "url": "http://127.0.0.1:3000/mcp" }'));
    expect(warnings).toEqual([]);
  });

  it("a password on a command line is a warning", async () => {
    const content =
      '{ "inputs": [{ "id": "k", "password": true }], "servers": { "a": { "command": "x", "args": ["${input:k}"] } } }';
    const { warnings } = await load("a.json", content, { inputs: () => "CANARY" });
    expect(warnings.map(({ message }) => message)).toEqual([expect.stringMatching(/use a variable in env/)]);
    expect(JSON.stringify(warnings)).not.toContain("CANARY");
  });
});
