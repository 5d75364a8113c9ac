/** Finds existing configuration files of the project and the user. */
import { stat } from "node:fs/promises";
import { dirname } from "node:path";
import { type ConfigDocument, valueAt } from "../config/config-document.js";
import type { ConfigIssue } from "../errors/config-error.js";
import {
  type ConfigLocation,
  type ConfigScope,
  type ConfigSurroundings,
  projectLocations,
  type Surroundings,
  surroundingsOf,
  userLocations,
} from "./config-locations.js";
import type { DialectKind } from "./dialects/dialect.js";

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

const IMPORTS: Readonly<Record<string, DialectKind>> = {
  cursor: "cursor",
  "claude-code": "claude-code",
  "claude-desktop": "claude-desktop",
  codex: "codex",
  windsurf: "windsurf",
  opencode: "opencode",
  vscode: "vscode",
  zed: "zed",
  gemini: "gemini-cli",
  cline: "cline",
};

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
    const kind = typeof name === "string" && Object.hasOwn(IMPORTS, name) ? IMPORTS[name] : undefined;
    if (kind !== undefined) locations.push(...(await findConfigs({ ...surroundings, dialects: [kind] })));
    else {
      const line = document.lineOf(["imports", index]);
      const message = "is not a known program; it is left out";
      warnings.push({ file, line, path: `imports[${index}]`, message });
    }
  }
  return { locations, warnings };
}
