/** Reads the project files that an entry refers to. Their contents are part of the user's consent. */
import { realpath, stat } from "node:fs/promises";
import { dirname, isAbsolute, join, relative, sep } from "node:path";
import { isRecord } from "../util/json.js";
import type { DialectEntry } from "./dialects/dialect.js";
import { type EntrySurroundings, resolveFrom, variableSource } from "./expand-entry.js";
import { expandVariables, referencesIn } from "./expand-variables.js";

/** The location of an entry. */
export interface ProjectSurroundings extends EntrySurroundings {
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
