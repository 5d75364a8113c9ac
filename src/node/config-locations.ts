/** Where programs keep their servers: the places in a project, and those of a user. */
import { homedir } from "node:os";
import { dirname, join, resolve, sep } from "node:path";
import type { DialectKind } from "./dialects/dialect.js";
import type { Environment } from "./expand-variables.js";

/** The machine as the search sees it; everything can be replaced. */
export interface ConfigSurroundings {
  /** Where the search for project files begins. @default process.cwd() */
  cwd?: string;
  /** @default the user's home directory */
  home?: string;
  /** @default process.env */
  env?: Environment;
  /** @default process.platform */
  platform?: NodeJS.Platform;
}

export type Surroundings = Required<ConfigSurroundings>;

export function surroundingsOf(options: ConfigSurroundings): Surroundings {
  return {
    cwd: resolve(options.cwd ?? process.cwd()),
    home: options.home ?? homedir(),
    env: options.env ?? process.env,
    platform: options.platform ?? process.platform,
  };
}

/** Whose file it is: one that came with a project, or one the user has for everything. */
export type ConfigScope = "project" | "user";

/** A place where a file may be. */
export interface ConfigLocation {
  readonly file: string;
  readonly kind: DialectKind;
  readonly scope: ConfigScope;
}

/** Seen from a project's folder, in the order in which they win. */
const PROJECT_FILES: readonly (readonly [DialectKind, string])[] = [
  ["toolport", "toolport.json"],
  ["toolport", "toolport.jsonc"],
  ["claude-code", ".mcp.json"],
  ["cursor", ".cursor/mcp.json"],
  ["vscode", ".vscode/mcp.json"],
  ["zed", ".zed/settings.json"],
  ["codex", ".codex/config.toml"],
  ["gemini-cli", ".gemini/settings.json"],
  ["opencode", "opencode.json"],
  ["opencode", "opencode.jsonc"],
  ["cline", ".roo/mcp.json"],
  ["mcporter", "config/mcporter.json"],
  ["mcporter", "config/mcporter.jsonc"],
];

/** How files are called that may be anywhere, e.g. in a copy; the beginning of the path does not matter. */
const KNOWN_FILE_NAMES: readonly (readonly [DialectKind, string])[] = [
  ["claude-desktop", "claude_desktop_config.json"],
  ["claude-code", ".claude.json"],
  ["claude-code", "managed-mcp.json"],
  ["vscode", "User/mcp.json"],
  ["copilot-cli", "mcp-config.json"],
  ["windsurf", "mcp_config.json"],
  ["zed", "zed/settings.json"],
  ["cline", "cline_mcp_settings.json"],
  ["cline", "mcp_settings.json"],
  ["mcporter", "mcporter.json"],
  ["mcporter", "mcporter.jsonc"],
  ["inspector", ".mcp-inspector/mcp.json"],
];

/** The files of a project in one folder. */
export function projectLocations(folder: string): ConfigLocation[] {
  return PROJECT_FILES.map(([kind, path]) => ({ kind, file: join(folder, path), scope: "project" as const }));
}

/** Where programs keep what is the user's. */
function applicationFolders({ home, env, platform }: Surroundings): { data: string; config: string } {
  if (platform === "win32") {
    const data = env["APPDATA"] || join(home, "AppData", "Roaming");
    return { data, config: data };
  }
  const config = env["XDG_CONFIG_HOME"] || join(home, ".config");
  return { data: platform === "darwin" ? join(home, "Library", "Application Support") : config, config };
}

const MANAGED: Partial<Record<NodeJS.Platform, string>> = {
  linux: "/etc/claude-code/managed-mcp.json",
  darwin: "/Library/Application Support/ClaudeCode/managed-mcp.json",
  win32: "C:\\Program Files\\ClaudeCode\\managed-mcp.json",
};

/** The user's files, in the order in which they win. */
export function userLocations(surroundings: Surroundings): ConfigLocation[] {
  const { home, env, platform } = surroundings;
  const { data, config } = applicationFolders(surroundings);
  const editors = ["Code", "Code - Insiders"].map((name) => join(data, name, "User"));
  const managed = MANAGED[platform];
  const files: (readonly [DialectKind, string])[] = [
    ["toolport", ownConfigFile(surroundings)],
    ...(managed === undefined ? [] : [["claude-code", managed] as const]),
    ["claude-code", join(env["CLAUDE_CONFIG_DIR"] || home, ".claude.json")],
    ["claude-desktop", join(data, "Claude", "claude_desktop_config.json")],
    ["cursor", join(home, ".cursor", "mcp.json")],
    ...editors.map((folder) => ["vscode", join(folder, "mcp.json")] as const),
    ["copilot-cli", join(env["COPILOT_HOME"] || join(home, ".copilot"), "mcp-config.json")],
    ["windsurf", join(home, ".codeium", "windsurf", "mcp_config.json")],
    ["windsurf", join(home, ".codeium", "windsurf-next", "mcp_config.json")],
    ["windsurf", join(home, ".windsurf", "mcp_config.json")],
    [
      "zed",
      join(platform === "win32" ? data : config, platform === "win32" ? "Zed" : "zed", "settings.json"),
    ],
    ["codex", join(env["CODEX_HOME"] || join(home, ".codex"), "config.toml")],
    ["gemini-cli", join(home, ".gemini", "settings.json")],
    ...["opencode.json", "opencode.jsonc"].map(
      (name) =>
        ["opencode", join(env["XDG_CONFIG_HOME"] || join(home, ".config"), "opencode", name)] as const,
    ),
    ...editors.flatMap((folder) => [
      [
        "cline",
        join(folder, "globalStorage", "saoudrizwan.claude-dev", "settings", "cline_mcp_settings.json"),
      ] as const,
      [
        "cline",
        join(folder, "globalStorage", "rooveterinaryinc.roo-cline", "settings", "mcp_settings.json"),
      ] as const,
    ]),
    ["cline", join(home, ".cline", "data", "settings", "cline_mcp_settings.json")],
    ["mcporter", join(home, ".mcporter", "mcporter.json")],
    ["mcporter", join(home, ".mcporter", "mcporter.jsonc")],
    ["inspector", join(home, ".mcp-inspector", "mcp.json")],
  ];
  return files.map(([kind, file]) => ({ kind, file, scope: "user" as const }));
}

/**
 * Where Toolport keeps the servers a user has for everything: `toolport/toolport.json` in `$XDG_CONFIG_HOME`,
 * `~/.config` or `%APPDATA%`.
 */
export function ownConfigFile(options: ConfigSurroundings = {}): string {
  return join(applicationFolders(surroundingsOf(options)).config, "toolport", "toolport.json");
}

/** What the place of a file says about it. */
export interface ConfigPlace {
  readonly kind: DialectKind | undefined;
  readonly scope: ConfigScope;
  /** Relative paths are seen from here: the project, where a file stands in a folder such as `.vscode`. */
  readonly baseDir: string;
  /** The project, if it is a file that projects have. */
  readonly projectDir: string | undefined;
}

export function placeOf(file: string, surroundings: Surroundings): ConfigPlace {
  const folder = dirname(file);
  const user = userLocations(surroundings).find((location) => location.file === file);
  if (user !== undefined) return { kind: user.kind, scope: "user", baseDir: folder, projectDir: undefined };
  const isAt = ([, end]: readonly [DialectKind, string]) =>
    file.endsWith(`${sep}${end.split("/").join(sep)}`);
  const project = PROJECT_FILES.find(isAt);
  const projectDir = project?.[1].includes("/") === true ? dirname(folder) : folder;
  return {
    kind: (project ?? KNOWN_FILE_NAMES.find(isAt))?.[0],
    scope: "project",
    baseDir: project?.[1].startsWith(".") === true ? projectDir : folder,
    projectDir: project === undefined ? undefined : projectDir,
  };
}

/** Where a server was configured. */
export interface ConfigSource {
  /** Absolute path. */
  readonly file: string;
  /** 1-based. */
  readonly line: number;
  /** Whose way of writing it is. */
  readonly kind: DialectKind;
  /** A project's file may come from others: ask before its servers are used. */
  readonly scope: ConfigScope;
  /** Fields that Toolport has no use for, as they were written; absent if there are none. */
  readonly extra?: Readonly<Record<string, unknown>>;
  /** The entry with its variables as they were written, for whoever copies it into a file of ours. */
  readonly written: Readonly<Record<string, unknown>>;
}
