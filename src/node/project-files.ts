/** The files of a project that an entry of its configuration reads: their contents are part of what the user agrees to. */
import { realpath, stat } from "node:fs/promises";
import { dirname, isAbsolute, join, relative, sep } from "node:path";
import { isRecord } from "../config/entry-reader.js";
import type { DialectEntry } from "./dialects/dialect.js";
import { type EntrySurroundings, resolveFrom, variableSource } from "./expand-entry.js";
import { expandVariables, referencesIn } from "./expand-variables.js";

/** Where an entry stands. */
export interface ProjectSurroundings extends EntrySurroundings {
  /** The folder of the project that the file belongs to. */
  readonly projectDir: string;
}

/** The content of a file by its path from the project's folder, or the reason why it has none. */
export type ProjectFiles = Readonly<Record<string, string>>;

/**
 * Reads the files inside the project that an entry reads: `${file:…}` and `envFile`. Only the path of `envFile` is
 * expanded, because it names the file; nothing else of the entry is.
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

/** Every text of an entry, however deep it stands. */
export function textsIn(value: unknown): string[] {
  if (typeof value === "string") return [value];
  if (Array.isArray(value)) return value.flatMap(textsIn);
  return isRecord(value) ? Object.values(value).flatMap(textsIn) : [];
}

/** The project's folder, or the repository that it is a part of; as it is named and where it really is. */
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

/** The path seen from the project. A link that leads into the project or stands in it counts as a part of it. */
async function insideOf(path: string, roots: readonly string[]): Promise<string | undefined> {
  for (const place of [path, await realpath(path).catch(() => path)]) {
    for (const root of roots) {
      const from = relative(root, place);
      if (from !== "" && from !== ".." && !from.startsWith(`..${sep}`) && !isAbsolute(from)) return from;
    }
  }
  return undefined;
}
