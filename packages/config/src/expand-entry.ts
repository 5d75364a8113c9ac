/** Expands the variables of one entry, makes its paths absolute, and reads the project files that it refers to. */

import { realpath, stat } from "node:fs/promises";
import { basename, dirname, isAbsolute, join, relative, sep } from "node:path";
import util, { inspect } from "node:util";
import { type ConfigPath, isRecord, redactUrl, resolveCommand, resolvePath } from "@toolport/base";
import type { DialectEntry } from "./dialects/dialect.js";
import {
  type Environment,
  expandVariables,
  referencesIn,
  type VariableSource,
  type VariableValue,
} from "./expand-variables.js";

export interface EntrySurroundings {
  readonly env: Environment;
  readonly home: string;
  /** Base of relative paths. */
  readonly baseDir: string;
  /** The project directory. */
  readonly workspaceFolder: string;
  /** `$NAME` is a variable. */
  readonly bare: boolean;
  readonly askInput: (id: string) => Promise<VariableValue>;
  /** Reads a file by its absolute path. */
  readonly readFile: (path: string) => Promise<VariableValue>;
  /** Reports an issue at a path in the entry. */
  readonly report: (path: ConfigPath, message: string) => void;
  readonly warn: (path: ConfigPath, message: string) => void;
}

/** Returns the expanded entry. Variables that cannot be expanded are reported. */
export async function expandEntry(
  { entry, envFile, passedVariables }: DialectEntry,
  surroundings: EntrySurroundings,
): Promise<Record<string, unknown>> {
  const { home, baseDir } = surroundings;
  const expanded = (await expandAll(entry, [], surroundings)) as Record<string, unknown>;
  if (envFile !== undefined || passedVariables.length > 0) {
    const more = await moreVariables({ envFile, passedVariables }, surroundings);
    const own = expanded["env"];
    if (own === undefined || isRecord(own)) expanded["env"] = { ...more, ...own };
  }
  const { command, cwd } = expanded;
  if (typeof command === "string") expanded["command"] = resolveCommand(baseDir, fromHome(command, home));
  if (typeof cwd === "string") expanded["cwd"] = resolvePath(baseDir, fromHome(cwd, home));
  hideValues(expanded);
  return expanded;
}

/** Names that refer to paths, not to variables of the user. */
export const PLACE_NAMES: readonly string[] = [
  ...["workspaceFolder", "workspaceFolderBasename", "userHome", "pathSeparator"],
];

/** The source of values for the variables of an entry. */
function variableSource(surroundings: EntrySurroundings): VariableSource {
  const { env, home, workspaceFolder, bare, askInput } = surroundings;
  return {
    env,
    bare,
    askInput,
    words: {
      workspaceFolder,
      workspaceFolderBasename: basename(workspaceFolder),
      userHome: home,
      pathSeparator: sep,
      "/": sep,
    },
    readFile: async (path) => {
      const read = await surroundings.readFile(resolveFrom(path, surroundings));
      // Editors add a newline at the end of a file: it is not part of the secret.
      return "problem" in read ? read : { value: read.value.replace(/\r?\n$/, ""), secret: true };
    },
  };
}

async function expandAll(
  value: unknown,
  path: ConfigPath,
  surroundings: EntrySurroundings,
): Promise<unknown> {
  if (typeof value === "string") return expandOne(value, path, surroundings);
  if (Array.isArray(value)) {
    const items: unknown[] = [];
    for (const [index, item] of value.entries())
      items.push(await expandAll(item, [...path, index], surroundings));
    return items;
  }
  if (!isRecord(value)) return value;
  const fields: [string, unknown][] = [];
  // One at a time, because some variables ask the user.
  for (const [name, field] of Object.entries(value)) {
    fields.push([name, await expandAll(field, [...path, name], surroundings)]);
  }
  return Object.fromEntries(fields);
}

async function expandOne(text: string, path: ConfigPath, surroundings: EntrySurroundings): Promise<string> {
  const { text: expanded, problems, secret } = await expandVariables(text, variableSource(surroundings));
  for (const problem of problems) surroundings.report(path, problem);
  if (secret && (path[0] === "args" || path[0] === "command")) {
    surroundings.warn(
      path,
      "contains a secret that every program on this machine can read; use a variable in env",
    );
  }
  return expanded;
}

/** The variables of `envFile`, and those of the environment that are passed on. */
async function moreVariables(
  { envFile, passedVariables }: Pick<DialectEntry, "envFile" | "passedVariables">,
  surroundings: EntrySurroundings,
): Promise<Record<string, string>> {
  const values = passedVariables.map((name) => [name, surroundings.env[name]] as const);
  const passed = Object.fromEntries(values.filter((pair): pair is [string, string] => pair[1] !== undefined));
  if (envFile === undefined) return passed;
  const path = await expandOne(envFile, ["envFile"], surroundings);
  const read = await surroundings.readFile(resolveFrom(path, surroundings));
  if ("value" in read) return { ...passed, ...(util.parseEnv(read.value) as Record<string, string>) };
  surroundings.report(["envFile"], read.problem);
  return passed;
}

const fromHome = (path: string, home: string): string => (/^~[\\/]/.test(path) ? home + path.slice(1) : path);

/** Resolves a path of an entry relative to its file. */
const resolveFrom = (path: string, { baseDir, home }: Pick<EntrySurroundings, "baseDir" | "home">): string =>
  resolvePath(baseDir, fromHome(path, home));

const MAPS = ["env", "headers", "oauth"];
const ADDRESSES = ["url", "sseUrl", "base_url"];

/** Changes only the output of `console.log` and `util.inspect`, not the values. */
export function hideValues(entry: Readonly<Record<string, unknown>>): void {
  for (const key of MAPS) {
    const map = entry[key];
    if (isRecord(map)) hideAll(map);
  }
  const addresses = ADDRESSES.filter((key) => typeof entry[key] === "string").map(
    (key) => [key, redactUrl(entry[key] as string)] as const,
  );
  if (addresses.some(([key, shown]) => shown !== entry[key]))
    show(entry, () => ({ ...entry, ...Object.fromEntries(addresses) }));
}

/** Hides all values: any unknown field may be a secret. */
export function hideAll(map: Readonly<Record<string, unknown>>): void {
  show(map, () => Object.fromEntries(Object.keys(map).map((name) => [name, "[redacted]"])));
}

function show(hidden: object, view: () => object): void {
  Object.defineProperty(hidden, inspect.custom, { value: view, enumerable: false });
}

/** The location of an entry. */
interface ProjectSurroundings extends EntrySurroundings {
  /** The project directory of the file. */
  readonly projectDir: string;
}

/** Contents of files by path relative to the project, or the reason why a file cannot be read. */
export type ProjectFiles = Readonly<Record<string, string>>;

/**
 * Reads the files inside the project that an entry refers to with `${file:…}` and `envFile`. Expands only the path of
 * `envFile`, because it names the file.
 */
export async function readProjectFiles(
  entry: Pick<DialectEntry, "entry" | "envFile">,
  surroundings: ProjectSurroundings,
): Promise<ProjectFiles> {
  const roots = await rootsOf(surroundings);
  const files: [string, string][] = [];
  for (const path of await pathsIn(entry, surroundings)) {
    const inside = await insideOf(path, roots);
    if (inside === undefined) continue;
    const read = await surroundings.readFile(path);
    files.push([inside, "problem" in read ? `problem: ${read.problem}` : `content: ${read.value}`]);
  }
  return Object.fromEntries(files);
}

async function pathsIn(
  { entry, envFile }: Pick<DialectEntry, "entry" | "envFile">,
  surroundings: ProjectSurroundings,
): Promise<Set<string>> {
  const { bare } = surroundings;
  const named = [...textsIn(entry), envFile ?? ""]
    .flatMap((text) => referencesIn(text, { bare }))
    .flatMap((reference) => (reference.kind === "file" ? [reference.path] : []));
  if (envFile !== undefined) {
    const { text, problems } = await expandVariables(envFile, variableSource(surroundings));
    if (problems.length === 0) named.push(text);
  }
  return new Set(named.map((path) => resolveFrom(path, surroundings)));
}

/** All strings in a value, at any depth. */
export function textsIn(value: unknown): string[] {
  if (typeof value === "string") return [value];
  if (Array.isArray(value)) return value.flatMap(textsIn);
  return isRecord(value) ? Object.values(value).flatMap(textsIn) : [];
}

/** The project directory, or its Git repository, with and without symbolic links resolved. */
async function rootsOf({
  projectDir,
  home,
}: Pick<ProjectSurroundings, "projectDir" | "home">): Promise<string[]> {
  let root = projectDir;
  for (let folder = projectDir; folder !== home && dirname(folder) !== folder; folder = dirname(folder)) {
    if ((await stat(join(folder, ".git")).catch(() => undefined)) === undefined) continue;
    root = folder;
    break;
  }
  return [root, await realpath(root).catch(() => root)];
}

/** The path relative to the project; undefined if it is outside. A link in or into the project counts as inside. */
async function insideOf(path: string, roots: readonly string[]): Promise<string | undefined> {
  for (const place of [path, await realpath(path).catch(() => path)]) {
    for (const root of roots) {
      const from = relative(root, place);
      if (from !== "" && from !== ".." && !from.startsWith(`..${sep}`) && !isAbsolute(from)) return from;
    }
  }
  return undefined;
}
