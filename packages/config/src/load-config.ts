/** Loads servers from configuration files of Toolport and other programs. */
import { stat } from "node:fs/promises";
import { join, resolve } from "node:path";
import { ConfigError, type ConfigIssue, ConfigIssues, isRecord } from "@toolport/base";
import type { ServerEntry } from "@toolport/core";
import { checkFallback } from "@toolport/core/internal";
import {
  type ConfigLocation,
  type ConfigScope,
  type ConfigSource,
  type ConfigSurroundings,
  findConfigs,
  findProjectConfigs,
  importedConfigs,
  placeOf,
  type Surroundings,
  surroundingsOf,
  userLocations,
} from "./config-locations.js";
import type { DialectKind } from "./dialects/dialect.js";
import { dialectOf } from "./dialects/dialects.js";
import { textsIn } from "./expand-entry.js";
import { type CheckedServer, checkWritten, expandServer } from "./expand-server.js";
import type { InputAnswers } from "./expand-variables.js";
import { detectDialect, readDocument } from "./read-document.js";
import { type ReadServers, readServers, type WrittenServer } from "./read-servers.js";

/** The servers of one or more files, ready for `createToolport`. */
export interface LoadedConfig {
  mcpServers: Record<string, ServerEntry>;
  /** Absolute paths of the files that were read, in order of precedence. */
  files: string[];
  /** Where each server is configured. */
  sources: Record<string, ConfigSource>;
  /** Issues with file and line. Always empty unless `onProblem` is `"report"`. */
  issues: ConfigIssue[];
  /** Warnings, such as unused fields and duplicate names. */
  warnings: ConfigIssue[];
}

/** Options of `loadConfig()`. */
export interface LoadConfigOptions extends ConfigSurroundings {
  /**
   * `"throw"`: throws one error with all issues. `"report"`: returns the valid servers, and `issues` lists what is wrong
   * with the others.
   * @default "throw"
   */
  onProblem?: "throw" | "report";
  /** Values for `${input:id}`, or a function that asks. @default the file's own defaults */
  inputs?: InputAnswers;
  /** The dialect of the file. @default detected by its name, else by its content */
  dialect?: DialectKind;
  /** Without a path: only files of these programs. @default all */
  dialects?: readonly DialectKind[];
  /** Without a path: the project's files, the user's, or both. @default "project" */
  scope?: ConfigScope | "all";
  /** Additional fields of an entry that the caller validates. @default none */
  extraKeys?: readonly string[];
}

type NamedLocation = Omit<ConfigLocation, "kind"> & { kind: DialectKind | undefined; named: boolean };

/**
 * Loads servers from a file, from the files of a project directory, or, without a path, from the nearest directory
 * upwards that has such files. Supports `toolport.json` and the files of Claude, Cursor, VS Code, Codex and others, which
 * are never changed. Comments and trailing commas are allowed, variables are expanded (`${NAME}`, `${NAME:-default}`,
 * `${env:NAME}`, `${input:id}` …), and relative paths are relative to the file.
 *
 * @throws ConfigError `UNREADABLE_CONFIG` if the file does not exist or is not JSON or TOML, `INVALID_CONFIG` if an
 * entry is invalid or a variable is not set. Each issue has a file and line. See `onProblem`.
 * @example
 * ```ts
 * import { createToolport } from "toolport";
 * import { loadConfig } from "toolport/node";
 *
 * await using toolport = createToolport(await loadConfig("toolport.json"));
 * ```
 */
export async function loadConfig(
  pathOrDir?: string | undefined,
  options: LoadConfigOptions = {},
): Promise<LoadedConfig> {
  return expandConfig(await readConfig(pathOrDir, options), { ...options, isUsed: () => true });
}

/** Files that were read, with their unexpanded servers. */
export interface ReadConfig {
  /** In order of precedence. */
  readonly found: readonly ReadFile[];
  /** Issues that do not belong to a file. */
  readonly issues: readonly ConfigIssue[];
}

/** Like {@link loadConfig}, but expands no variables, reads no files that entries refer to, and asks the user nothing. */
export async function readConfig(
  pathOrDir: string | undefined,
  options: LoadConfigOptions,
): Promise<ReadConfig> {
  const given = surroundingsOf(options);
  const path = pathOrDir === undefined ? undefined : resolve(pathOrDir);
  const info = path === undefined ? undefined : await stat(path).catch(() => undefined);
  const isFolder = info?.isDirectory() === true;
  // A directory that the caller names is the project, independent of `cwd`.
  const surroundings = isFolder ? { ...given, cwd: path! } : given;
  const found: ReadFile[] = [];
  const queue = await chooseFiles(path, { isFolder, surroundings, options });
  const issues = queue.length === 0 ? [nothingFound(surroundings, options)] : [];
  for (const location of queue) {
    if (found.some(({ file, isRead }) => isRead && file === location.file)) continue;
    const read = await readFile(location, surroundings, options);
    found.push(read);
    queue.push(...read.imports);
  }
  return { found, issues };
}

/** The effective server of each name: the first one found. */
export function effectiveServers({ found }: ReadConfig): Map<string, WrittenServer> {
  const effective = new Map<string, WrittenServer>();
  for (const server of found.flatMap(({ servers }) => servers))
    if (!effective.has(server.name)) effective.set(server.name, server);
  return effective;
}

/** Expands the servers that are used. The others are validated without expanding, and left out of the result. */
export async function expandConfig(
  { found, issues: general }: ReadConfig,
  {
    onProblem,
    isUsed,
  }: Pick<LoadConfigOptions, "onProblem"> & { isUsed: (server: WrittenServer) => boolean },
): Promise<LoadedConfig> {
  const issues = [...general];
  const warnings: ConfigIssue[] = [];
  const servers: (WrittenServer & Pick<CheckedServer, "good">)[] = [];
  for (const file of found) {
    issues.push(...file.issues);
    warnings.push(...file.warnings);
    // One at a time, because some variables ask the user.
    for (const server of file.servers) {
      const checked = isUsed(server) ? await expandServer(server) : checkWritten(server);
      issues.push(...checked.issues);
      warnings.push(...checked.warnings);
      servers.push({ ...server, good: checked.good });
    }
  }
  const merged = mergeServers(servers);
  issues.push(...merged.issues);
  warnings.push(...merged.warnings);
  inOrder(issues);
  if (issues.length > 0 && onProblem !== "report") throw toError(issues);
  return {
    mcpServers: merged.mcpServers,
    files: found.filter(({ isRead }) => isRead).map(({ file }) => file),
    sources: merged.sources,
    issues,
    warnings: inOrder(warnings),
  };
}

async function chooseFiles(
  path: string | undefined,
  context: { isFolder: boolean; surroundings: Surroundings; options: LoadConfigOptions },
): Promise<NamedLocation[]> {
  const { isFolder, surroundings, options } = context;
  const { dialect, dialects, scope = "project" } = options;
  if (path === undefined)
    return named(await findConfigs({ ...surroundings, scope, ...(dialects && { dialects }) }));
  const name = (file: string) => {
    const place = placeOf(file, surroundings);
    return [{ file, kind: dialect ?? place.kind, scope: place.scope, named: true }];
  };
  if (!isFolder) return name(path);
  const wanted = ({ kind }: ConfigLocation) => dialects?.includes(kind) ?? true;
  const users = userLocations(surroundings);
  const project =
    scope === "user" ? [] : await findProjectConfigs(surroundings, { wanted, users, upwards: false });
  const user = scope === "project" ? [] : await findConfigs({ ...surroundings, ...options, scope: "user" });
  const found = [...project, ...user];
  // The message names the file that the user should create.
  return found.length > 0 ? named(found) : name(join(path, "toolport.json"));
}

const named = (locations: readonly ConfigLocation[]): NamedLocation[] =>
  locations.map((location) => ({ ...location, named: false }));

interface ReadFile extends ReadServers {
  readonly file: string;
  readonly imports: readonly NamedLocation[];
  readonly isRead: boolean;
}

async function readFile(
  location: NamedLocation,
  surroundings: Surroundings,
  { inputs, extraKeys }: LoadConfigOptions,
): Promise<ReadFile> {
  const { file, named: isNamed } = location;
  try {
    const document = await readDocument(file);
    const dialect = location.kind === undefined ? detectDialect(document) : dialectOf(location.kind);
    const place = placeOf(file, surroundings);
    const settings = { place, surroundings, inputs, extraKeys, named: isNamed };
    const read = readServers(document, dialect, settings);
    const imported = dialect.kind === "mcporter" ? await importedConfigs(document, surroundings) : undefined;
    return {
      ...read,
      file,
      warnings: [...read.warnings, ...(imported?.warnings ?? [])],
      imports: named(imported?.locations ?? []),
      isRead: true,
    };
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    return { file, servers: [], issues: error.issues, warnings: [], imports: [], isRead: false };
  }
}

function nothingFound({ cwd }: Surroundings, { scope = "project" }: LoadConfigOptions): ConfigIssue {
  const where = scope === "project" ? `in ${cwd} or above it` : "for this project or user";
  return {
    path: "",
    message: `no configuration file with servers was found ${where}; create a toolport.json or pass a path`,
  };
}

/** Sorts by file in reading order, then by line. */
function inOrder(issues: ConfigIssue[]): ConfigIssue[] {
  const files = [...new Set(issues.map(({ file }) => file))];
  return issues.sort(
    (a, b) => files.indexOf(a.file) - files.indexOf(b.file) || (a.line ?? 0) - (b.line ?? 0),
  );
}

function toError(issues: readonly ConfigIssue[]): ConfigError {
  // Issues of unreadable files have no path.
  if (issues.some(({ path }) => path !== ""))
    return new ConfigError({ code: "INVALID_CONFIG", issues, next: "Correct the entries named above" });
  const what = `The configuration file${issues.length > 1 ? "s" : ""} cannot be read`;
  return new ConfigError({ code: "UNREADABLE_CONFIG", what, issues });
}

/** A validated server. */
type ReadServer = Pick<WrittenServer, "name" | "source" | "locate"> & Pick<CheckedServer, "good">;

function mergeServers(servers: readonly ReadServer[]) {
  const winners = new Map<string, ReadServer>();
  const warnings: ConfigIssue[] = [];
  for (const server of servers) {
    const first = winners.get(server.name);
    if (first === undefined) winners.set(server.name, server);
    else warnings.push(shadowed(server, first));
  }
  const issues: ConfigIssue[] = [];
  const entries: [string, ServerEntry][] = [];
  const sources: [string, ConfigSource][] = [];
  for (const [name, { good, source, locate }] of winners) {
    if (good === undefined) continue;
    const found = new ConfigIssues("mcpServers", (path) => locate(path.slice(1)));
    checkFallback(good.config, [...winners.keys()], found);
    issues.push(...found.list);
    const isGood = (other: string) => other !== name && winners.get(other)?.good !== undefined;
    entries.push([name, withoutLostFallbacks(good.entry, isGood)]);
    sources.push([name, source]);
  }
  return {
    mcpServers: Object.fromEntries(entries),
    sources: Object.fromEntries(sources),
    issues,
    warnings,
  };
}

function shadowed({ name, source }: ReadServer, first: ReadServer): ConfigIssue {
  const message = `is not used: ${first.source.file}:${first.source.line} has a server of this name and takes precedence`;
  return { file: source.file, line: source.line, path: name, message };
}

/** Removes fallbacks to servers that could not be loaded. */
function withoutLostFallbacks(entry: ServerEntry, isGood: (name: string) => boolean): ServerEntry {
  const { fallback, ...rest } = entry;
  const servers = isRecord(fallback) ? fallback["servers"] : fallback;
  const names = textsIn(servers);
  const good = names.filter(isGood);
  if (good.length === names.length) return entry;
  if (good.length === 0) return rest as ServerEntry;
  return { ...rest, fallback: isRecord(fallback) ? { ...fallback, servers: good } : good } as ServerEntry;
}
