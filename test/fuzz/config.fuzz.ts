// biome-ignore-all lint/suspicious/noTemplateCurlyInString: variables of configuration files
/** Any text as a configuration file gives servers or a `ConfigError`, and its messages contain no secret. */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { inspect } from "node:util";
import fc from "fast-check";
import { ConfigError, createToolport } from "toolport";
import { DIALECT_KINDS, type LoadedConfig, loadConfig } from "toolport/node";
import { afterAll, expect } from "vitest";
import { canonicalJson } from "../../packages/base/src/util/canonical-json.js";
import { almost, oddText, wireValue } from "./arbitraries.js";
import { fuzzModel } from "./fuzz-model.js";

/** The secret in values of variables, headers, queries and passwords. */
const CANARY = "canary5e1f";
const folder = mkdtempSync(join(tmpdir(), "fuzz-config-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const FILES = [
  ...["toolport.json", "toolport.jsonc", ".mcp.json", ".cursor/mcp.json", ".vscode/mcp.json", "any.json"],
  ...[".zed/settings.json", ".codex/config.toml", ".gemini/settings.json", "opencode.json", ".roo/mcp.json"],
  ...[
    "config/mcporter.json",
    "claude_desktop_config.json",
    ".claude.json",
    "mcp_config.json",
    "mcp-config.json",
  ],
];
const ROOTS = [
  "mcpServers",
  "servers",
  "mcp",
  "context_servers",
  "mcp_servers",
  "$schema",
  "imports",
  "inputs",
];

const secret = fc.constantFrom(
  CANARY,
  "${TOKEN}",
  "Bearer ${TOKEN}",
  "$TOKEN",
  "${env:TOKEN}",
  "{env:TOKEN}",
  "${NONE}",
);
const url = fc.constantFrom(
  `https://example.com/mcp?key=${CANARY}`,
  "https://example.com/${PLACE:-x}?key=${TOKEN}",
  `https://user:${CANARY}@example.com/mcp`,
  "http://localhost:1/",
  "ws://x/",
  "file:///x",
  "https://[",
  "",
);
const secrets = fc.dictionary(
  fc.constantFrom("K", "Authorization", "__proto__", "A B"),
  fc.oneof(secret, fc.array(secret)),
  {
    maxKeys: 2,
  },
);
const entry = fc.oneof(
  {
    weight: 12,
    arbitrary: almost(
      {
        command: fc.oneof(
          fc.constantFrom("node", "npx", "${workspaceFolder}/x", "~/x"),
          fc.array(oddText, { maxLength: 3 }),
        ),
        args: fc.array(fc.oneof(oddText, fc.constantFrom("-y", "${input:k}", "${file:none}")), {
          maxLength: 3,
        }),
        env: secrets,
        environment: secrets,
        headers: secrets,
        http_headers: secrets,
        bearer_token_env_var: fc.constantFrom("TOKEN", "NONE"),
        url,
        serverUrl: url,
        httpUrl: url,
        type: fc.constantFrom(
          "stdio",
          "sse",
          "http",
          "streamable-http",
          "local",
          "remote",
          "ws",
          "docker",
          "x",
        ),
        transport: fc.constantFrom("stdio", "sse", "http", "websocket"),
        oauth: almost({
          clientId: oddText,
          clientSecret: secret,
          scopes: wireValue,
          allowedHosts: wireValue,
        }),
        cwd: oddText,
        envFile: fc.constantFrom("none.env", "../x"),
        timeout: fc.oneof(fc.integer(), oddText),
        timeoutMs: fc.oneof(fc.integer(), oddText),
        enabled: fc.boolean(),
        disabled: fc.boolean(),
        fallback: wireValue,
        only: wireValue,
        image: oddText,
        reconnect: wireValue,
      },
      { maxKeys: 7 },
    ),
  },
  { weight: 1, arbitrary: wireValue },
);
const serverName = fc.oneof(fc.constantFrom("a", "b", "__proto__", "constructor", "a b", ""), oddText);
const document = almost(
  Object.fromEntries(ROOTS.map((root) => [root, fc.dictionary(serverName, entry, { maxKeys: 3 })])),
  { maxKeys: 3 },
);

/** Valid, or with a few characters removed, inserted or doubled. */
const text = fc.oneof(
  { weight: 6, arbitrary: document.map(canonicalJson) },
  {
    weight: 3,
    arbitrary: fc
      .tuple(
        document,
        fc.array(
          fc.tuple(fc.nat(), fc.constantFrom("", "}", "{", '"', ",", "\n", "\\", "//", "/*", "\ufeff", "[")),
          { maxLength: 3 },
        ),
      )
      .map(([value, changes]) => changes.reduce(mutate, canonicalJson(value))),
  },
  { weight: 2, arbitrary: document.map(toToml) },
  { weight: 1, arbitrary: fc.string({ unit: "binary", maxLength: 200 }) },
);

function mutate(before: string, [place, inserted]: [number, string]): string {
  const at = place % (before.length + 1);
  return before.slice(0, at) + inserted + before.slice(inserted === "" ? at + 1 : at);
}

/** Tables of one level: programs write no others. */
function toToml(value: Record<string, unknown>): string {
  return Object.entries((value["mcp_servers"] ?? value["mcpServers"] ?? {}) as Record<string, unknown>)
    .map(([name, fields]) => {
      const lines = Object.entries(typeof fields === "object" && fields !== null ? fields : {});
      return [
        `[mcp_servers.${JSON.stringify(name)}]`,
        ...lines.map(([key, field]) => `${JSON.stringify(key)} = ${canonicalJson(field)}`),
      ].join("\n");
    })
    .join("\n");
}

/** Everything visible: messages, fields, and the inspected form of a log. */
function expectSilence(...said: unknown[]): void {
  for (const value of said) {
    const shown = `${inspect(value, { depth: 12 })}${value instanceof Error ? value.message : ""}`;
    expect(shown.includes(CANARY), shown.slice(0, 2_000)).toBe(false);
  }
}

async function attempt<Value>(run: () => Value | Promise<Value>): Promise<Value | undefined> {
  try {
    return await run();
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    expect(error.issues.every(({ message }) => message !== "")).toBe(true);
    expectSilence(error, error.issues);
    return undefined;
  }
}

async function use(loaded: LoadedConfig): Promise<void> {
  expectSilence(loaded.issues, loaded.warnings, loaded.sources);
  const toolport = await attempt(() => createToolport({ mcpServers: loaded.mcpServers }));
  if (toolport === undefined) return;
  expectSilence(toolport, toolport.snapshot());
  await toolport.close();
}

fuzzModel(
  "configuration file",
  fc.asyncProperty(
    fc.constantFrom(...FILES),
    text,
    fc.constantFrom("throw" as const, "report" as const),
    fc.option(fc.constantFrom(...DIALECT_KINDS), { nil: undefined, freq: 4 }),
    async (name, content, onProblem, dialect) => {
      const file = join(folder, name);
      mkdirSync(dirname(file), { recursive: true });
      writeFileSync(file, content);
      const options = {
        env: { TOKEN: CANARY },
        home: folder,
        cwd: folder,
        onProblem,
        ...(dialect && { dialect }),
      };
      const loaded = await attempt(() => loadConfig(file, options));
      if (loaded !== undefined) await use(loaded);
      if (onProblem === "report") expect(loaded, "a bad server affects only itself").toBeDefined();
      rmSync(file);
    },
  ),
);
