/** The configuration files in `test/fixtures/configs`, one for each program, and functions that load them. */
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { type DialectKind, type LoadConfigOptions, loadConfig } from "../../packages/config/src/index.js";

export interface ConfigFixture {
  readonly kind: DialectKind;
  /** A file or project folder, relative to the folder of fixtures. */
  readonly path: string;
}

export const fixtures: readonly ConfigFixture[] = [
  { kind: "claude-desktop", path: "claude-desktop/claude_desktop_config.json" },
  { kind: "claude-code", path: "claude-code/.mcp.json" },
  { kind: "claude-code", path: "claude-code/.claude.json" },
  { kind: "cursor", path: "cursor" },
  { kind: "vscode", path: "vscode" },
  { kind: "copilot-cli", path: "copilot-cli/mcp-config.json" },
  { kind: "windsurf", path: "windsurf/mcp_config.json" },
  { kind: "zed", path: "zed" },
  { kind: "codex", path: "codex" },
  { kind: "gemini-cli", path: "gemini-cli" },
  { kind: "opencode", path: "opencode" },
  { kind: "cline", path: "cline/cline_mcp_settings.json" },
  { kind: "mcporter", path: "mcporter/mcporter.jsonc" },
  { kind: "inspector", path: "inspector/.mcp-inspector/mcp.json" },
  { kind: "langchain", path: "langchain/servers.json" },
  { kind: "toolport", path: "toolport" },
];

export const fixtureFolder = fileURLToPath(new URL("../fixtures/configs", import.meta.url));

/** Excludes everything of this machine. */
export const surroundings: LoadConfigOptions = {
  home: "/home/ada",
  cwd: "/home/ada/projects/shop",
  env: { API_KEY: "KEY", CLIENT_SECRET: "SECRET" },
  platform: "linux",
  inputs: { "api-key": "PASS" },
};

/** The loaded result as plain data: folders by name, places in one line. */
export async function loadFixture({ path }: ConfigFixture): Promise<unknown> {
  const { mcpServers, sources, warnings } = await loadConfig(join(fixtureFolder, path), surroundings);
  const places = Object.entries(sources).map(([name, { file, line, kind, scope, extra }]) => [
    name,
    { at: `${file}:${line}`, kind, scope, ...(extra && { extra }) },
  ]);
  const notes = warnings.map(
    ({ file, line, path: where, message }) => `${file}:${line}: ${where}: ${message}`,
  );
  const result = { mcpServers, sources: Object.fromEntries(places), warnings: notes };
  return JSON.parse(JSON.stringify(result).replaceAll(fixtureFolder, "/fixtures")) as unknown;
}
