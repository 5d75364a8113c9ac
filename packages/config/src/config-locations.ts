/** Known locations of configuration files, in projects and for users. */
import { stat } from "node:fs/promises";
import { homedir } from "node:os";
import { dirname, join, resolve, sep } from "node:path";
import type { ConfigIssue } from "@toolport/base";
import { type ConfigDocument, valueAt } from "@toolport/base/json-config";
import type { DialectKind } from "./dialects/dialect.js";
import type { Environment } from "./expand-variables.js";

/** The environment of the search; tests can replace all of it. */
export interface ConfigSurroundings {
  /** Where the search for project files starts. @default process.cwd() */
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

/** Whether a file belongs to a project, or to the user for all projects. */
export type ConfigScope = "project" | "user";

/** A possible location of a file. */
export interface ConfigLocation {
  readonly file: string;
  readonly kind: DialectKind;
  readonly scope: ConfigScope;
}

/** Paths relative to the project directory, in order of precedence. */
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

/** Path endings that identify a file in any directory, such as a copy. */
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

/** The possible project files in a directory. */
function projectLocations(folder: string): ConfigLocation[] {
  return PROJECT_FILES.map(([kind, path]) => ({ kind, file: join(folder, path), scope: "project" as const }));
}

/** Directories of user data and configuration. */
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

/** The possible files of the user, in order of precedence. */
export function userLocations(surroundings: Surroundings): ConfigLocation[] {
  const { home, env, platform } = surroundings;
  const { data, config } = applicationFolders(surroundings);
  const editors = ["Code", "Code - Insiders"].map((name) => join(data, name, "User"));
  const managed = MANAGED[platform];
  const openCode = join(env["XDG_CONFIG_HOME"] || join(home, ".config"), "opencode");
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
    ["opencode", join(openCode, "opencode.json")],
    ["opencode", join(openCode, "opencode.jsonc")],
    ...editors
      .map((folder) => join(folder, "globalStorage"))
      .flatMap((folder) => [
        join(folder, "saoudrizwan.claude-dev", "settings", "cline_mcp_settings.json"),
        join(folder, "rooveterinaryinc.roo-cline", "settings", "mcp_settings.json"),
      ])
      .map((file) => ["cline", file] as const),
    ["cline", join(home, ".cline", "data", "settings", "cline_mcp_settings.json")],
    ["mcporter", join(home, ".mcporter", "mcporter.json")],
    ["mcporter", join(home, ".mcporter", "mcporter.jsonc")],
    ["inspector", join(home, ".mcp-inspector", "mcp.json")],
  ];
  return files.map(([kind, file]) => ({ kind, file, scope: "user" as const }));
}

/**
 * Path of the user's own file, for all projects: `toolport/toolport.json` in `$XDG_CONFIG_HOME`, `~/.config` or
 * `%APPDATA%`.
 */
export function ownConfigFile(options: ConfigSurroundings = {}): string {
  return join(applicationFolders(surroundingsOf(options)).config, "toolport", "toolport.json");
}

/** What the path of a file says about it. */
export interface ConfigPlace {
  readonly kind: DialectKind | undefined;
  readonly scope: ConfigScope;
  /** Base of relative paths: the project directory for a file in a directory such as `.vscode`. */
  readonly baseDir: string;
  /** The project directory, if it is a project file. */
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

/** Where a server is configured. */
export interface ConfigSource {
  /** Absolute path. */
  readonly file: string;
  /** 1-based. */
  readonly line: number;
  /** The dialect of the file. */
  readonly kind: DialectKind;
  /** Others may have written a project file: ask the user before using its servers. */
  readonly scope: ConfigScope;
  /** Fields that Toolport does not use, unchanged; absent if there are none. */
  readonly extra?: Readonly<Record<string, unknown>>;
  /** The entry with unexpanded variables, to be copied into a `toolport.json`. */
  readonly written: Readonly<Record<string, unknown>>;
}

/** Options of `findConfigs()`. */
export interface FindConfigsOptions extends ConfigSurroundings {
  /** Only files of these dialects. @default all */
  dialects?: readonly DialectKind[];
  /** Only files of the project, only those of the user, or both. @default "all" */
  scope?: ConfigScope | "all";
}

/**
 * Returns the existing files in order of precedence. Project files come from the nearest directory that has any, from
 * `cwd` upwards; the search ends at the home directory.
 *
 * @example
 * ```ts
 * for (const { file, kind, scope } of await findConfigs()) console.log(scope, kind, file);
 * ```
 */
export async function findConfigs(options: FindConfigsOptions = {}): Promise<ConfigLocation[]> {
  const surroundings = surroundingsOf(options);
  const { dialects, scope = "all" } = options;
  const wanted = ({ kind }: ConfigLocation) => dialects?.includes(kind) ?? true;
  const users = userLocations(surroundings).filter(wanted);
  const project =
    scope === "user" ? [] : await findProjectConfigs(surroundings, { wanted, users, upwards: true });
  return scope === "project" ? project : [...project, ...(await existing(users))];
}

/** The files of the nearest project, or of one directory only. */
export async function findProjectConfigs(
  { cwd, home }: Surroundings,
  options: {
    wanted: (location: ConfigLocation) => boolean;
    users: readonly ConfigLocation[];
    upwards: boolean;
  },
): Promise<ConfigLocation[]> {
  for (const folder of options.upwards ? foldersFrom(cwd, home) : [cwd]) {
    const candidates = projectLocations(folder)
      .filter(options.wanted)
      // In the home directory, the user's files look like project files.
      .filter(({ file }) => !options.users.some((location) => location.file === file));
    const found = await existing(candidates);
    if (found.length > 0) return found;
  }
  return [];
}

/** A directory and its parents, up to but not including the home directory. */
export function foldersFrom(folder: string, home: string): string[] {
  const folders = [folder];
  for (let current = folder; ; ) {
    const parent = dirname(current);
    if (parent === current || parent === home) return folders;
    folders.push(parent);
    current = parent;
  }
}

async function existing(locations: readonly ConfigLocation[]): Promise<ConfigLocation[]> {
  const checks = locations.map(async (location) => {
    const found = await stat(location.file).catch(() => undefined);
    return found?.isFile() === true ? [location] : [];
  });
  return (await Promise.all(checks)).flat();
}

const IMPORTS: readonly DialectKind[] = [
  ...(["cursor", "claude-code", "claude-desktop", "codex", "windsurf", "opencode"] as const),
  ...(["vscode", "zed", "cline"] as const),
];

/** Finds the files that an mcporter file imports by name. Without `imports` there are none, unlike in mcporter itself. */
export async function importedConfigs(
  document: ConfigDocument,
  surroundings: Surroundings,
): Promise<{ locations: readonly ConfigLocation[]; warnings: readonly ConfigIssue[] }> {
  const { file, root } = document;
  const names: unknown = valueAt(root, ["imports"]);
  const locations: ConfigLocation[] = [];
  const warnings: ConfigIssue[] = [];
  for (const [index, name] of (Array.isArray(names) ? (names as unknown[]) : []).entries()) {
    const kind = name === "gemini" ? "gemini-cli" : IMPORTS.find((importable) => importable === name);
    if (kind !== undefined) locations.push(...(await findConfigs({ ...surroundings, dialects: [kind] })));
    else {
      const line = document.lineOf(["imports", index]);
      const message = "is not a known program; it is left out";
      warnings.push({ file, line, path: `imports[${index}]`, message });
    }
  }
  return { locations, warnings };
}
